import type { Rng } from "@tradewind/core/values/rng.ts";
import { below, oneIn, pick } from "../../test/fuzz/engine/draw.ts";

/** One place that takes what strangers write. */
export interface Target<Attempt> {
  readonly name: string;
  /** Of the time of all: what has more to be changed takes more. */
  readonly shares: number;
  /** As it should be. */
  readonly sample: Attempt;
  /** Tried before anything is drawn. */
  readonly enlarged: () => Iterable<Attempt>;
  change(rng: Rng, attempt: Attempt): Attempt;
  /** @returns what it cost, or undefined for an attempt that cannot be sent or is too large */
  cost(attempt: Attempt): Promise<Cost | undefined>;
}

export interface Cost {
  readonly cpuSeconds: number;
  /** Of the request or the object, as it is sent. */
  readonly bytes: number;
  /** Of what was sent, for a person. */
  readonly about: string;
}

export interface Worst {
  readonly name: string;
  readonly bytes: number;
  readonly worstCpuSeconds: number;
  readonly about: string;
  readonly attempts: number;
  /** Sends it once more; no part of what is printed. */
  readonly again: () => Promise<unknown>;
}

const PARENTS = 6;
/** Collections of garbage and windows that close are of no request: the least of these measurements counts. */
const MEASUREMENTS = 3;
/** Else the shortest requests would win by what every request costs. */
const FREE_BYTES = 1_024;

const scoreOf = ({ bytes, cpuSeconds }: Cost): number => cpuSeconds / (bytes + FREE_BYTES);

/** Searches for the attempt that costs the most CPU per byte, until the time is up. Which attempts are made depends on `rng` and on costs. */
export async function climb<Attempt>(target: Target<Attempt>, rng: Rng, endMs: number): Promise<Worst> {
  const parents: { attempt: Attempt; score: number }[] = [];
  let worst: Cost = { cpuSeconds: 0, bytes: 0, about: "nothing could be sent" };
  let worstAttempt = target.sample;
  let attempts = 0;
  const look = async (attempt: Attempt): Promise<void> => {
    const first = await target.cost(attempt);
    attempts += 1;
    if (first === undefined) return;
    const least = parents.at(-1)?.score ?? 0;
    if (parents.length === PARENTS && scoreOf(first) <= least && first.cpuSeconds <= worst.cpuSeconds) return;
    let cost = first;
    for (let again = 1; again < MEASUREMENTS; again += 1) {
      const next = await target.cost(attempt);
      if (next !== undefined && next.cpuSeconds < cost.cpuSeconds) cost = next;
    }
    if (cost.cpuSeconds >= worst.cpuSeconds) {
      worst = cost;
      worstAttempt = attempt;
    }
    parents.push({ attempt, score: scoreOf(cost) });
    parents.sort((a, b) => b.score - a.score);
    parents.splice(PARENTS);
  };
  await look(target.sample);
  for (const attempt of target.enlarged()) {
    if (performance.now() >= endMs) break;
    await look(attempt);
  }
  while (performance.now() < endMs) {
    let attempt = parents.length === 0 || oneIn(rng, 5) ? target.sample : pick(rng, parents).attempt;
    for (let left = 1 + below(rng, 3); left > 0; left -= 1) attempt = target.change(rng, attempt);
    await look(attempt);
  }
  const { about, bytes, cpuSeconds } = worst;
  return {
    name: target.name,
    bytes,
    worstCpuSeconds: Math.round(cpuSeconds * 1e4) / 1e4,
    about,
    attempts,
    again: async () => target.cost(worstAttempt),
  };
}
