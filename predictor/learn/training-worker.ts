import { parentPort } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { trainResidual } from "../models/residual/train-residual.ts";
import type { FromWorker, ToWorker } from "./training-thread.ts";

/** Runs in a worker thread: one training after another, so that the event loop of the predictor never waits. */
const port = parentPort;
if (port === null) throw new Error("learning/training-worker.ts runs only as a worker thread");

function outcomeOf(job: ToWorker["job"]): FromWorker["outcome"] {
  try {
    return trainResidual(job, seededRng(job.seed));
  } catch (error) {
    return { kind: "failed", why: describeError(error) };
  }
}

port.on("message", ({ id, job }: ToWorker) =>
  port.postMessage({ id, outcome: outcomeOf(job) } satisfies FromWorker, []),
);
