import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Actuators, Parameters } from "@tradewind/simulator/contenders/contender.ts";
import type { Run } from "./report.ts";

/** One run to be made; plain data that crosses to a worker thread. */
export interface Job {
  readonly plant: string;
  readonly policy: string;
  readonly actuators: Actuators;
  readonly parameters: Parameters;
  readonly seed: number;
  /** Whether the run is to have {@link Run.details}. */
  readonly isDetailed?: boolean;
}

export type FromWorker =
  { readonly run: Run; readonly problem?: never } | { readonly problem: string; readonly run?: never };

export interface JobOptions {
  readonly workers?: number;
  readonly progress: (text: string) => void;
  /** What the jobs are for, for the progress. */
  readonly what: string;
}

const PROGRESS_MS = 10_000;

function describe(done: number, all: number, sinceMs: number, nowMs: number): string {
  const seconds = (nowMs - sinceMs) / 1e3;
  const left = done === 0 ? Infinity : (seconds / done) * (all - done);
  const minutes = Number.isFinite(left) ? `${(left / 60).toFixed(1)} min left` : "no estimate yet";
  return `${done} of ${all} runs in ${(seconds / 60).toFixed(1)} min, ${minutes}`;
}

/**
 * Makes all runs, each on one of the worker threads, and gives them back in the order of the jobs.
 * @throws Error with the first problem of a run
 */
export async function runJobs(jobs: readonly Job[], options: JobOptions): Promise<Run[]> {
  const { progress, what, workers = availableParallelism() } = options;
  const runs: (Run | undefined)[] = jobs.map(() => undefined);
  const startedMs = performance.now();
  let next = 0;
  let done = 0;
  let saidMs = startedMs;
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL("./course-worker.ts", import.meta.url));
    try {
      while (next < jobs.length) {
        const at = next;
        next += 1;
        runs[at] = await ask(worker, jobs[at] as Job);
        done += 1;
        const nowMs = performance.now();
        if (nowMs - saidMs < PROGRESS_MS) continue;
        saidMs = nowMs;
        progress(`${what}: ${describe(done, jobs.length, startedMs, nowMs)}`);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, jobs.length) }, work));
  progress(`${what}: ${describe(done, jobs.length, startedMs, performance.now())}`);
  return runs.filter((run) => run !== undefined);
}

function ask(worker: Worker, job: Job): Promise<Run> {
  const { promise, reject, resolve } = Promise.withResolvers<Run>();
  const fail = (error: unknown): void => reject(error instanceof Error ? error : new Error(String(error)));
  worker.once("error", fail);
  worker.once("message", ({ problem, run }: FromWorker) => {
    worker.off("error", fail);
    if (run !== undefined) resolve(run);
    else fail(new Error(`${job.policy} on ${job.plant}, seed ${job.seed}: ${problem}`));
  });
  worker.postMessage(job, []);
  return promise;
}
