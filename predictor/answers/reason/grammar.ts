import { z } from "zod";
import { FAULT_TYPES, SIGNAL_NAMES } from "./signals.ts";

/** The stages of a transcript, in their order (ORACL, section IV-B). Each tag comes once; inside all but the first is JSON. */
export const STAGES = ["think", "Fault", "Counterfactual", "root"] as const;
export type Stage = (typeof STAGES)[number];

/** Longer texts are no transcripts: nothing of them is read. */
export const MOST_CHARACTERS = 262_144;
const MOST_WORDS = 400;
const MOST_ENTRIES = 64;
const MOST_AMOUNT = 1e15;

const Id = z.number().int().min(0).max(100_000);
const Type = z.enum(FAULT_TYPES);

/** A measured value that speaks for a fault. */
const Citation = z.strictObject({ signal: z.string().min(1).max(64), value: z.number() });

export const Fault = z.strictObject({
  id: Id,
  type: Type,
  evidence: z.array(Citation).max(SIGNAL_NAMES.length),
  confidence: z.number().min(0).max(1).optional(),
});
export type Fault = z.infer<typeof Fault>;

/** `own-time`: the service answers as fast as before the trouble began. */
export const RESOURCES = ["cpu", "memory", "replicas", "own-time"] as const;
/** `better` and `worse` by more than 2 % of the objective. */
export const OUTCOMES = ["better", "same", "worse"] as const;

/** What would become of the slowest route's tail if one thing were changed. */
export const Counterfactual = z.strictObject({
  id: Id,
  resource: z.enum(RESOURCES),
  /** Replicas, cores or bytes of a container, or seconds of self time: as it is, and as supposed. */
  from: z.number().min(0).max(MOST_AMOUNT).optional(),
  to: z.number().min(0).max(MOST_AMOUNT),
  expected: z.enum(OUTCOMES),
  tailSeconds: z.number().min(0).optional(),
  why: z.string().max(300),
});
export type Counterfactual = z.infer<typeof Counterfactual>;

export const Root = z.strictObject({ id: Id, type: Type });
export type Root = z.infer<typeof Root>;

/** An answer as one object. */
export const AnswerForm = z.strictObject({
  think: z.string(),
  Fault: z.array(Fault),
  Counterfactual: z.array(Counterfactual),
  root: z.array(Root),
});

/** The four stages of one answer. Services are numbers of the sketch's table. */
export interface Transcript {
  readonly think: string;
  readonly faults: readonly Fault[];
  readonly counterfactuals: readonly Counterfactual[];
  /** Empty: no cause is named. */
  readonly roots: readonly Root[];
}

/** The text of a transcript. {@link parseTranscript} gives it back. */
export function renderTranscript({ counterfactuals, faults, roots, think }: Transcript): string {
  const bodies = [think, JSON.stringify(faults), JSON.stringify(counterfactuals), JSON.stringify(roots)];
  return STAGES.map((stage, at) => `<${stage}>${bodies[at] ?? ""}</${stage}>`).join("\n");
}

/** Checks of the format: three for each tag, the order of the tags, and the JSON of three stages. */
export const FORMAT_CHECKS = 16;

export interface ParsedAnswer {
  /** Undefined where any check failed. */
  readonly transcript: Transcript | undefined;
  /** Checks that failed, of {@link FORMAT_CHECKS}. */
  readonly invalid: number;
  readonly problems: readonly string[];
}

interface Place {
  readonly stage: Stage;
  readonly start: number;
  readonly end: number;
}

/** Reads an answer by the letter, as its format is scored; see `readAnswer` for what it says. Never throws; text outside of the tags is not read. */
export function parseTranscript(text: string): ParsedAnswer {
  if (text.length > MOST_CHARACTERS) {
    const problem = `the answer has ${text.length} characters, at most ${MOST_CHARACTERS} are read`;
    return { transcript: undefined, invalid: FORMAT_CHECKS, problems: [problem] };
  }
  const problems: string[] = [];
  const places = STAGES.map((stage) => placeOf(text, stage));
  for (const [at, place] of places.entries())
    problems.push(...tagProblems(text, STAGES[at] ?? "think", place));
  const starts = places.map((place) => place?.start ?? Number.NaN);
  const isOrdered = starts.every((start, at) => at === 0 || start > (starts[at - 1] ?? Number.NaN));
  const isOnce = STAGES.every(
    (stage) => countOf(text, `<${stage}>`) === 1 && countOf(text, `</${stage}>`) === 1,
  );
  if (!isOrdered || !isOnce) problems.push("the tags must come once each, in their order");
  const [think, ...rest] = places.map((place) =>
    place === undefined ? "" : text.slice(place.start, place.end),
  );
  const [faults, counterfactuals, roots] = [
    parsed(z.array(Fault).max(MOST_ENTRIES), rest[0], "Fault", problems),
    parsed(z.array(Counterfactual).max(MOST_ENTRIES), rest[1], "Counterfactual", problems),
    parsed(z.array(Root).max(MOST_ENTRIES), rest[2], "root", problems),
  ];
  const invalid = problems.length;
  const isWhole =
    invalid === 0 && faults !== undefined && counterfactuals !== undefined && roots !== undefined;
  const words = (think ?? "").trim();
  const transcript = isWhole ? { think: words, faults, counterfactuals, roots } : undefined;
  return { transcript, invalid, problems };
}

/** Inside the first opening tag and the first closing one; the end is before the start where they come the wrong way round. */
function placeOf(text: string, stage: Stage): Place | undefined {
  const open = text.indexOf(`<${stage}>`);
  const end = text.indexOf(`</${stage}>`);
  return open < 0 || end < 0 ? undefined : { stage, start: open + stage.length + 2, end };
}

/** Three checks: it has content, it ends after it begins, and no other tag is inside. A missing tag fails all. */
function tagProblems(text: string, stage: Stage, place: Place | undefined): string[] {
  if (place === undefined) {
    return [`<${stage}> is missing`, `<${stage}> has no content`, `<${stage}> has no place`];
  }
  const body = text.slice(place.start, Math.max(place.start, place.end));
  const isNested = STAGES.some((other) => body.includes(`<${other}>`) || body.includes(`</${other}>`));
  const isLong = stage === "think" && body.trim().split(/\s+/, MOST_WORDS + 1).length > MOST_WORDS;
  return [
    ...(body.trim() === "" || isLong ? [`<${stage}> is empty or too long`] : []),
    ...(place.end < place.start ? [`<${stage}> ends before it begins`] : []),
    ...(isNested ? [`<${stage}> has another tag inside`] : []),
  ];
}

function countOf(text: string, tag: string): number {
  let count = 0;
  for (let at = text.indexOf(tag); at >= 0 && count < 2; at = text.indexOf(tag, at + tag.length)) count += 1;
  return count;
}

function parsed<Body>(
  schema: z.ZodType<Body>,
  text: string | undefined,
  stage: Stage,
  problems: string[],
): Body | undefined {
  try {
    const result = schema.safeParse(JSON.parse(text ?? ""));
    if (result.success) return result.data;
    problems.push(`<${stage}>: ${z.prettifyError(result.error).slice(0, 200)}`);
  } catch {
    problems.push(`<${stage}> is not JSON`);
  }
  return undefined;
}
