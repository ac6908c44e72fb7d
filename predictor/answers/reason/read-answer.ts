import { CAUSE_TYPES } from "@tradewind/core/contract/cause.ts";
import { Counterfactual, Fault, MOST_CHARACTERS, Root } from "./grammar.ts";
import type { OUTCOMES, RESOURCES, Transcript } from "./grammar.ts";
import { looseJson } from "./loose-json.ts";
import { plainAnswer, valueIn } from "./plain-answer.ts";

const MOST_ENTRIES = 64;
/** Of longer answers their end is read, and of many tags the last ones. */
const MOST_TAGS = 512;
const MOST_THOUGHT_CHARACTERS = 4_000;
const LISTS = ["fault", "counterfactual", "root"] as const;
type List = (typeof LISTS)[number];
const TAG = /<([^<>]*)>/g;
/** Of a tag or a key. */
export const STAGE_NAME = /^(?:think|thought|reasoning|fault|counter_?factual|root)/i;

/** What could be read of an answer, however it was written. */
export interface ReadAnswer {
  readonly transcript: Transcript;
  /** Entries that do not fit, and lists that are missing. */
  readonly dropped: number;
}

/** The number of a service by its name; 0, which no service has, where there is none. */
export type IdOf = (name: string) => number | undefined;

interface Element {
  readonly stage: List;
  readonly value: unknown;
}

/**
 * Reads an answer as models write it: drafts and thoughts before the last complete set of tags, fences, other spellings, names for
 * numbers, units, further fields; or one JSON object without tags. What does not fit is dropped alone. Never throws.
 * @param idOf numbers of services by name
 * @returns undefined where none of the three lists can be read
 */
export function readAnswer(whole: string, idOf: IdOf): ReadAnswer | undefined {
  const text = plainAnswer(whole.slice(-MOST_CHARACTERS));
  const { elements, thoughts } = elementsOf(text);
  const set = lastSet(elements) ?? untagged(text);
  if (set === undefined) return undefined;
  let dropped = 0;
  const entries = <Entry>(list: List, read: (entry: unknown) => Entry | undefined): Entry[] => {
    if (!set.has(list)) dropped += 1;
    const found = entriesOf(set.get(list)).map(read);
    const kept = found.filter((entry) => entry !== undefined);
    dropped += found.length - kept.length;
    return kept;
  };
  const faults = entries("fault", (entry) => faultOf(entry, idOf));
  const counterfactuals = entries("counterfactual", (entry) => changeOf(entry, idOf));
  const roots = entries("root", (entry) => rootOf(entry, faults, idOf));
  const said = textAt(set.get("think")) ?? thoughts.at(-1) ?? "";
  const think = said.trim().slice(0, MOST_THOUGHT_CHARACTERS);
  return { transcript: { think, faults, counterfactuals, roots }, dropped };
}

/** Every list in its tag, closed or not, and every thought, in their order. */
function elementsOf(text: string): { elements: Element[]; thoughts: string[] } {
  const tags = [...text.matchAll(TAG)].flatMap(({ 0: tag, 1: inside = "", index }) => {
    const name = inside.replace("/", "").trim();
    if (!STAGE_NAME.test(name)) return [];
    const isEnd = inside.trimStart().startsWith("/");
    return [{ isEnd, stage: stageOf(name), begin: index, end: index + tag.length }];
  });
  tags.splice(0, Math.max(0, tags.length - MOST_TAGS));
  const elements: Element[] = [];
  const thoughts: string[] = [];
  for (const [place, { end, isEnd, stage }] of tags.entries()) {
    if (isEnd) continue;
    if (stage === "think") {
      const close = tags.slice(place + 1).find((tag) => tag.isEnd && tag.stage === "think");
      thoughts.push(text.slice(end, (close ?? tags[place + 1])?.begin));
      continue;
    }
    const next = tags[place + 1];
    const value = valueIn(text.slice(end, next?.begin), next?.isEnd === true && next.stage === stage);
    if (value !== undefined) elements.push({ stage, value });
  }
  return { elements, thoughts };
}

