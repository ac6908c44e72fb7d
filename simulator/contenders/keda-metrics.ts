import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { ExternalTrigger } from "../control/triggers.ts";
import { combinations, numberOf, scaledObject } from "./contender.ts";
import type { Brain, Contender, Parameters, Setting } from "./contender.ts";
import { stockBehavior } from "./hpa.ts";

/** A range query of a metrics server forgets what is older than this: Prometheus' look-back. */
const LOOK_BACK_MS = 300_000;

/** The last windows, as a metrics server that scrapes the same numbers would keep them. */
class Series {
  private readonly sets: WindowSet[] = [];
  private readonly kept: number;

  constructor(kept: number) {
    this.kept = kept;
  }

  add(set: WindowSet): void {
    this.sets.push(set);
    if (this.sets.length > this.kept) this.sets.shift();
  }

  /** Windows of the last `seconds` that are not too old; none when the series has ended. */
  last(seconds: number, nowMs: number): readonly WindowSet[] {
    const newest = this.sets.at(-1);
    if (newest === undefined || nowMs - newest.endMs > LOOK_BACK_MS) return [];
    return this.sets.filter(({ startMs }) => startMs >= newest.endMs - 1e3 * seconds);
  }
}

const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;

function metricBrain(
  setting: Setting,
  parameters: Parameters,
  triggerOf: (series: Series, service: string) => ExternalTrigger,
): Brain {
  const series = new Series(20);
  const behavior = stockBehavior(numberOf(parameters, "scaleDownSeconds"));
  return {
    scaledObject: (service) => scaledObject(setting, service, [triggerOf(series, service)], behavior),
    onWindow: ({ windowSet }) => series.add(windowSet),
  };
}

/** KEDA's prometheus trigger on `sum(rate(requests[1m]))`, so many a second for each replica. */
export const KEDA_REQUESTS: Contender = {
  name: "keda-requests",
  about: "KEDA on each service's requests per second over a minute; what traces count stands for the metric.",
  defaults: { requestsPerReplica: 40, scaleDownSeconds: 300 },
  grid: combinations({ requestsPerReplica: [15, 25, 40, 60], scaleDownSeconds: [300, 120] }),
  supports: () => true,
  start: (setting, parameters) =>
    metricBrain(setting, parameters, (series, service) => {
      const read = (nowMs: number): number | undefined =>
        mean(
          series.last(60, nowMs).flatMap(({ windows }) => {
            const rate = windows.find((window) => window.service === service)?.requestsPerSecond;
            return rate === undefined ? [] : [rate];
          }),
        );
      const isActive = (nowMs: number): boolean | undefined => {
        const rate = read(nowMs);
        return rate === undefined ? undefined : rate > 0;
      };
      const target = numberOf(parameters, "requestsPerReplica");
      return { kind: "external", metricType: "AverageValue", target, isFromScaler: false, read, isActive };
    }),
};

/** KEDA's prometheus trigger on a p95, metricType Value: the ratio to the threshold times the ready pods. */
export const KEDA_LATENCY: Contender = {
  name: "keda-latency",
  about:
    "KEDA on the p95 of the users' requests of the slowest route, the same number for every service; metricType Value.",
  defaults: { thresholdShare: 0.7, scaleDownSeconds: 300 },
  grid: combinations({ thresholdShare: [0.5, 0.7, 0.85, 1], scaleDownSeconds: [300, 120] }),
  supports: () => true,
  start: (setting, parameters) =>
    metricBrain(setting, parameters, (series) => {
      const { entry, objective } = setting.plant.application;
      const read = (nowMs: number): number | undefined =>
        mean(
          series.last(60, nowMs).flatMap(({ flows }) => {
            const own = flows.filter(({ entryService }) => entryService === entry);
            return own.length === 0 ? [] : [Math.max(...own.map(({ latency }) => latency.p95Seconds))];
          }),
        );
      const target = (numberOf(parameters, "thresholdShare") * objective.milliseconds) / 1e3;
      const isActive = (nowMs: number): boolean | undefined => read(nowMs) !== undefined;
      return { kind: "external", metricType: "Value", target, isFromScaler: false, read, isActive };
    }),
};
