import { LatencySketch } from "./latency-sketch.ts";
import type { LatencySummary } from "@tradewind/core/contract/window.ts";

/** Traces that begin with no request that users wait for. */
export type AsideClass = "probe" | "stream" | "work";

/** An operation by which traces began that are no requests of users, in the last window. */
export interface SetAside {
  readonly class: AsideClass;
  readonly service: string;
  readonly operation: string;
  readonly perSecond: number;
  /** Absent of a stream, whose length is no latency. */
  readonly latency?: LatencySummary;
}

/** Operations that are told apart. */
const MOST_OPERATIONS = 500;
const MOST_CHARACTERS = 200;

interface Tally {
  readonly class: AsideClass;
  readonly service: string;
  readonly operation: string;
  readonly sketch: LatencySketch;
  count: number;
}

/** Counts what is set aside, so that people can see that it was, and why. */
export class AsideTally {
  private readonly tallies = new Map<string, Tally>();

  /** @param count requests that the span stands for */
  note(as: Pick<SetAside, "class" | "operation" | "service">, durationNs: number, count: number): void {
    const operation = as.operation.slice(0, MOST_CHARACTERS);
    const key = `${as.class} ${as.service} ${operation}`;
    let tally = this.tallies.get(key);
    if (tally === undefined) {
      if (this.tallies.size >= MOST_OPERATIONS) return;
      tally = { ...as, operation, sketch: new LatencySketch(), count: 0 };
      this.tallies.set(key, tally);
    }
    tally.count += count;
    tally.sketch.add(durationNs);
  }

  /** What was counted since the last time, as over so many seconds. */
  take(seconds: number): SetAside[] {
    const taken = [...this.tallies.values()].map(
      ({ class: as, count, operation, service, sketch }): SetAside => {
        const latency = as === "stream" ? undefined : sketch.summary();
        const aside = { class: as, service, operation, perSecond: count / seconds };
        return latency === undefined ? aside : Object.assign(aside, { latency });
      },
    );
    this.tallies.clear();
    return taken;
  }
}
