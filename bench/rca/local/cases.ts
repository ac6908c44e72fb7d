import { mean } from "@tradewind/core/values/statistics.ts";
import type { CheckedCounterfactual, Explanation } from "@tradewind/core/contract/explanation.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { applicationOf } from "@tradewind/local/application/applications.ts";
import type { Fleet } from "@tradewind/local/application/fleet.ts";
import { carryOut } from "@tradewind/local/fault/carry-out.ts";
import type { CalmCase, RecordedCase } from "../case.ts";
import { effectOf, plannedFaults, RIGHT_TYPES, sizeOf } from "./faults.ts";
import type { PlannedFault } from "./faults.ts";
import { startRig } from "./rig.ts";
import type { Rig } from "./rig.ts";

/** Windows of 5 s in which the objective is met before a fault: with fewer it is part of the incident before. */
const CALM_WINDOWS = 6;
const MOST_CALM_WINDOWS = 20;
const FIRST_CALM_WINDOWS = 14;
/** A fault that is not felt within so many windows is none. */
const FELT_WITHIN = 6;
/** Missed windows that are looked at. */
const MISSED_WINDOWS = 2;
const AFTER_CHANGE_WINDOWS = 3;
/** A change has helped where the latency is so far below what it was. */
const HELPED_RATIO = 0.9;
const OBJECTIVE = "80ms";
const REQUESTS_PER_SECOND: Readonly<Record<string, number>> = { hotel: 25, shop: 20 };

/** What became of one fault. */
export interface LocalCase extends PlannedFault {
  /** The objective was missed: otherwise there is nothing to explain. */
  readonly isFelt: boolean;
  /** Of the product, on the live models: most likely first. */
  readonly named: readonly { readonly service: string; readonly type: string }[];
  /** From the injection to the first explanation with a cause; absent: none. */
  readonly namedAfterSeconds?: number;
  readonly isTypeRight: boolean;
  /** The best change of a size that it kept, carried out; absent: it kept none. */
  readonly change?: { readonly of: string; readonly expectedRatio: number; readonly measuredRatio: number };
}

/** What a process is asked for. */
export interface LocalOrder {
  readonly application: string;
  readonly count: number;
  readonly seed: number;
  /** File that all platforms share. */
  readonly calibration: string;
}

export interface LocalSet {
  readonly name: string;
  readonly recorded: readonly RecordedCase[];
  readonly calm: readonly CalmCase[];
  readonly cases: readonly LocalCase[];
}

/** Injects faults into one application on a platform of this process. */
export async function localSet(
  { application, calibration, count, seed }: LocalOrder,
  progress: (text: string) => void,
): Promise<LocalSet> {
  const rig = await startRig({
    application,
    requestsPerSecond: REQUESTS_PER_SECOND[application] ?? 20,
    objective: OBJECTIVE,
    seed,
    calibration,
    say: (text) => progress(`rca: ${application}: ${text}`),
  });
  try {
    return await injectAll(application, rig, count, seed, progress);
  } finally {
    await rig.stop();
  }
}

async function injectAll(
  application: string,
  rig: Rig,
  count: number,
  seed: number,
  progress: (text: string) => void,
): Promise<LocalSet> {
  const topology = applicationOf(application);
  const recorded: RecordedCase[] = [];
  const calm: CalmCase[] = [];
  const cases: LocalCase[] = [];
  for (let window = 0; window < FIRST_CALM_WINDOWS; window += 1) await rig.nextWindow();
  for (const fault of plannedFaults(topology, count, seededRng(seed))) {
    const id = `${application}/${cases.length}`;
    await untilCalm(rig);
    const before = rig.signals.incident(topology.entry, new Map());
    if (before !== undefined && !before.isMissed) calm.push({ id, incident: before, part: "report" });
    const { incident, ...outcome } = await injected(fault, rig, topology.entry);
    cases.push(outcome);
    if (incident !== undefined)
      recorded.push({ id, incident, rootCause: fault.service, kind: fault.kind, part: "report" });
    const [first] = outcome.named;
    progress(
      `rca: ${application} ${cases.length} of ${count}: ${fault.kind} of ${fault.service}: ` +
        (outcome.isFelt
          ? `named ${first === undefined ? "nobody" : `${first.service} (${first.type})`}`
          : "not felt"),
    );
  }
  return { name: `local-${application}`, recorded, calm, cases };
}

async function untilCalm(rig: Rig): Promise<void> {
  for (let window = 0; window < MOST_CALM_WINDOWS; window += 1) {
    await rig.nextWindow();
    const last = rig.severities.slice(-CALM_WINDOWS);
    if (window >= CALM_WINDOWS && last.every((severity) => severity <= 1)) return;
  }
}

