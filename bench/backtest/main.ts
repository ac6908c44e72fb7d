/**
 * `npm run -s bench -- backtest --json`: a week that is simulated under an HPA, stored as a predictor stores it, and given to
 * the code of `tradewind backtest`. Since the week is simulated, every replay can be compared with what the same policy does in
 * the simulator on the same week: how far a backtest can be believed.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { backtest } from "@tradewind/simulator/backtest/backtest.ts";
import type { BacktestReport } from "@tradewind/simulator/backtest/backtest.ts";
import { BACKTEST_CONTENDERS } from "@tradewind/simulator/backtest/contenders.ts";
import { readStored } from "@tradewind/simulator/command/read-recording.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { recorded } from "@tradewind/simulator/contenders/recorded.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import type { Obstacle, RunResult } from "@tradewind/simulator/contenders/run.ts";
import { diurnalWeek } from "@tradewind/simulator/course/obstacles/diurnal-week.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { stringify } from "yaml";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";

/** A day takes a quarter of an hour: 60 windows, and pods that start in a fifteenth of it. */
const DAY_SECONDS = 900;
const QUICK_DAY_SECONDS = 120;
const FIT_RATIO = 0.5;
const ACTUATORS = "replicas+cpu+memory";
const FIRST_SEED = 30_000;

/** Where to leave the store and the application's file; default: nowhere. */
const OPTIONS = { state: { type: "string" } } as const;

/** Stores windows as a predictor does, with the application beside them. */
async function store(
  state: string,
  sets: readonly WindowSet[],
  { application }: Obstacle["plant"],
): Promise<void> {
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "application.yaml"), stringify(application));
  const log = createLog("bench", "warn");
  await using stack = new AsyncDisposableStack();
  const history = new SqliteStore({ path: join(state, HISTORY_FILE), log });
  stack.defer(() => history.close());
  for (const set of sets) history.append(set);
}

const figures = ({ costPerHour, requestsOver }: Pick<RunResult, "costPerHour" | "requestsOver">) => ({
  costPerHour,
  requestsOver,
});

const without = (all: object, key: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name !== key));

/** Each policy on the part of the week that was replayed, in the simulator, beside its replay. */
async function judge(
  report: BacktestReport,
  obstacle: Obstacle,
  seed: number,
  progress: BenchmarkOptions["progress"],
): Promise<Record<string, unknown>[]> {
  const warmUpSeconds = (report.fitUntilMs - obstacle.plant.startMs) / 1e3;
  const later = { ...obstacle, plant: { ...obstacle.plant, warmUpSeconds } };
  const judged: Record<string, unknown>[] = [];
  for (const [at, { policy, result }] of report.policies.entries()) {
    progress(`simulating ${policy}, ${at + 1} of ${report.policies.length}`);
    const contender = BACKTEST_CONTENDERS.find(({ name }) => name === policy);
    if (contender === undefined) continue;
    const simulated = await run({ obstacle: later, contender, actuators: ACTUATORS, seed });
    judged.push({ policy, replayed: figures(result), simulated: figures(simulated) });
  }
  return judged;
}

async function measure({
  progress,
  quick,
  seed,
  values,
}: BenchmarkOptions): Promise<Record<string, unknown>> {
  const daySeconds = quick ? QUICK_DAY_SECONDS : DAY_SECONDS;
  const weekSeed = FIRST_SEED + seed;
  const obstacle = obstacleOf(diurnalWeek(daySeconds));
  const sets: WindowSet[] = [];
  progress("simulating the week");
  await run({ obstacle, contender: recorded(HPA_CPU, sets), actuators: ACTUATORS, seed: weekSeed });
  const given = typeof values["state"] === "string" ? values["state"] : undefined;
  const state = given ?? mkdtempSync(join(tmpdir(), "tradewind-week-"));
  try {
    await store(state, sets, obstacle.plant);
    const report = await backtest({
      application: obstacle.plant.application,
      sets: readStored(state, { fromMs: 0, toMs: Date.now() }),
      fitRatio: FIT_RATIO,
      contenders: BACKTEST_CONTENDERS,
      podStartSeconds: obstacle.plant.podStartSeconds,
      seed: weekSeed,
      onProgress: (what, done) => progress(`${what}, ${Math.round(100 * done)} %`),
    });
    return {
      simulated: true,
      daySeconds,
      windows: sets.length,
      services: report.services,
      routes: report.routes.map((route) => without(route, "series")),
      recorded: report.recorded,
      policies: await judge(report, obstacle, weekSeed, progress),
      ...(given !== undefined && { state }),
    };
  } finally {
    if (given === undefined) rmSync(state, { recursive: true, force: true });
  }
}

export const benchmark: Benchmark = {
  summary:
    "a backtest of a simulated week: its errors, and its replays beside simulations of the same policies",
  options: OPTIONS,
  run: measure,
};
