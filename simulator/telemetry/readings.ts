/** Counters of one container, read now and then, as an agent on the node reads them. */
export interface Reading {
  /** ms from the start of the run. */
  readonly atMs: number;
  readonly usedMs: number;
  readonly periods: number;
  readonly throttledPeriods: number;
}

/** What a container did over an interval. */
export interface Use {
  readonly cores: number;
  /** Absent when the container had no period with something to run. */
  readonly throttledRatio?: number;
}

const CAPACITY = 64;
const COLUMNS = 4;
/** Share of an interval that readings must cover for their rate to stand for it, as in the predictor. */
const COVERAGE = 0.5;

/** The last readings of one container. */
export class Readings {
  private readonly values = new Float64Array(CAPACITY * COLUMNS);
  private count = 0;

  add({ atMs, periods, throttledPeriods, usedMs }: Reading): void {
    this.values.set([atMs, usedMs, periods, throttledPeriods], (this.count % CAPACITY) * COLUMNS);
    this.count += 1;
  }

  /** Undefined when too little of the interval lies between readings. */
  over(startMs: number, endMs: number): Use | undefined {
    const from = this.first(startMs);
    const to = this.last(endMs);
    if (from === undefined || to === undefined || to.atMs - from.atMs < COVERAGE * (endMs - startMs)) {
      return undefined;
    }
    const cores = (to.usedMs - from.usedMs) / (to.atMs - from.atMs);
    const periods = to.periods - from.periods;
    if (periods <= 0) return { cores };
    return { cores, throttledRatio: Math.min(1, (to.throttledPeriods - from.throttledPeriods) / periods) };
  }

  private first(startMs: number): Reading | undefined {
    for (let index = Math.max(0, this.count - CAPACITY); index < this.count; index += 1) {
      const reading = this.at(index);
      if (reading.atMs >= startMs) return reading;
    }
    return undefined;
  }

  private last(endMs: number): Reading | undefined {
    for (let index = this.count - 1; index >= Math.max(0, this.count - CAPACITY); index -= 1) {
      const reading = this.at(index);
      if (reading.atMs <= endMs) return reading;
    }
    return undefined;
  }

  private at(index: number): Reading {
    const offset = (index % CAPACITY) * COLUMNS;
    const [atMs = 0, usedMs = 0, periods = 0, throttledPeriods = 0] = this.values.subarray(
      offset,
      offset + COLUMNS,
    );
    return { atMs, usedMs, periods, throttledPeriods };
  }
}