/** Of a tag or a key, singular or plural, in any case. */
function stageOf(name: string): List | "think" {
  const word = name.toLowerCase();
  return LISTS.find((list) => word.replaceAll(/[^a-z]/g, "").startsWith(list)) ?? "think";
}

type Parts = ReadonlyMap<List | "think", unknown>;

/** The last faults and changes before the last root that has both since the root before it; without such a root the last of each. */
function lastSet(elements: readonly Element[]): Parts | undefined {
  const roots = elements.flatMap(({ stage }, at) => (stage === "root" ? [at] : []));
  for (const [place, root] of [...roots.entries()].reverse()) {
    const found = lastOfEach(elements.slice((roots[place - 1] ?? -1) + 1, root + 1));
    if (found.size === LISTS.length) return found;
  }
  return elements.length === 0 ? undefined : lastOfEach(elements);
}

const lastOfEach = (elements: readonly Element[]): Map<List, unknown> =>
  new Map(elements.map(({ stage, value }) => [stage, value]));

/** JSON with the stages as fields, in one object or in several, as servers give that hold a model to a schema. */
function untagged(text: string): Parts | undefined {
  const thought = Math.max(0, text.toLowerCase().lastIndexOf("</think>"));
  const parts = new Map<List | "think", unknown>();
  const lines = text.slice(thought).split("\n").slice(-MOST_ENTRIES);
  for (const part of [text.slice(thought), ...lines]) {
    if (LISTS.every((list) => parts.has(list))) break;
    takeStages(looseJson(part), parts, 0);
  }
  return LISTS.some((list) => parts.has(list)) ? parts : undefined;
}

/** Objects in which stages are looked for lie no deeper. */
const MOST_WRAPPED = 3;

function takeStages(value: unknown, parts: Map<List | "think", unknown>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > MOST_WRAPPED) return;
  for (const [key, field] of Object.entries(value)) {
    const isStage = !Array.isArray(value) && STAGE_NAME.test(key);
    if (isStage && !parts.has(stageOf(key))) parts.set(stageOf(key), field);
    if (!isStage) takeStages(field, parts, depth + 1);
  }
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Of a list, of lists in it, of one entry alone, of a list in an object, or of an object with names as its keys. */
function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(entriesOf).slice(0, MOST_ENTRIES);
  if (!isObject(value)) return value === undefined || value === null ? [] : [value];
  if (serviceIn(value) !== undefined) return [value];
  const inside = Object.entries(value).filter(([, field]) => typeof field === "object" && field !== null);
  if (inside.length === 0 && Object.values(value).every((field) => typeOf(field) !== undefined))
    return Object.entries(value).map(([id, type]) => ({ id, type }));
  if (inside.length === 0 || inside.length < Object.keys(value).length) return [value];
  return inside
    .flatMap(([id, field]) =>
      Array.isArray(field) ? entriesOf(field) : isObject(field) ? [{ id, ...field }] : [],
    )
    .slice(0, MOST_ENTRIES);
}

