/**
 * `npm run -s bench -- constants --json`: what each constant of the decision and its models is worth. Every one is halved and doubled.
 * Recorded windows are decided on again with it; with `--loop` the plants are run again. All figures are simulated.
 */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { ACTUATORS } from "@tradewind/simulator/contenders/contender.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { declaredNumbers } from "./declared.ts";
import type { Change, Declared } from "./declared.ts";
import { looped } from "./loop.ts";
import type { LoopJob, LoopResult } from "./loop.ts";
import type { Asked } from "./replay.ts";
import type { Done, Task } from "./worker.ts";

const PLANTS =
  "steady,wave,flash-crowd,warm-up,retry-storm,full-cluster,slow-endpoint,sidecar,tight-110,node-loss";
const FACTORS = [0.5, 2];

const OPTIONS = {
  plants: { type: "string", default: PLANTS },
  seeds: { type: "string", default: "1" },
  "first-seed": { type: "string", default: "20000" },
  actuators: { type: "string", default: "replicas+cpu+memory" },
  names: { type: "string" },
  workers: { type: "string", default: "2" },
  loop: { type: "boolean", default: false },
} as const;

interface Choice {
  readonly jobs: readonly LoopJob[];
  readonly numbers: readonly Declared[];
  readonly workers: number;
  readonly isLoop: boolean;
}

function choiceOf({ quick, values }: BenchmarkOptions): Choice {
  const text = (name: keyof typeof OPTIONS): string => String(values[name] ?? "");
  const actuators = ACTUATORS.find((each) => each === text("actuators"));
  if (actuators === undefined) throw new Error(`--actuators takes one of ${ACTUATORS.join(", ")}`);
  const plants = quick ? ["steady"] : text("plants").split(",");
  const seeds = Array.from({ length: Number(text("seeds")) }, (_, at) => Number(text("first-seed")) + at);
  const names = values["names"] === undefined ? undefined : new Set(text("names").split(","));
  const all = declaredNumbers();
  const chosen = names === undefined ? all : all.filter(({ name }) => names.has(name));
  return {
    jobs: seeds.flatMap((seed) => plants.map((plant): LoopJob => ({ plant, seed, actuators }))),
    numbers: quick ? chosen.slice(0, 2) : chosen,
    workers: Number(text("workers")),
    isLoop: values["loop"] === true,
  };
}

/** Runs the plants as shipped; each run's inputs become a line of the file. */
async function record(jobs: readonly LoopJob[], path: string): Promise<LoopResult[]> {
  writeFileSync(path, "");
  const results: LoopResult[] = [];
  for (const job of jobs) {
    const inputs: PolicyInputs[] = [];
    results.push(
      await looped(job, (each) => inputs.push({ ...each, state: { ...each.state, cost: undefined } })),
    );
    appendFileSync(path, `${JSON.stringify(inputs)}\n`);
  }
  return results;
}

function inWorker(task: Task): Promise<Done> {
  const { promise, reject, resolve } = Promise.withResolvers<Done>();
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: task });
  worker.once("message", resolve);
  worker.once("error", reject);
  return promise.finally(() => void worker.terminate());
}

/** Shares of decisions that ask for something else, and ln of the cores asked for over those asked for before, on average. */
interface Difference {
  readonly changedRatio: number;
  readonly coresRatio: number;
}

function differenceOf(asked: readonly Asked[][][], before: readonly Asked[][][]): Difference {
  const cores = (services: readonly Asked[]): number =>
    services.reduce((sum, { cpuCores, replicas }) => sum + replicas * Math.max(cpuCores, 0.01), 0);
  const pairs = asked.flatMap((run, at) => run.map((each, of) => [each, before[at]?.[of] ?? []] as const));
  const changed = pairs.filter(([a, b]) => JSON.stringify(a) !== JSON.stringify(b)).length;
  const ratio = pairs.reduce((sum, [a, b]) => sum + Math.log(cores(a) / cores(b)), 0) / pairs.length;
  return { changedRatio: changed / pairs.length, coresRatio: Math.exp(ratio) };
}

/** Mean over the runs of cost over that as shipped plus requests over the objective over the 5 % allowed, less the same as shipped. */
const figureOf = (loops: readonly LoopResult[], before: readonly LoopResult[]): number =>
  loops.reduce((sum, { costPerHour, requestsOver }, at) => {
    const { costPerHour: cost = 1, requestsOver: over = 0 } = before[at] ?? {};
    return sum + costPerHour / cost - 1 + (requestsOver - over) / 0.05;
  }, 0) / loops.length;

async function run(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  const { isLoop, jobs, numbers, workers } = choiceOf(options);
  const folder = mkdtempSync(join(tmpdir(), "tradewind-constants-"));
  try {
    const recordedPath = join(folder, "recorded.jsonl");
    options.progress(`constants: recording ${jobs.length} runs`);
    const shipped = await record(jobs, recordedPath);
    const loops = isLoop ? jobs : [];
    const { asked: before } = await inWorker({ change: undefined, recordedPath, loops: [] });
    const changes = numbers.flatMap(({ file, name, path }) =>
      FACTORS.map((factor): Change => ({ file, name, path, factor })),
    );
    const rows: Record<string, unknown>[] = [];
    let next = 0;
    const startedMs = performance.now();
    const work = async (): Promise<void> => {
      while (next < changes.length) {
        const at = next;
        next += 1;
        const change = changes[at] as Change;
        const done = await inWorker({ change, recordedPath, loops });
        rows[at] =
          done.problem === undefined
            ? {
                ...change,
                ...differenceOf(done.asked, before),
                ...(isLoop && { figure: figureOf(done.loops, shipped), loops: done.loops }),
              }
            : { ...change, problem: done.problem };
        const minutes = ((performance.now() - startedMs) / 6e4) * (changes.length / next - 1);
        if (next % 10 === 0)
          options.progress(`constants: ${next} of ${changes.length}, ${minutes.toFixed(1)} min left`);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    const decisions = before.reduce((sum, each) => sum + each.length, 0);
    return { simulated: true, decisions, shipped, constants: rows };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const benchmark: Benchmark = {
  summary: "what halving and doubling each constant of the decision changes, over simulated plants",
  options: OPTIONS,
  run,
};
