/** Runs the slices it is ordered, one after the other, until a stop; see campaign.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import { TARGETS } from "../targets/list.ts";
import type { Order, Report, WorkerOptions } from "./messages.ts";
import { runSlice } from "./run.ts";
import type { Target } from "./target.ts";

// Most inputs are refused; an error without a stack costs a tenth.
Error.stackTraceLimit = 0;
process.removeAllListeners("warning");

const { current, seed } = workerData as WorkerOptions;
const running = new Float64Array(current);
const opened = new Map<string, Target>();

async function run({ count, from, ms, target: name }: Order): Promise<Report> {
  const target = TARGETS.find((each) => each.name === name);
  if (target === undefined) throw new RangeError(`there is no target ${name}`);
  try {
    if (!opened.has(name)) await target.open?.();
    opened.set(name, target);
  } catch (error) {
    return { target: name, failed: describeError(error) };
  }
  const startedMs = performance.now();
  const onCase = (number: number): void => {
    running[0] = number;
  };
  const result = await runSlice(target, seed, { from, count, endMs: startedMs + ms, onCase });
  return { target: name, seconds: (performance.now() - startedMs) / 1e3, ...result };
}

parentPort?.on("message", (order: Order | "stop") => {
  if (order !== "stop") {
    void run(order).then((report) => parentPort?.postMessage(report, []));
    return;
  }
  const closing = [...opened.values()].map(async (target) => target.close?.());
  void Promise.allSettled(closing).then(() => parentPort?.close());
});
