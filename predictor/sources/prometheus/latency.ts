import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import { summarise } from "./bucket.ts";
import { cumulativeBuckets, mergeBuckets, parseBound, plainBuckets } from "./classic-histogram.ts";
import type { CumulativeBuckets } from "./classic-histogram.ts";
import { labelKey } from "./api.ts";
import type { RateSeries } from "./rates.ts";

/** One histogram (of one process, or already summed by the server): its `le` series and its sum. */
interface Instance {
  readonly buckets: Map<number, Float64Array>;
  sum: Float64Array | undefined;
}

/** The histograms of one service. */
export class ServiceHistograms {
  private readonly instances = new Map<string, Instance>();

  addBucket(series: RateSeries): void {
    const bound = parseBound(series.labels["le"]);
    if (bound !== undefined) this.instance(series).buckets.set(bound, series.perSecond);
  }

  addSum(series: RateSeries): void {
    this.instance(series).sum = series.perSecond;
  }

  /**
   * Latency in window `index`, of all histograms that can be trusted; `leftOut` counts the others. A histogram that
   * is not known at all in this window (its process had not started, or is gone) is neither.
   */
  summary(
    index: number,
    unitSeconds: number,
    windowSeconds: number,
  ): { latency: LatencySummary | undefined; leftOut: number } {
    const trusted: CumulativeBuckets[] = [];
    let leftOut = 0;
    for (const { buckets, sum } of this.instances.values()) {
      const points = new Map([...buckets].map(([bound, column]) => [bound, column[index] ?? Number.NaN]));
      if ([...points.values()].every(Number.isNaN)) continue;
      const histogram = cumulativeBuckets(points, sum?.[index] ?? Number.NaN);
      if (histogram === undefined) leftOut += 1;
      else trusted.push(histogram);
    }
    const { merged, leftOut: strangers } = mergeBuckets(trusted);
    leftOut += strangers;
    const calls = merged?.cumulative.at(-1) ?? 0;
    if (merged === undefined || calls <= 0) return { latency: undefined, leftOut };
    const latency = summarise(
      plainBuckets(merged, unitSeconds),
      merged.sum * unitSeconds,
      calls,
      windowSeconds,
    );
    return { latency, leftOut: latency === undefined ? leftOut + 1 : leftOut };
  }

  private instance({ labels }: RateSeries): Instance {
    const key = labelKey(labels, ["le"]);
    let instance = this.instances.get(key);
    if (instance === undefined) {
      instance = { buckets: new Map(), sum: undefined };
      this.instances.set(key, instance);
    }
    return instance;
  }
}
