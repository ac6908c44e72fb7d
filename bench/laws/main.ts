import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { LAWS } from "./laws.ts";
import type { Breach } from "./laws.ts";
import { play } from "./world.ts";

const DEFAULT_SEEDS = 20_000;
const QUICK_SEEDS = 200;
const PROGRESS_MS = 2_000;
const MOST_BREACHES = 20;

/**
 * Worlds in which a scaler is killed, its power cut, its disk full, its clocks set, its machine suspended and its network cut, at any point
 * before or after whatever it does, while a predictor plans, KEDA asks and a person approves. What KEDA is answered is held against a few laws.
 * The scaler's stores, guard, approvals, plan source, state files and elections are the product's own.
 */
export const benchmark: Benchmark = {
  summary: "laws of what KEDA is answered, over random interleavings of --seeds N worlds",
  options: { seeds: { type: "string" } },
  run,
};

async function run({ progress, quick, seed, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const seeds = Number(values["seeds"] ?? (quick ? QUICK_SEEDS : DEFAULT_SEEDS));
  if (!Number.isSafeInteger(seeds) || seeds < 1)
    throw new RangeError("--seeds must be a whole number of 1 or more");
  const kills = new Map<string, number>();
  const breaches: Breach[] = [];
  const startMs = performance.now();
  let [answers, saidMs] = [0, startMs];
  for (let index = 0; index < seeds; index += 1) {
    const result = await play(seed + index, kills);
    answers += result.answers;
    breaches.push(...result.breaches);
    if (performance.now() - saidMs < PROGRESS_MS) continue;
    saidMs = performance.now();
    const leftSeconds = (((saidMs - startMs) / (index + 1)) * (seeds - index - 1)) / 1e3;
    progress(
      `${index + 1} of ${seeds} seeds, ${breaches.length} broken laws, ${leftSeconds.toFixed(0)} s left`,
    );
  }
  const broken = Object.fromEntries(
    Object.keys(LAWS).map((law) => [
      law,
      new Set(breaches.filter((breach) => breach.law === law).map((breach) => breach.seed)).size,
    ]),
  );
  const points = [...kills].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    seeds,
    answers,
    laws: LAWS,
    /** Seeds in which each was broken. */
    broken,
    brokenLaws: breaches.length,
    failpoints: points.length,
    failpointsCovered: points.filter(([, count]) => count > 0).length,
    kills: Object.fromEntries(points),
    /** The first breach of each law in each seed. */
    first: breaches
      .filter(({ law, seed: at }, index) => {
        const one = breaches.findIndex((other) => other.law === law && other.seed === at);
        return one === index;
      })
      .slice(0, MOST_BREACHES),
  };
}