/** The first of several spellings of a field, whatever their case. */
function fieldOf(fields: Fields, ...names: readonly string[]): unknown {
  const plain = new Map(
    Object.entries(fields).map(([key, value]) => [key.toLowerCase().replaceAll(/[^a-z]/g, ""), value]),
  );
  for (const name of names) {
    const value = plain.get(name);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

const serviceIn = (fields: Fields): unknown => fieldOf(fields, "id", "serviceid", "service", "name");

function faultOf(entry: unknown, idOf: IdOf): Fault | undefined {
  if (!isObject(entry)) return undefined;
  const { data } = Fault.safeParse({
    id: numberOf(serviceIn(entry), idOf),
    type: typeOf(fieldOf(entry, "type", "cause", "kind")),
    evidence: citationsOf(fieldOf(entry, "evidence", "signals", "citations")),
    confidence: shareOf(fieldOf(entry, "confidence")),
  });
  return data;
}

function changeOf(entry: unknown, idOf: IdOf): Counterfactual | undefined {
  if (!isObject(entry)) return undefined;
  const { from, to } = sizesOf(entry);
  const tailSeconds = amountOf(fieldOf(entry, "tailseconds"));
  const { data } = Counterfactual.safeParse({
    id: numberOf(serviceIn(entry), idOf),
    resource: resourceOf(fieldOf(entry, "resource", "change", "action")),
    from: from !== undefined && from >= 0 ? from : undefined,
    to,
    expected: outcomeOf(fieldOf(entry, "expected", "outcome", "effect")),
    tailSeconds: tailSeconds !== undefined && tailSeconds >= 0 ? tailSeconds : undefined,
    why: (textAt(fieldOf(entry, "why", "reason")) ?? "").slice(0, 300),
  });
  return data;
}

const BEFORE = ["from", "before", "current", "currentvalue", "now", "old", "oldvalue"] as const;
const AFTER = [
  "to",
  "after",
  "target",
  "targetvalue",
  "new",
  "newvalue",
  "proposed",
  "desired",
  "value",
] as const;

/** Sizes in two fields or in one (`"2 -> 3"`, `"from 2 to 3"`), or the one as a difference from the other (`"+1"`). */
function sizesOf(entry: Fields): { readonly from: number | undefined; readonly to: number | undefined } {
  const [before, after] = [fieldOf(entry, ...BEFORE), fieldOf(entry, ...AFTER)];
  const written = after ?? fieldOf(entry, "change", "action", "size", "description");
  const [left = "", right] = (textAt(written) ?? "").slice(0, 120).split(/->|=>|→|\bto\b/, 2);
  if (right !== undefined)
    return {
      from: amountOf(before) ?? amountOf(left.slice(Math.max(0, left.search(/\d/)))),
      to: amountOf(right),
    };
  const [from, to] = [amountOf(before), amountOf(after)];
  const isMore = to !== undefined && from !== undefined && textAt(after)?.trim().startsWith("+") === true;
  return { from, to: isMore ? from + to : to };
}

/** A root without a type has that of its fault. */
function rootOf(entry: unknown, faults: readonly Fault[], idOf: IdOf): Root | undefined {
  const fields = isObject(entry) ? entry : { id: entry };
  const id = numberOf(serviceIn(fields), idOf);
  const type =
    typeOf(fieldOf(fields, "type", "cause", "kind")) ?? faults.find((fault) => fault.id === id)?.type;
  return Root.safeParse({ id, type }).data;
}

/** By name, or by number: `1`, `"1"`, `"#1"`, `"1 cart"`, `"cart (1)"` or `"service 1"`. */
function numberOf(value: unknown, idOf: IdOf): unknown {
  if (typeof value !== "string") return value;
  const name = value.trim();
  const known = idOf(name);
  if (known !== undefined) return known;
  if (/^[+-]/.test(name)) return 0;
  const words = name
    .slice(0, 60)
    .split(/[\s:()"'#]+/)
    .filter((word) => word !== "");
  const numbers = words.filter((word) => /^\d+$/.test(word)).map(Number);
  if (words[0] !== undefined && Number(words[0]) === numbers[0]) return numbers[0];
  const id = words.map((word) => idOf(word)).find((each) => each !== undefined);
  return id ?? numbers[0] ?? 0;
}

const TYPE_WORDS: readonly (readonly [RegExp, Fault["type"]])[] = [
  [/cpu|throttl/, "C"],
  [/mem|oom/, "M"],
  [/disk|storage|i\/o/, "D"],
  [/net/, "N"],
  [/interfer|neighbo/, "I"],
  [/load|traffic/, "L"],
  [/version|deploy|release/, "V"],
  [/unknown|other|external|outside/, "X"],
];

/** A letter, alone or before its word (`C`, `c`, `C: CPU`), or the word. */
function typeOf(value: unknown): Fault["type"] | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim().slice(0, 40).toLowerCase();
  const letter = CAUSE_TYPES.find(
    (type) => text.startsWith(type.toLowerCase()) && !/[a-z]/.test(text[1] ?? ""),
  );
  return letter ?? TYPE_WORDS.find(([word]) => word.test(text))?.[1];
}

const RESOURCE_WORDS: readonly (readonly [RegExp, (typeof RESOURCES)[number]])[] = [
  [/replica|pod|instance/, "replicas"],
  [/cpu|core/, "cpu"],
  [/mem/, "memory"],
  [/own|self/, "own-time"],
];

const resourceOf = (value: unknown): Counterfactual["resource"] | undefined => wordOf(value, RESOURCE_WORDS);

const OUTCOME_WORDS: readonly (readonly [RegExp, (typeof OUTCOMES)[number]])[] = [
  [/worse|slower|degrad|higher|increas/, "worse"],
  [/same|unchanged|none|no /, "same"],
  [/better|improv|faster|lower|decreas|reduc|drop|fall|below|less|resolv|fix|help|positive|meets/, "better"],
];

/** Who asks for a change and says nothing else expects it to help. */
const outcomeOf = (value: unknown): Counterfactual["expected"] | undefined =>
  value === undefined ? "better" : wordOf(value, OUTCOME_WORDS);

function wordOf<Word>(value: unknown, words: readonly (readonly [RegExp, Word])[]): Word | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.slice(0, 40).toLowerCase();
  return words.find(([pattern]) => pattern.test(text))?.[1];
}

/** Of `[{signal, value}]`, `{signal: value}`, `[[signal, value]]`, `["signal=value"]` or `"signal=value, …"`; what is none of them is no citation. */
function citationsOf(value: unknown): Fault["evidence"] {
  const entries =
    textAt(value)
      ?.slice(0, MOST_THOUGHT_CHARACTERS)
      .split(/[,;\n]/) ?? value;
  const pairs = Array.isArray(entries)
    ? entries.map(citationOf)
    : isObject(entries)
      ? fieldOf(entries, "signal") === undefined
        ? Object.entries(entries)
        : [citationOf(entries)]
      : [];
  return pairs.flatMap(([signal, amount]) => {
    const number = amountOf(isObject(amount) ? fieldOf(amount, "value") : amount);
    return typeof signal !== "string" || number === undefined ? [] : [{ signal, value: number }];
  });
}

function citationOf(entry: unknown): readonly [unknown, unknown] {
  if (Array.isArray(entry)) return [entry[0], entry[1]];
  if (isObject(entry)) return [fieldOf(entry, "signal", "name", "metric"), fieldOf(entry, "value")];
  const text = (textAt(entry) ?? "").slice(0, 120).trim();
  const [signal = ""] = /^\w+/.exec(text) ?? [];
  const rest = text.slice(signal.length);
  return [signal, rest.slice(Math.max(0, rest.search(/-?\d/)))];
}

const textAt = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const UNITS: Readonly<Record<string, number>> = {
  "%": 0.01,
  percent: 0.01,
  ms: 1e-3,
  milliseconds: 1e-3,
  m: 1e-3,
  us: 1e-6,
  µs: 1e-6,
  K: 1e3,
  KB: 1e3,
  M: 1e6,
  MB: 1e6,
  G: 1e9,
  GB: 1e9,
  Ki: 2 ** 10,
  KiB: 2 ** 10,
  Mi: 2 ** 20,
  MiB: 2 ** 20,
  Gi: 2 ** 30,
  GiB: 2 ** 30,
};

/** A number, also as text with its unit: `"0.62"`, `"62 %"`, `"700 ms"`, `"500m"` cores, `"256Mi"`, `"3 replicas"`. */
function amountOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  const text = (textAt(value) ?? "").slice(0, 60).trim();
  const [digits] = /^[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?/i.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const [unit = ""] = text
    .slice(digits.length)
    .trim()
    .split(/[^a-zµ%]/i, 1);
  return Number(digits) * (UNITS[unit] ?? 1);
}

/** In [0, 1], also of percent; undefined of words. */
function shareOf(value: unknown): number | undefined {
  const amount = amountOf(value);
  const share = amount !== undefined && amount > 1 ? amount / 100 : amount;
  return share !== undefined && share >= 0 && share <= 1 ? share : undefined;
}
