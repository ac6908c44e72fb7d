import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import type { Grid } from "./grid.ts";
import { unknownColumn } from "./grid.ts";
import type { ServiceKey } from "./mapping.ts";
import type { RateSeries } from "./rates.ts";

/** Calls of one service to another, NaN where not known. */
export interface EdgeReading {
  readonly callsPerSecond: Float64Array;
  readonly secondsPerSecond: Float64Array;
}

/** What the metrics say about one service in each window of a grid. */
export interface ServiceReading {
  readonly service: string;
  readonly namespace: string | undefined;
  readonly requestsPerSecond: Float64Array;
  readonly errorsPerSecond: Float64Array;
  readonly latency: (LatencySummary | undefined)[];
  readonly edges: Map<string, EdgeReading>;
  /** Seconds per second spent waiting for all other services together; undefined when no series tells. */
  waitingSecondsPerSecond: Float64Array | undefined;
}

/** Everything read for one grid. */
export class RedReading {
  readonly grid: Grid;
  readonly services = new Map<string, ServiceReading>();
  /** Whether the call graph was answered: without it a service with no edges may still call others. */
  graphKnown = false;
  /** Whether waiting times were answered: then a service without any waits for nobody. */
  waitingKnown = false;
  private readonly byName = new Map<string, ServiceReading>();
  private namedCount = 0;
  /** Parts that were unusable and left out. */
  leftOut = 0;

  constructor(grid: Grid) {
    this.grid = grid;
  }

  /** The reading of a service, made when it is new. */
  of({ service, namespace }: ServiceKey): ServiceReading {
    const key = keyOf(service, namespace);
    let reading = this.services.get(key);
    if (reading === undefined) {
      const column = (): Float64Array => unknownColumn(this.grid);
      reading = {
        service,
        namespace,
        requestsPerSecond: column(),
        errorsPerSecond: column(),
        latency: Array.from({ length: this.grid.count }),
        edges: new Map(),
        waitingSecondsPerSecond: undefined,
      };
      this.services.set(key, reading);
    }
    return reading;
  }

  /**
   * The reading of a called service by its name alone: a call has no namespace of its callee. Of several services of one name, the one in
   * the caller's namespace, where that is known.
   */
  named(service: string, namespace: string | undefined): ServiceReading | undefined {
    const beside = namespace === undefined ? undefined : this.services.get(keyOf(service, namespace));
    if (beside !== undefined) return beside;
    if (this.namedCount !== this.services.size) {
      this.namedCount = this.services.size;
      for (const each of this.services.values()) this.byName.set(each.service, each);
    }
    return this.byName.get(service);
  }

  edge(reading: ServiceReading, callee: string): EdgeReading {
    let edge = reading.edges.get(callee);
    if (edge === undefined) {
      edge = { callsPerSecond: unknownColumn(this.grid), secondsPerSecond: unknownColumn(this.grid) };
      reading.edges.set(callee, edge);
    }
    return edge;
  }
}

function keyOf(service: string, namespace: string | undefined): string {
  return `${namespace ?? ""}\u0000${service}`;
}

/** Adds what is known of `column` to `into`; what is known in neither stays unknown. */
export function addKnown(into: Float64Array, column: Float64Array, factor = 1): void {
  column.forEach((value, index) => {
    if (Number.isNaN(value)) return;
    const sum = into[index] ?? Number.NaN;
    into[index] = (Number.isNaN(sum) ? 0 : sum) + value * factor;
  });
}

/**
 * The sum of counters of many processes. Where more than half of those known before the window gave nothing in it, the
 * sum would be far too small: it is unknown there.
 */
export function summed(series: readonly RateSeries[], grid: Grid): { sum: Float64Array; leftOut: number } {
  const sum = unknownColumn(grid);
  let leftOut = 0;
  for (const { perSecond } of series) addKnown(sum, perSecond);
  for (let index = 0; index < grid.count; index += 1) {
    const silent = series.filter((each) => each.silent?.[index] === 1).length;
    if (silent === 0) continue;
    leftOut += 1;
    if (
      2 * silent >
      series.filter((each) => !Number.isNaN(each.perSecond[index]) || each.silent?.[index] === 1).length
    ) {
      sum[index] = Number.NaN;
    }
  }
  return { sum, leftOut };
}
