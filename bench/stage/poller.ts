import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Poll, PollerOptions } from "./poll.ts";

/** The independent KEDA client: it knows the contract and nothing of Tradewind's code. */
export class Poller {
  private readonly worker: Worker;
  private polls: Poll[] = [];

  constructor(options: PollerOptions) {
    this.worker = new Worker(new URL("poller-worker.ts", import.meta.url), { workerData: options });
    this.worker.on("message", (polls: Poll[]) => {
      for (const poll of polls) this.polls.push(poll);
    });
  }

  /** Polls from `fromMs` on; older ones are forgotten. */
  since(fromMs: number): readonly Poll[] {
    this.polls = this.polls.filter(({ atMs }) => atMs >= fromMs);
    return this.polls;
  }

  /** The newest value of each exporter and service, of polls not older than `maxAgeMs`. */
  latest(nowMs: number, maxAgeMs: number): ReadonlyMap<string, number | undefined> {
    const newest = new Map<string, number | undefined>();
    for (const { atMs, exporter, service, value } of this.polls) {
      if (atMs >= nowMs - maxAgeMs) newest.set(`${exporter}/${service}`, value);
    }
    return newest;
  }

  async stop(): Promise<void> {
    const ended = once(this.worker, "exit");
    this.worker.postMessage("stop", []);
    await ended;
  }
}
