import { enlarged } from "./span.ts";

/**
 * The calls of one request: how much of the request they cover together, and which of them ran at the same time as
 * another. Times are in any one unit from any one zero.
 */
export class CallSweep {
  length = 0;
  private start = new Float64Array(16);
  private end = new Float64Array(16);
  private order = new Int32Array(16);
  private parallel = new Uint8Array(16);
  private stage = new Int32Array(16);
  /** By number of the stage. */
  private steps = new Int32Array(16);

  clear(): void {
    this.length = 0;
  }

  /** Adds a call and returns its index. */
  push(start: number, end: number): number {
    const index = this.length;
    if (index === this.start.length) this.grow();
    this.start[index] = start;
    this.end[index] = end;
    this.parallel[index] = 0;
    this.length = index + 1;
    return index;
  }

  /**
   * Length of the union of all calls within [from, to]: in [0, to − from]. A call that started after `to` covers
   * nothing: nobody waited for it. Marks the calls that overlapped another one, and numbers the stages from 0: calls that
   * are linked by overlaps are of one stage.
   */
  sweep(from: number, to: number): number {
    this.sort();
    let covered = 0;
    let coveredUntil = from;
    let latestEnd = -Infinity;
    let latestRank = 0;
    let stage = -1;
    let first = 0;
    for (let rank = 0; rank < this.length; rank += 1) {
      const index = this.order[rank] ?? 0;
      const start = this.start[index] ?? 0;
      const end = this.end[index] ?? 0;
      if (start < latestEnd) {
        this.parallel[index] = 1;
        this.parallel[this.order[latestRank] ?? 0] = 1;
      } else {
        if (stage >= 0) this.steps[stage] = this.stepsUpTo(latestRank, first);
        stage += 1;
        first = rank;
      }
      this.stage[index] = stage;
      if (end > latestEnd) {
        latestEnd = end;
        latestRank = rank;
      }
      const begin = Math.max(start, coveredUntil);
      const stop = Math.min(end, to);
      if (stop > begin) {
        covered += stop - begin;
        coveredUntil = stop;
      }
    }
    if (stage >= 0) this.steps[stage] = this.stepsUpTo(latestRank, first);
    return covered;
  }

  /** Calls that followed each other up to the one at this rank: back to the one that ended last before it began, and so on. */
  private stepsUpTo(last: number, first: number): number {
    let steps = 1;
    for (let rank = last; rank > first; steps += 1) {
      const start = this.start[this.order[rank] ?? 0] ?? 0;
      let latestEnd = -Infinity;
      let before = -1;
      for (let earlier = rank - 1; earlier >= first; earlier -= 1) {
        const end = this.end[this.order[earlier] ?? 0] ?? 0;
        if (end > start || end <= latestEnd) continue;
        latestEnd = end;
        before = earlier;
      }
      if (before === -1) break;
      rank = before;
    }
    return steps;
  }

  /** Whether the call overlapped another call; after {@link sweep}. Calls that only touch do not overlap. */
  isParallel(index: number): boolean {
    return this.parallel[index] === 1;
  }

  /** Number of the call's stage; after {@link sweep}. */
  stageOf(index: number): number {
    return this.stage[index] ?? 0;
  }

  /** Calls of a stage that followed each other up to the one that ended last: 1 when that one waited for no other. */
  stepsOf(stage: number): number {
    return this.steps[stage] ?? 1;
  }

  /** Shell sort by start (gaps of Ciura): in place, no callback, fast for the few calls of a usual request. */
  private sort(): void {
    const { length, order, start } = this;
    for (let index = 0; index < length; index += 1) order[index] = index;
    for (const gap of GAPS) {
      for (let rank = gap; rank < length; rank += 1) {
        const index = order[rank] ?? 0;
        const key = start[index] ?? 0;
        let at = rank;
        while (at >= gap && (start[order[at - gap] ?? 0] ?? 0) > key) {
          order[at] = order[at - gap] ?? 0;
          at -= gap;
        }
        order[at] = index;
      }
    }
  }

  private grow(): void {
    const capacity = 2 * this.start.length;
    this.start = enlarged(this.start, new Float64Array(capacity));
    this.end = enlarged(this.end, new Float64Array(capacity));
    this.order = new Int32Array(capacity);
    this.parallel = enlarged(this.parallel, new Uint8Array(capacity));
    this.stage = new Int32Array(capacity);
    this.steps = new Int32Array(capacity);
  }
}

const GAPS = [1750, 701, 301, 132, 57, 23, 10, 4, 1];
