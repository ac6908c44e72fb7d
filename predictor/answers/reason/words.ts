import type { CheckedCounterfactual, Explanation, NamedCause } from "@tradewind/core/contract/explanation.ts";
import type { Precedent } from "@tradewind/core/contract/incident.ts";
import type { Pattern } from "@tradewind/core/contract/pattern.ts";
import { formatMemory, percentileName, utcSeconds } from "@tradewind/core/values/amounts.ts";
import { FAR_RATIO } from "./signal-history.ts";
import { SIGNAL_NAMES, signalSpec } from "./signals.ts";

type Type = NamedCause["type"];

/** What each failure pattern is called. */
const FAILURE_NAMES: ReadonlyMap<string, string> = new Map([
  ["retry-storm", "a retry storm"],
  ["fan-out", "more calls for each request"],
  ["scaling-lag", "replicas that come late"],
  ["limits", "a limit that is too low"],
  ["co-location", "a crowded node"],
]);

/** What each type of cause is called. */
export const TYPE_WORDS: Readonly<Record<Type, string>> = {
  C: "CPU",
  M: "memory",
  D: "disk",
  N: "network",
  I: "interference by other tenants",
  L: "load",
  V: "a new version",
  X: "time not explained by CPU, memory or network (a lock, a queue or an untraced call)",
};

const SECONDS: ReadonlySet<string> = new Set([
  "selfTimeP95",
  "responseP95",
  "transitTime",
  "cpuSecondsPerRequest",
]);
const SHARES: ReadonlySet<string> = new Set([
  "errorRatio",
  "cpuUtilisation",
  "throttledRatio",
  "memoryRatio",
  "newVersion",
  "interferenceCpu",
  "interferenceMemory",
  "interferenceBandwidth",
  "interferenceNetwork",
]);
const NAMES: Readonly<Record<string, string>> = {
  requestRate: "load",
  selfTimeP95: "self-time p95",
  responseP95: "response p95",
  transitTime: "network time",
  cpuSecondsPerRequest: "CPU per request",
  memoryBytes: "memory",
  diskBytes: "disk traffic",
};

const SIGNAL_WORDS: ReadonlyMap<string, string> = new Map(
  SIGNAL_NAMES.map((name) => [name, signalSpec(name).words]),
);

export function millis(seconds: number): string {
  const value = 1e3 * seconds;
  return `${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ms`;
}

function amount(signal: string, value: number): string {
  if (SECONDS.has(signal)) return millis(value);
  if (SHARES.has(signal)) return `${(100 * value).toFixed(0)} %`;
  return Number(value.toPrecision(3)).toString();
}

interface Cited {
  /** One that another release knows is called by its name. */
  readonly signal: string;
  readonly value: number;
  readonly baseline?: number | undefined;
}

/** A signal with its value, and what it was before where that is known. */
export function reading({ baseline, signal, value }: Cited): string {
  const before = baseline === undefined ? "" : ` (before: ${amount(signal, baseline)})`;
  return `${NAMES[signal] ?? SIGNAL_WORDS.get(signal) ?? signal} ${amount(signal, value)}${before}`;
}

function change({ from, resource, service, to }: CheckedCounterfactual): string {
  if (resource === "own-time") return `'${service}' answering in ${millis(to)} instead of ${millis(from)}`;
  if (resource === "replicas") return `'${service}' with ${to} instead of ${from} replicas`;
  if (resource === "memory") return `'${service}' with ${formatMemory(to)} instead of ${formatMemory(from)}`;
  return `'${service}' with ${to.toFixed(2)} instead of ${from.toFixed(2)} cores`;
}

export function counterfactual(one: CheckedCounterfactual): string {
  const effect = `${millis(one.tailBeforeSeconds)} → ${millis(one.tailAfterSeconds)}`;
  return `${change(one)}: ${effect} (${one.outcome}${one.ends ? ", objective met" : ""})`;
}

/** The supposed change of sizes that takes the least: the first that ends the miss, else the one that helps most. */
export function remedy(all: readonly CheckedCounterfactual[]): CheckedCounterfactual | undefined {
  const better = all.filter(({ outcome, resource }) => outcome === "better" && resource !== "own-time");
  const ending = better.find(({ ends }) => ends);
  return ending ?? better.toSorted((a, b) => a.tailAfterSeconds - b.tailAfterSeconds)[0];
}

const percent = (ratio: number): string => `${Number((100 * ratio).toPrecision(2))} %`;

const failures = (ratio: number, { percentile }: Explanation["objective"]): string =>
  `${percent(ratio)} of the requests failed, ${percent(1 - percentile)} may`;

/** A miss that is over. */
export interface LastMiss {
  readonly onsetMs: number;
  /** End of its last window that missed the objective. */
  readonly lastMissedMs: number;
}

const over = ({ lastMissedMs, onsetMs }: LastMiss): string => {
  const last = utcSeconds(lastMissedMs);
  return `; missed for ${lengthOf(lastMissedMs - onsetMs)} until ${last}: tradewind explain --at ${last}`;
};

type ExplainedFacts = Pick<
  Explanation,
  | "causes"
  | "counterfactuals"
  | "failedRatio"
  | "isMissed"
  | "measuredLatencySeconds"
  | "objective"
  | "patterns"
>;

