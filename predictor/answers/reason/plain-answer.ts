import { parse } from "yaml";
import { looseJson } from "./loose-json.ts";

/** Deeper within what wraps it an answer is not looked for. */
const MOST_WRAPPERS = 3;
const MOST_LINES = 4_000;
const MOST_FIELDS = 400;
const MOST_BODY_CHARACTERS = 20_000;
const HAS_STAGE = /fault|counter_?factual|root/i;
const TAGGED = /<\s{0,4}\/?\s{0,4}(?:fault|counter|root)/i;
const SQUARE = /\[(\/?)(think|faults?|counterfactuals?|roots?)\]/gi;
const MARKS = /[\s#*_`>.:)\d-]{1,20}/y;
const HEADING_END = /^[\s*_`:]{1,20}/;
const MOST_HEADING = 40;
const HEADING = /^(?:think|faults?|counterfactuals?|roots?)\b/i;
const FIELD = /<([a-z_]{1,24})>([^<>]{1,400})<\//gi;
const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#34;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

/** An answer in tags, taken out of what a server or a model wrapped it in: JSON text, entities, square brackets, headings. */
export function plainAnswer(whole: string): string {
  const text = unescaped(unwrapped(whole.trim(), 0));
  if (TAGGED.test(text)) return text;
  const square = text.replaceAll(SQUARE, "<$1$2>");
  return TAGGED.test(square) ? square : headed(text);
}

/** The text within JSON that holds it as a string, alone or as a field. */
function unwrapped(text: string, depth: number): string {
  if (depth >= MOST_WRAPPERS || !/^["[{]/.test(text)) return text;
  try {
    const inner = longestText(JSON.parse(text), 0);
    return inner === undefined ? text : unwrapped(inner.trim(), depth + 1);
  } catch {
    return text;
  }
}

/** The longest string that names a stage, or nothing where one is a key. */
function longestText(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return TAGGED.test(value) || isJson(value) ? value : undefined;
  if (typeof value !== "object" || value === null || depth > MOST_WRAPPERS) return undefined;
  const found = Object.values(value).flatMap((field) => longestText(field, depth + 1) ?? []);
  return found.toSorted((a, b) => b.length - a.length)[0];
}

const isJson = (text: string): boolean => /^\s{0,9}[[{]/.test(text) && HAS_STAGE.test(text);

const unescaped = (text: string): string =>
  text.includes("&lt;")
    ? text.replaceAll(/&(?:lt|gt|quot|#34|#39|amp);/g, (entity) => ENTITIES[entity] ?? "")
    : text;

/** With headings that are stages made tags: `### Fault`, `**Fault:** []`, `1. Fault`. */
function headed(text: string): string {
  const lines = text.split("\n").slice(-MOST_LINES);
  return lines
    .map((line) => {
      const start = line.slice(0, MOST_HEADING);
      MARKS.lastIndex = 0;
      const [marks = ""] = MARKS.exec(start) ?? [];
      const [name] = HEADING.exec(start.slice(marks.length)) ?? [];
      if (name === undefined) return line;
      const after = line.slice(marks.length + name.length);
      const [end = ""] = HEADING_END.exec(after.slice(0, MOST_HEADING)) ?? [];
      const isHeading = /[:*_]/.test(end) || end.length === after.length;
      return isHeading ? `<${name}>${after.slice(end.length)}` : line;
    })
    .join("\n");
}

/**
 * What stands in the tag of a list: JSON as models write it, YAML, an element for each field, or a few words.
 * @param isClosed the tag has its end, without which words are none of it
 */
export function valueIn(body: string, isClosed: boolean): unknown {
  const text = body.slice(0, MOST_BODY_CHARACTERS);
  // An object on each line is a list, too.
  if (/[[{]/.test(text)) return looseJson(/^\s{0,99}\{/.test(text) ? `[${body}]` : body);
  const fields = [...text.matchAll(FIELD)].slice(0, MOST_FIELDS);
  if (fields.length > 0)
    return entriesOf(fields.map(([, name = "", value = ""]) => [name.toLowerCase(), value.trim()]));
  const words = text.trim();
  if (!isClosed || words === "") return undefined;
  return /^\s{0,9}(?:-\s|\w{1,24}:)/.test(text) ? yamlOf(text) : [words.slice(0, 60)];
}

/** Entries of fields one after the other: each begins with its service, signals and their values are its evidence. */
function entriesOf(fields: readonly (readonly [string, string])[]): unknown[] {
  const entries: { readonly fields: Record<string, unknown>; readonly evidence: unknown[] }[] = [];
  for (const [name, value] of fields) {
    if (entries.length === 0 || ["id", "service"].includes(name)) entries.push({ fields: {}, evidence: [] });
    const entry = entries.at(-1);
    if (name === "signal") entry?.evidence.push({ signal: value });
    else if (name === "value" && entry?.evidence.length !== 0)
      Object.assign(entry?.evidence.at(-1) ?? {}, { value });
    else if (entry !== undefined) entry.fields[name] = value;
  }
  return entries.map(({ evidence, fields: own }) =>
    evidence.length > 0 ? Object.assign(own, { evidence }) : own,
  );
}

function yamlOf(text: string): unknown {
  try {
    const value: unknown = parse(text, { logLevel: "silent", maxAliasCount: 0 });
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
