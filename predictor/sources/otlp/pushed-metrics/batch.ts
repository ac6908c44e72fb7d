import type { DurationPoint } from "./durations.ts";

/** What a body of metrics holds of use. */
export class MetricBatch {
  points: DurationPoint[] = [];
  /** Points of such histograms that no histogram can have. */
  invalid = 0;
  /** Metrics that are no histograms of durations. */
  discarded = 0;

  clear(): void {
    this.points = [];
    this.invalid = 0;
    this.discarded = 0;
  }

  /** @param point undefined where it could not be read */
  take(point: DurationPoint | undefined): void {
    if (point === undefined) this.invalid += 1;
    else this.points.push(point);
  }
}
