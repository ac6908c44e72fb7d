import { parentPort } from "node:worker_threads";
import { describeError } from "@tradewind/core/errors.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { startBackend } from "./backend.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { trainService } from "./train-service.ts";

/** Runs in a worker thread: trains one service after another, so that the event loop of the predictor never waits. */
const port = parentPort;
if (port === null) throw new Error("training/worker.ts runs only as a worker thread");

const backend = await startBackend();
const answer = (message: FromWorker): void => port.postMessage(message, []);

port.on("message", ({ id, job }: ToWorker) => {
  try {
    answer({ id, outcome: trainService(job, seededRng(job.seed)), backend });
  } catch (error) {
    answer({ id, outcome: { kind: "failed", why: describeError(error) }, backend });
  }
});