async function injected(
  fault: PlannedFault,
  rig: Rig,
  entry: string,
): Promise<LocalCase & { readonly incident?: RecordedCase["incident"] }> {
  const { platform, severities, signals } = rig;
  const end = await carryOut(fault, platform.fleet, effectOf(fault, rig.objectiveSeconds));
  const beganMs = performance.now();
  let missed = 0;
  let namedAfterSeconds: number | undefined;
  let last: Explanation | undefined;
  try {
    for (let window = 0; window < FELT_WITHIN && missed < MISSED_WINDOWS; window += 1) {
      await rig.nextWindow();
      if (!((severities.at(-1) ?? 0) > 1)) continue;
      missed += 1;
      last = (await rig.explanation()) ?? last;
      if (last?.isMissed === true && last.causes.length > 0)
        namedAfterSeconds ??= (performance.now() - beganMs) / 1e3;
    }
    const outcome = { ...fault, isFelt: missed > 0, named: last?.causes ?? [] };
    if (missed === 0) return { ...outcome, isTypeRight: false };
    const incident = signals.incident(entry, new Map());
    const change = last === undefined ? undefined : await carriedOut(last, rig);
    return {
      ...outcome,
      named: outcome.named.map(({ service, type }) => ({ service, type })),
      isTypeRight: RIGHT_TYPES[fault.kind].includes(outcome.named[0]?.type ?? ""),
      ...(namedAfterSeconds !== undefined && { namedAfterSeconds }),
      ...(incident !== undefined && { incident }),
      ...(change !== undefined && { change }),
    };
  } finally {
    await end();
  }
}

/** Carries the best kept change of the first cause's size out, and undoes it. */
async function carriedOut(explanation: Explanation, rig: Rig): Promise<LocalCase["change"]> {
  const best = bestChange(explanation);
  if (best === undefined) return undefined;
  const { fleet } = rig.platform;
  const meanOfLast = (count: number): number => mean(rig.severities.slice(-count));
  const before = meanOfLast(MISSED_WINDOWS);
  const undo = await resize(best, fleet);
  try {
    for (let window = 0; window < AFTER_CHANGE_WINDOWS; window += 1) await rig.nextWindow();
    return {
      of: `${best.resource} of ${best.service} ${best.from} to ${best.to}`,
      expectedRatio: best.tailAfterSeconds / best.tailBeforeSeconds,
      measuredRatio: meanOfLast(AFTER_CHANGE_WINDOWS - 1) / before,
    };
  } finally {
    await undo();
  }
}

function bestChange({ causes, counterfactuals }: Explanation): CheckedCounterfactual | undefined {
  const [first] = causes;
  return counterfactuals
    .filter(
      ({ outcome, resource, service }) =>
        service === first?.service && resource !== "own-time" && outcome === "better",
    )
    .toSorted((a, b) => a.tailAfterSeconds - b.tailAfterSeconds)[0];
}

async function resize(
  { from, resource, service, to }: CheckedCounterfactual,
  fleet: Fleet,
): Promise<() => Promise<void>> {
  if (resource === "replicas") {
    fleet.scale(service, to);
    return async () => fleet.scale(service, from);
  }
  const before = sizeOf(fleet, service);
  await fleet.resize(service, { ...before, cpuCores: to });
  return async () => fleet.resize(service, before);
}

/** Figures that only live explanations have. */
export function liveFigures({ cases, name }: LocalSet): Record<string, unknown> {
  const felt = cases.filter(({ isFelt }) => isFelt);
  const share = (ones: readonly LocalCase[], holds: (one: LocalCase) => boolean): number | null =>
    ones.length === 0 ? null : Number((ones.filter(holds).length / ones.length).toFixed(3));
  const changed = felt.filter(({ change }) => change !== undefined);
  const firstRight = ({ named, service }: LocalCase): boolean => named[0]?.service === service;
  return {
    name,
    injected: cases.length,
    felt: felt.length,
    ac1: share(felt, firstRight),
    ac3: share(felt, ({ named, service }) => named.some((each) => each.service === service)),
    serviceAndType: share(felt, (one) => firstRight(one) && one.isTypeRight),
    within30Seconds: share(
      felt,
      (one) => firstRight(one) && (one.namedAfterSeconds ?? Number.POSITIVE_INFINITY) <= 30,
    ),
    changesCarriedOut: changed.length,
    changesThatHelped: share(changed, ({ change }) => (change?.measuredRatio ?? 1) < HELPED_RATIO),
    cases,
  };
}
