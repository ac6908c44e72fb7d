import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "@tradewind/core/errors.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { startEngine } from "./backend.ts";
import type { EngineChoice } from "./engines.ts";
import type { Answer, FromWorker, Task, ToWorker } from "./messages.ts";
import { trainEndToEnd } from "./train-end-to-end.ts";
import { trainService } from "./train-service.ts";

/** Runs in a worker thread: one training after another, so that the event loop of the predictor never waits. */
const port = parentPort;
if (port === null) throw new Error("training/worker.ts runs only as a worker thread");

const started = await startEngine(workerData as EngineChoice);
port.postMessage({ started } satisfies FromWorker, []);

port.on("message", ({ id, task }: ToWorker) => {
  port.postMessage({ id, answer: answerTo(task) } satisfies FromWorker, []);
});

function answerTo(task: Task): Answer {
  const rng = seededRng(task.job.seed);
  try {
    return task.kind === "profile"
      ? { kind: task.kind, outcome: trainService(task.job, rng) }
      : { kind: task.kind, outcome: trainEndToEnd(task.job, rng) };
  } catch (error) {
    return { kind: task.kind, outcome: { kind: "failed", why: describeError(error) } };
  }
}
