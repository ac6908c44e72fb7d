import { IntervalAccumulator } from "./accumulator.ts";

/** Intervals that were not built yet, by their number since the epoch of the builder. */
export class PendingIntervals {
  readonly measured = new Map<number, IntervalAccumulator>();
  /** Requests by which traces began, by number of the service. */
  readonly began = new Map<number, Map<number, number>>();
  private readonly windowNs: number;
  /** Intervals before this number were built. */
  private builtBefore = -Infinity;

  constructor(windowNs: number) {
    this.windowNs = windowNs;
  }

  /** The interval that holds a time; undefined when it was built already. */
  at(ns: number): IntervalAccumulator | undefined {
    const number = Math.floor(ns / this.windowNs);
    return number < this.builtBefore ? undefined : this.interval(number);
  }

  /** The interval that holds a time, or the oldest one that was not built yet. */
  next(ns: number): IntervalAccumulator {
    return this.interval(Math.max(Math.floor(ns / this.windowNs), this.builtBefore));
  }

  /** A trace begins with a request of this service; `weight` as sampled. Not counted where its interval was built. */
  traceBegan(startNs: number, service: number, weight: number): void {
    const number = Math.floor(startNs / this.windowNs);
    if (number >= this.builtBefore) this.countBegan(number, service, weight);
  }

  /** The same of a trace that is known only once it is answered: where the answer counts late, so does the beginning, see {@link next}. */
  answeredTraceBegan(startNs: number, service: number, weight: number): void {
    this.countBegan(Math.max(Math.floor(startNs / this.windowNs), this.builtBefore), service, weight);
  }

  built(number: number): void {
    this.builtBefore = Math.max(this.builtBefore, number + 1);
  }

  /** Lets go of intervals that were built, and of those before `oldest`, that nobody will ask for any more. */
  forget(oldest: number): void {
    for (const intervals of [this.measured, this.began]) {
      for (const number of intervals.keys()) {
        if (number < this.builtBefore || number < oldest) intervals.delete(number);
      }
    }
  }

  clear(): void {
    this.measured.clear();
    this.began.clear();
    this.builtBefore = -Infinity;
  }

  private countBegan(number: number, service: number, weight: number): void {
    const began = this.began.get(number) ?? new Map<number, number>();
    this.began.set(number, began.set(service, (began.get(service) ?? 0) + weight));
  }

  private interval(number: number): IntervalAccumulator {
    let interval = this.measured.get(number);
    if (interval === undefined) {
      interval = new IntervalAccumulator();
      this.measured.set(number, interval);
    }
    return interval;
  }
}