/** One sentence for people. @param lastMiss that ended lately, where nothing is missed now */
export function summary(about: ExplainedFacts, lastMiss?: LastMiss): string {
  const { causes, failedRatio, isMissed, measuredLatencySeconds: measured, objective } = about;
  const name = percentileName(objective.percentile);
  const latency = `${name} ${measured === undefined ? "not measured" : millis(measured)}, objective ${millis(objective.seconds)}`;
  const against = failedRatio === undefined ? latency : `${failures(failedRatio, objective)}; ${latency}`;
  const [first] = causes;
  if (!isMissed)
    return `${first === undefined ? "Nothing to explain now" : short(first, causes)}: ${against}${lastMiss === undefined ? "" : over(lastMiss)}.`;
  const isNamed = first !== undefined && first.evidence.length > 0;
  return `${against}${isNamed ? "." : ":"} ${causeText(about)}`.slice(0, 1_000);
}

/** What a miss is put down to, without the figures of its window. */
export function causeText(about: ExplainedFacts): string {
  const { causes, counterfactuals, measuredLatencySeconds, patterns = [] } = about;
  const [first] = causes;
  const seen = failureOf(patterns);
  if (first === undefined) return `no service stands out, so no cause is named.${seen}`;
  if (first.evidence.length === 0)
    return `most of the time is that of '${first.service}', but nothing was measured that says why, so no cause is named.${seen}`;
  const cause = `${whoIn(first, causes)}, ${TYPE_WORDS[first.type]}: ${signsOf(first)}`;
  const best = remedy(
    counterfactuals.filter(({ service }) => causes.some((each) => each.service === service)),
  );
  return `Cause: ${cause}.${seen} ${endText(best, measuredLatencySeconds)}`;
}

/** What would end a miss, or helps most, and how far what the models say of that can be relied on. */
function endText(best: CheckedCounterfactual | undefined, measuredSeconds: number | undefined): string {
  if (best === undefined) return "No change of its size is known to help.";
  const { ends, tailAfterSeconds: after, tailBeforeSeconds: before } = best;
  const what = `${change(best)}, ${millis(before)} → ${millis(after)} by the models.`;
  const said = ends ? `What ends it: ${what}` : `No single change ends it; most helps ${what}`;
  const ratio = measuredSeconds === undefined ? 1 : before / measuredSeconds;
  const timesOff = Math.max(ratio, 1 / ratio);
  return timesOff < FAR_RATIO
    ? said
    : `${said} Careful: ${Number(timesOff.toPrecision(2))} times off what is measured.`;
}

const SIGNAL_TYPES = new Map<string, string | undefined>(
  SIGNAL_NAMES.map((name) => [name, name === "requestRate" ? "L" : signalSpec(name).type]),
);

/** Two signs of a cause, first those of its own type. */
const signsOf = ({ evidence, type }: NamedCause): string =>
  evidence
    .toSorted(
      (a, b) => Number(SIGNAL_TYPES.get(b.signal) === type) - Number(SIGNAL_TYPES.get(a.signal) === type),
    )
    .slice(0, 2)
    .map((each) => reading(each))
    .join(", ");

/** Users are not seen to notice anything: it is said first what they may notice soon. */
const short = (first: NamedCause, causes: readonly NamedCause[]): string =>
  `Far from usual: ${whoIn(first, causes)}, ${TYPE_WORDS[first.type]} (${signsOf(first)})`;

/** One neighbour of a node disturbs all services there: it is said once. */
function whoIn(first: NamedCause, causes: readonly NamedCause[]): string {
  const alike = causes.filter(({ type }) => first.type === "I" && type === "I");
  if (alike.length < 2) return `'${first.service}'`;
  return `${alike.length} services (${alike.map(({ service }) => `'${service}'`).join(", ")})`;
}

const lengthOf = (ms: number): string =>
  ms < 120_000 ? `${Math.round(ms / 1e3)} s` : `${Math.round(ms / 60_000)} minutes`;

/** A past incident: when, what was named, and what ended it. */
export function precedentInWords(past: Precedent): string {
  const { cause, changes, ended, endMs, onsetMs, similarity, worstRatio } = past;
  const named = cause === undefined ? "no cause named" : `'${cause.service}', ${TYPE_WORDS[cause.type]}`;
  const grown = changes.filter(({ from, to }) => to > from).slice(0, 3);
  const sizes = grown.map(({ from, resource, service, to }) =>
    resource === "replicas"
      ? `'${service}' ${from} → ${to} replicas`
      : `'${service}' ${from.toFixed(2)} → ${to.toFixed(2)} cores`,
  );
  const what = sizes.length === 0 ? "nothing grew" : `with ${sizes.join(", ")}`;
  const end = {
    growth: `ended ${what}, at the same load`,
    load: `ended as the load fell; ${sizes.length === 0 ? what : `${sizes.join(", ")} beside it`}`,
    neither: `ended by itself; ${what}`,
  }[ended];
  const head = `${new Date(onsetMs).toISOString()} for ${lengthOf(endMs - onsetMs)}, ${(100 * similarity).toFixed(0)} % alike`;
  return `${head}: ${named}, ${worstRatio.toFixed(1)} times the objective; ${end}`;
}

/** The surest failure pattern as a sentence; empty where none is seen. */
function failureOf(patterns: readonly Pattern[]): string {
  const found = patterns.find(({ kind }) => FAILURE_NAMES.has(kind));
  return found === undefined ? "" : ` Seen: ${FAILURE_NAMES.get(found.kind) ?? ""}: ${found.words}.`;
}
