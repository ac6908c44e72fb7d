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
    let latest = 0;
    let stage = -1;
    let earliestEnd = -Infinity;
    for (let rank = 0; rank < this.length; rank += 1) {
      const index = this.order[rank] ?? 0;
      const start = this.start[index] ?? 0;
      const end = this.end[index] ?? 0;
      if (start < latestEnd) {
        this.parallel[index] = 1;
        this.parallel[latest] = 1;
      } else {
        stage += 1;
        this.steps[stage] = 0;
        earliestEnd = start;
      }
      this.stage[index] = stage;
      if (start >= earliestEnd) {
        this.steps[stage] = (this.steps[stage] ?? 0) + 1;
        earliestEnd = end;
      } else if (end < earliestEnd) {
        earliestEnd = end;
      }
      if (end > latestEnd) {
        latestEnd = end;
        latest = index;
      }
      const begin = Math.max(start, coveredUntil);
      const stop = Math.min(end, to);
      if (stop > begin) {
        covered += stop - begin;
        coveredUntil = stop;
      }
    }
    return covered;
  }

  /** Whether the call overlapped another call; after {@link sweep}. Calls that only touch do not overlap. */
  isParallel(index: number): boolean {
    return this.parallel[index] === 1;
  }

  /** Number of the call's stage; after {@link sweep}. */
  stageOf(index: number): number {
    return this.stage[index] ?? 0;
  }

  /** The longest run of calls of a stage that followed each other: 1 when all of them overlapped. */
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
