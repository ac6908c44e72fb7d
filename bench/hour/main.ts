/** `npm run -s bench -- hour --json`: an hour of the local platform with real processes, and which level decided each of its windows. */
import { mean } from "@tradewind/core/values/statistics.ts";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { Course } from "@tradewind/core/contract/measured.ts";
import type { CoursePoint } from "@tradewind/core/contract/measured.ts";
import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { z } from "zod";
import { shippedTrace } from "@tradewind/local/load/trace.ts";
import { localPlatform } from "../local-platform.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";

const MINUTES = 60;
const QUICK_MINUTES = 2;
/** The load of `npm start`, again and again. */
const PERIOD_MINUTES = 2.5;
const LOOK_MS = 10_000;
const Addresses = z.object({ predictor: z.url() });
/** `tradewind_predictor_NAME{labels} value`; labels are not told apart. */
const SAMPLE = /^tradewind_predictor_(\w+)(?:\{([^}]*)\})? ([\d.e+-]+)$/gmu;

/** What the predictor says of itself. */
interface Look {
  readonly points: readonly CoursePoint[];
  /** Sums over the labels named behind the metric. */
  readonly metric: (name: string, label?: string) => readonly number[];
}

async function look(addresses: string, sinceMs: number): Promise<Look> {
  const { predictor } = parseJsonWith(Addresses, readFileSync(addresses, "utf8"), addresses);
  const signal = AbortSignal.timeout(5_000);
  const [course, metrics] = await Promise.all(
    [`/v1/course?since=${sinceMs}`, "/metrics"].map(async (path) =>
      (await fetch(predictor + path, { signal })).text(),
    ),
  );
  const samples = [...(metrics ?? "").matchAll(SAMPLE)];
  return {
    points: parseJsonWith(Course, course ?? "", "the predictor's course").points,
    metric: (name, label = "") =>
      samples
        .filter(([, each, labels = ""]) => each === name && labels.includes(label))
        .map(([, , , value]) => Number(value)),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Looks at the predictor until `ended`; a look that fails is made up for by the next. */
async function follow(addresses: string, ended: AbortSignal, progress: (text: string) => void) {
  const points = new Map<number, CoursePoint>();
  const weights: number[] = [];
  let last: Look | undefined;
  while (!ended.aborted) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LOOK_MS);
      ended.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
    const seen = existsSync(addresses)
      ? await look(addresses, [...points.keys()].at(-1) ?? 0).catch(() => undefined)
      : undefined;
    if (seen === undefined) continue;
    last = seen;
    for (const point of seen.points) points.set(point.atMs, point);
    const weightsNow = seen.metric("profile_weight_ratio");
    if (weightsNow.length > 0) weights.push(mean(weightsNow));
    const { policy } = seen.points.at(-1) ?? {};
    if (points.size % 60 < 2) progress(`${points.size} windows, ${policy ?? "no level yet"}`);
  }
  return { points: [...points.values()], weights, last };
}

async function run({ progress, quick, seed, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const minutes = quick ? QUICK_MINUTES : Number(values["minutes"] ?? MINUTES);
  const scratch = mkdtempSync(join(tmpdir(), "tradewind-hour-"));
  try {
    const inScratch = (name: string): string => join(scratch, name);
    const [load, report, state] = [inScratch("load.txt"), inScratch("run.json"), inScratch("state")];
    const periods = Math.max(1, Math.round(minutes / PERIOD_MINUTES));
    writeFileSync(
      load,
      Array.from({ length: periods }, () => shippedTrace("surge.txt").join("\n")).join("\n"),
    );
    progress(`hour: ${minutes} min`);
    const flags = { "--for": `${60 * minutes}s`, "--load": load, "--state": state, "--seed": seed };
    const ended = new AbortController();
    const running = localPlatform(report, flags).finally(() => ended.abort());
    const [outcome, followed] = await Promise.all([
      running,
      follow(join(state, "addresses.json"), ended.signal, progress),
    ]);
    return { minutes, ...figuresOf(followed, outcome) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function figuresOf(
  { last, points, weights }: Awaited<ReturnType<typeof follow>>,
  { phases, totals }: RunReport,
): Record<string, unknown> {
  const requests = sum(phases.map((phase) => phase.requests));
  const levels = Object.entries(Object.groupBy(points, ({ policy }) => policy));
  const errors = (last?.metric("profile_error_ratio") ?? []).toSorted((a, b) => a - b);
  return {
    windows: points.length,
    levels: Object.fromEntries(levels.map(([policy, some = []]) => [policy, some.length / points.length])),
    /** How much of the services' residuals is used, in the mean over the run and at its end. */
    residualWeight: { mean: mean(weights), last: weights.at(-1) },
    trainings: sum(last?.metric("trainings_total", 'result="trained"') ?? []),
    profileErrorRatioMedian: errors[Math.floor(errors.length / 2)],
    requests,
    overPercent:
      (100 * sum(phases.map(({ requests: some, violationRatio }) => some * (violationRatio ?? 0)))) /
      requests,
    windowsOver: points.filter(
      ({ latencySeconds = 0, objectiveSeconds }) => latencySeconds > objectiveSeconds,
    ).length,
    costPerHour: totals?.costPerHour,
  };
}

export const benchmark: Benchmark = {
  summary:
    "an hour of the local platform, and which level of the ladder decided each window (60 min, or --minutes)",
  options: { minutes: { type: "string" } },
  run,
};
