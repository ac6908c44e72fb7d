import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Order, Report, WorkerOptions } from "./messages.ts";
import type { Finding } from "./target.ts";

const WATCH_MS = 1_000;
/** A case that has not ended by then is held for one that never will. */
const STUCK_MS = 30_000;
const HEAP_MB = 1_024;

/** One worker thread, watched: one that is stuck or runs out of memory is ended, and its case is the finding. */
export class Crew {
  /** Set once the thread is gone; it takes no further orders. */
  isLost = false;
  private readonly current = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  private readonly worker: Worker;
  private readonly seed: number;

  constructor(seed: number) {
    this.seed = seed;
    const workerData: WorkerOptions = { seed, current: this.current };
    this.worker = new Worker(new URL("fuzz-worker.ts", import.meta.url), {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
  }

  async run(order: Order): Promise<Report> {
    const startedMs = performance.now();
    const running = new Float64Array(this.current);
    running[0] = order.from;
    const ended = Promise.withResolvers<Report>();
    const lose = (kind: string, message: string): void => {
      this.isLost = true;
      const number = running[0] ?? order.from;
      const finding = lostWith(order.target, this.seed, number, { kind, message });
      const seconds = (performance.now() - startedMs) / 1e3;
      ended.resolve({ target: order.target, seconds, ran: number - order.from + 1, finding });
    };
    const onError = (error: unknown): void => lose("worker", describeError(error));
    this.worker.once("message", ended.resolve).once("error", onError);
    const watch = watchFor(running, () => lose("stall", `has not ended after ${STUCK_MS / 1e3} s`));
    this.worker.postMessage(order, []);
    const report = await ended.promise;
    clearInterval(watch);
    this.worker.off("message", ended.resolve).off("error", onError);
    if (this.isLost) await this.worker.terminate();
    return report;
  }

  async stop(): Promise<void> {
    if (this.isLost) return;
    const ended = once(this.worker, "exit");
    this.worker.postMessage("stop", []);
    await ended;
  }
}

/** Calls back when the same case is still running after {@link STUCK_MS}. */
function watchFor(running: Float64Array, onStuck: () => void): NodeJS.Timeout {
  let last = Number.NaN;
  let sinceMs = performance.now();
  return setInterval(() => {
    const nowMs = performance.now();
    if (running[0] !== last) {
      last = running[0] ?? Number.NaN;
      sinceMs = nowMs;
    } else if (nowMs - sinceMs > STUCK_MS) {
      onStuck();
    }
  }, WATCH_MS);
}

function lostWith(
  target: string,
  seed: number,
  number: number,
  what: Pick<Finding, "kind" | "message">,
): Finding {
  return {
    target,
    seed,
    case: number,
    cases: 1,
    ...what,
    input: "(see the case)",
    inputBytes: 0,
    drawnBytes: 0,
  };
}
