import type { CheckedCounterfactual, Explanation, NamedCause } from "@tradewind/core/contract/explanation.ts";
import { SIGNAL_NAMES, signalSpec } from "./signals.ts";

type Type = NamedCause["type"];

/** What each type of cause is called. */
export const TYPE_WORDS: Readonly<Record<Type, string>> = {
  C: "CPU",
  M: "memory",
  D: "disk",
  N: "network",
  I: "interference by other tenants",
  L: "load",
  V: "a new version",
  X: "time outside of what it uses (a call to something that sends no telemetry, a lock, or a queue)",
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

export function percentileName(percentile: number): string {
  return `p${Number((100 * percentile).toFixed(3))}`;
}

function change({ from, resource, service, to }: CheckedCounterfactual): string {
  if (resource === "own-time") return `'${service}' answering in ${millis(to)} instead of ${millis(from)}`;
  if (resource === "replicas") return `'${service}' with ${to} instead of ${from} replicas`;
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

/** One sentence for people. */
export function summary(
  about: Pick<
    Explanation,
    "causes" | "counterfactuals" | "isMissed" | "measuredLatencySeconds" | "objective"
  >,
): string {
  const { causes, counterfactuals, isMissed, measuredLatencySeconds: measured, objective } = about;
  const name = percentileName(objective.percentile);
  const against = `${name} ${measured === undefined ? "not measured" : millis(measured)}, objective ${millis(objective.seconds)}`;
  if (!isMissed) return `Nothing to explain: ${against}.`;
  const [first] = causes;
  if (first === undefined) return `${against}: no service stands out, so no cause is named.`;
  const signs = first.evidence.slice(0, 2).map((each) => reading(each));
  const because = signs.length === 0 ? "" : `: ${signs.join(", ")}`;
  const cause = `'${first.service}', ${TYPE_WORDS[first.type]}${because}`;
  const best = remedy(
    counterfactuals.filter(({ service }) => causes.some((each) => each.service === service)),
  );
  const end =
    best === undefined
      ? "No change of its size is known to help"
      : `By the models ${change(best)} takes it from ${millis(best.tailBeforeSeconds)} to ${millis(best.tailAfterSeconds)}`;
  return `${against}. Cause: ${cause}. ${end}.`.slice(0, 1_000);
}
