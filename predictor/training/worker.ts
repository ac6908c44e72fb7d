import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "@tradewind/core/errors.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { trainResidual } from "../models/residual/train-residual.ts";
import { startEngine } from "./backend.ts";
import type { EngineChoice } from "./engines.ts";
import type { Answer, FromWorker, Task, ToWorker } from "./messages.ts";
import { trainEndToEnd } from "./train-end-to-end.ts";
import { trainService } from "./train-service.ts";

/** Runs in a worker thread: one training after another, so that the event loop of the predictor never waits. */
const port = parentPort;
if (port === null) throw new Error("training/worker.ts runs only as a worker thread");

let engine: Promise<void> | undefined;

/** Residuals of services are trained without it. */
async function startOnce(): Promise<void> {
  const started = await startEngine(workerData as EngineChoice);
  port?.postMessage({ started } satisfies FromWorker, []);
}

let last: Promise<void> = Promise.resolve();
port.on("message", ({ id, task }: ToWorker) => {
  last = last.then(async () =>
    port.postMessage({ id, answer: await answerTo(task) } satisfies FromWorker, []),
  );
});

async function answerTo(task: Task): Promise<Answer> {
  const rng = seededRng(task.job.seed);
  try {
    if (task.kind === "residual") return { kind: task.kind, outcome: trainResidual(task.job, rng) };
    await (engine ??= startOnce());
    return task.kind === "profile"
      ? { kind: task.kind, outcome: trainService(task.job, rng) }
      : { kind: task.kind, outcome: trainEndToEnd(task.job, rng) };
  } catch (error) {
    return { kind: task.kind, outcome: { kind: "failed", why: describeError(error) } };
  }
}
