import type { Poll } from "./stage/poll.ts";

/** What KEDA was told from the beginning of a fault to the end of its recovery. */
export interface Heard {
  readonly polls: readonly Poll[];
  readonly fromMs: number;
  readonly toMs: number;
  /** What each service needs, and had before. */
  readonly needed: ReadonlyMap<string, number>;
  readonly mostReplicas: number;
  /** From then on the numbers together must be above what they were. */
  readonly growth?: { readonly fromMs: number; readonly toMs: number; readonly above: number };
}

export interface Verdict {
  readonly wrongNumbers: number;
  readonly scaleDowns: number;
  readonly unavailableSeconds: number;
  readonly getMetricsP99Ms: number | null;
}

/** Each exporter is asked for each service at least this often. */
const SLOT_MS = 500;

export function judge(heard: Heard): Verdict {
  const { fromMs, toMs } = heard;
  const polls = heard.polls
    .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    .sort((a, b) => a.atMs - b.atMs);
  const { scaleDowns, wrong } = numbers(polls, heard);
  return {
    wrongNumbers: wrong + missedGrowth(polls, heard),
    scaleDowns,
    unavailableSeconds: unavailable(polls, heard),
    getMetricsP99Ms: percentile(
      polls.flatMap(({ latencyMs, value }) => (value === undefined ? [] : [latencyMs])),
      0.99,
    ),
  };
}

function numbers(
  polls: readonly Poll[],
  { mostReplicas, needed }: Heard,
): { wrong: number; scaleDowns: number } {
  const below = new Set<string>();
  let wrong = 0;
  let scaleDowns = 0;
  for (const { exporter, service, value } of polls) {
    const need = needed.get(service);
    if (value === undefined || need === undefined) continue;
    const key = `${exporter}/${service}`;
    const isNumber = Number.isSafeInteger(value) && value >= 1 && value <= mostReplicas;
    if (!isNumber || value < need) wrong += 1;
    if (value >= need) below.delete(key);
    else if (!below.has(key)) {
      below.add(key);
      scaleDowns += 1;
    }
  }
  return { wrong, scaleDowns };
}

/** Answers after growth was due from an exporter whose numbers together have not risen. */
function missedGrowth(polls: readonly Poll[], { growth }: Heard): number {
  if (growth === undefined) return 0;
  const latest = new Map<number, Map<string, number>>();
  const grown = new Set<number>();
  let missed = 0;
  for (const { atMs, exporter, service, value } of polls) {
    if (value === undefined || atMs > growth.toMs) continue;
    const known = latest.get(exporter) ?? new Map<string, number>();
    latest.set(exporter, known.set(service, value));
    const sum = [...known.values()].reduce((all, each) => all + each, 0);
    if (sum > growth.above) grown.add(exporter);
    if (atMs >= growth.fromMs && !grown.has(exporter)) missed += 1;
  }
  return missed;
}

/** Time in slots in which some service was asked for and no exporter had a number for it. */
function unavailable(polls: readonly Poll[], { fromMs, needed, toMs }: Heard): number {
  let slots = 0;
  for (let at = fromMs; at + SLOT_MS <= toMs; at += SLOT_MS) {
    const here = polls.filter(({ atMs }) => atMs >= at && atMs < at + SLOT_MS);
    const isMissing = (service: string): boolean => {
      const asked = here.filter((poll) => poll.service === service);
      return asked.length > 0 && asked.every(({ value }) => value === undefined);
    };
    if ([...needed.keys()].some(isMissing)) slots += 1;
  }
  return (slots * SLOT_MS) / 1e3;
}

/** The q-quantile, nearest rank; null of nothing. */
function percentile(values: readonly number[], q: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)];
  return value === undefined ? null : Math.round(value * 10) / 10;
}
