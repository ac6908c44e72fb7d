import { percentile } from "../statistics.ts";
import type { Poll } from "../stage/poll.ts";

/** The answers KEDA got from the beginning of a fault to the end of its recovery. */
export interface Heard {
  readonly polls: readonly Poll[];
  readonly fromMs: number;
  readonly toMs: number;
  /** What each service needs, and had before. */
  readonly needed: ReadonlyMap<string, number>;
  readonly mostReplicas: number;
  /** In this time the numbers of an exporter together must have come above this sum. */
  readonly growth?: { readonly fromMs: number; readonly toMs: number; readonly above: number };
}

export interface Verdict {
  readonly wrongNumbers: number;
  readonly scaleDowns: number;
  readonly unavailableSeconds: number;
  readonly getMetricsP99Ms: number | null;
  /** The first of each, for people. */
  readonly firstWrong: string | undefined;
  readonly firstMissing: string | undefined;
}

/** Each exporter is asked for each service at least this often. */
const SLOT_MS = 500;

export function judge(heard: Heard): Verdict {
  const { fromMs, toMs } = heard;
  const polls = heard.polls
    .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    .sort((a, b) => a.atMs - b.atMs);
  const { first, scaleDowns, wrong } = numbers(polls, heard);
  const missed = missedGrowth(polls, heard);
  const missing = missingSlots(polls, heard);
  const latencies = polls.flatMap(({ latencyMs, value }) => (value === undefined ? [] : [latencyMs]));
  return {
    wrongNumbers: wrong + missed.length,
    scaleDowns,
    unavailableSeconds: (missing.length * SLOT_MS) / 1e3,
    getMetricsP99Ms: p99Of(latencies),
    firstWrong: first ?? missed[0],
    firstMissing: missing[0],
  };
}

const said = ({ atMs, exporter, service }: Poll, { fromMs }: Heard, what: string): string =>
  `${((atMs - fromMs) / 1e3).toFixed(1)} s on, exporter ${exporter}, ${service}: ${what}`;

function numbers(
  polls: readonly Poll[],
  heard: Heard,
): { wrong: number; scaleDowns: number; first: string | undefined } {
  const { mostReplicas, needed } = heard;
  const below = new Set<string>();
  let wrong = 0;
  let scaleDowns = 0;
  let first: string | undefined;
  for (const poll of polls) {
    const { exporter, service, value } = poll;
    const need = needed.get(service);
    if (value === undefined || need === undefined) continue;
    const key = `${exporter}/${service}`;
    const isNumber = Number.isSafeInteger(value) && value >= 1 && value <= mostReplicas;
    if (!isNumber || value < need) {
      wrong += 1;
      first ??= said(poll, heard, `${value}, needs ${need}`);
    }
    if (value >= need) below.delete(key);
    else if (!below.has(key)) {
      below.add(key);
      scaleDowns += 1;
    }
  }
  return { wrong, scaleDowns, first };
}

/** Answers after growth was due from an exporter whose numbers together have not risen. */
function missedGrowth(polls: readonly Poll[], heard: Heard): string[] {
  const { growth } = heard;
  if (growth === undefined) return [];
  const latest = new Map<number, Map<string, number>>();
  const grown = new Set<number>();
  const missed: string[] = [];
  for (const poll of polls) {
    const { atMs, exporter, service, value } = poll;
    if (value === undefined || atMs > growth.toMs) continue;
    const known = latest.get(exporter) ?? new Map<string, number>();
    latest.set(exporter, known.set(service, value));
    const sum = [...known.values()].reduce((all, each) => all + each, 0);
    if (sum > growth.above) grown.add(exporter);
    if (atMs >= growth.fromMs && !grown.has(exporter))
      missed.push(said(poll, heard, `${sum} of all, not more than ${growth.above}`));
  }
  return missed;
}

/** Slots of time in which some service was asked for and no exporter had a number for it. */
function missingSlots(polls: readonly Poll[], heard: Heard): string[] {
  const { fromMs, needed, toMs } = heard;
  const missing: string[] = [];
  for (let at = fromMs; at + SLOT_MS <= toMs; at += SLOT_MS) {
    const here = polls.filter(({ atMs }) => atMs >= at && atMs < at + SLOT_MS);
    for (const service of needed.keys()) {
      const asked = here.filter((poll) => poll.service === service);
      const [first] = asked;
      if (first === undefined || asked.some(({ value }) => value !== undefined)) continue;
      const problems = new Map(asked.map(({ exporter, problem = "" }) => [exporter, problem.slice(0, 90)]));
      const all = [...problems].map(([exporter, problem]) => `${exporter} says ${problem}`).join(", ");
      missing.push(said(first, heard, all));
      break;
    }
  }
  return missing;
}

/** The 99th percentile, ms, to a tenth; null without answers. */
function p99Of(latencies: readonly number[]): number | null {
  if (latencies.length === 0) return null;
  const sorted = latencies.toSorted((a, b) => a - b);
  return Math.round(10 * percentile(sorted, 0.99)) / 10;
}
