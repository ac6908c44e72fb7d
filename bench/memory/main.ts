import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { floors, trendOf } from "../trend.ts";
import type { Sample } from "../trend.ts";
import { Stack, WINDOW_MS } from "./stack.ts";
import { Traffic } from "./traffic.ts";

const SERVICES = 2;
/** Twelve and a half hours. */
const WINDOWS = 3_000;
const QUICK_WINDOWS = 150;
const START_MS = 1_750_000_005_000;
const PROGRESS_MS = 15_000;

/** Lets windows pass one after the other; a training is waited for, as it takes less than a window in life. */
async function run({ seed, quick, progress }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const windows = quick ? QUICK_WINDOWS : WINDOWS;
  const traffic = new Traffic(SERVICES, seededRng(seed));
  const stack = new Stack(START_MS);
  const resident: Sample[] = [];
  const beganMs = performance.now();
  let saidMs = beganMs;
  try {
    for (let number = 0; number < windows; number += 1) {
      await stack.close(traffic.window(number, START_MS + number * WINDOW_MS));
      resident.push({ atSeconds: (number * WINDOW_MS) / 1e3, value: process.memoryUsage.rss() });
      const nowMs = performance.now();
      if (nowMs - saidMs < PROGRESS_MS) continue;
      saidMs = nowMs;
      const leftMinutes = (((nowMs - beganMs) / (number + 1)) * (windows - number - 1)) / 60e3;
      progress(`memory: window ${number + 1} of ${windows}, about ${leftMinutes.toFixed(0)} min left`);
    }
    return {
      windows,
      services: SERVICES,
      trainings: await stack.trainings(),
      rssBytes: trendOf(resident),
      floorBytes: floors(resident).map(({ value }) => value),
    };
  } finally {
    await stack.stop();
  }
}

export const benchmark: Benchmark = {
  summary: "resident set of a predictor that learns, over 12.5 hours of windows on a clock of its own",
  run,
};
