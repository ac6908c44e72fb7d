import { meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { within } from "../control/control-path.ts";
import type { ExternalTrigger } from "../control/triggers.ts";
import type { World } from "../world.ts";
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

  /** Windows of the last `seconds` that are not too old, the newest however long it is; none when the series has ended. */
  last(seconds: number, nowMs: number): readonly WindowSet[] {
    const newest = this.sets.at(-1);
    if (newest === undefined || nowMs - newest.endMs > LOOK_BACK_MS) return [];
    return this.sets.filter((set) => set === newest || set.startMs >= newest.endMs - 1e3 * seconds);
  }
}

/** Whether users asked for anything in the last window, as the ingress in front of the application counts it. */
class Ingress {
  isBusy = true;
  private requests = 0;

  observe(world: World): void {
    const now = world.account().routes.reduce((sum, { requests }) => sum + requests, 0);
    this.isBusy = now > this.requests;
    this.requests = now;
  }
}

function metricBrain(
  setting: Setting,
  parameters: Parameters,
  triggerOf: (series: Series, service: string) => Omit<ExternalTrigger, "kind" | "isFromScaler" | "isActive">,
): Brain {
  const series = new Series(20);
  const ingress = new Ingress();
  const behavior = stockBehavior(numberOf(parameters, "scaleDownSeconds"));
  // A service without a replica has no metrics of its own: whether it is needed is asked of the ingress.
  const isActive = (): boolean => ingress.isBusy;
  return {
    scaledObject: (service) => {
      const trigger = {
        ...triggerOf(series, service),
        kind: "external",
        isFromScaler: false,
        isActive,
      } as const;
      return scaledObject(setting, service, [trigger], behavior);
    },
    onWindow: ({ nowMs, windowSet }) => {
      const { plant, world } = setting;
      ingress.observe(world);
      // The application's own counters do not end with its traces; the series just has no new points here.
      if (!within(plant.faults.traceOutages, plant.startMs, nowMs)) series.add(windowSet);
    },
  };
}

/** KEDA's prometheus trigger on `sum(rate(requests[1m]))`, so many a second for each replica. */
export const KEDA_REQUESTS: Contender = {
  name: "keda-requests",
  about: "KEDA on each service's requests per second over a minute; what traces count stands for the metric.",
  defaults: { requestsPerReplica: 40, scaleDownSeconds: 300 },
  grid: combinations({ requestsPerReplica: [15, 25, 40, 60], scaleDownSeconds: [300, 120] }),
  start: (setting, parameters) =>
    metricBrain(setting, parameters, (series, service) => {
      const read = (nowMs: number): number | undefined =>
        meanOfKnown(
          series.last(60, nowMs).flatMap(({ windows }) => {
            // A counter that nobody raises has the rate 0; the windows say nothing without any span.
            return [windows.find((window) => window.service === service)?.requestsPerSecond ?? 0];
          }),
        );
      const target = numberOf(parameters, "requestsPerReplica");
      return { metricType: "AverageValue", target, read };
    }),
};

/** KEDA's prometheus trigger on a p95, metricType Value: the ratio to the threshold times the ready pods. */
export const KEDA_LATENCY: Contender = {
  name: "keda-latency",
  about:
    "KEDA on the p95 of the users' requests of the slowest route, the same number for every service; metricType Value.",
  defaults: { thresholdShare: 0.7, scaleDownSeconds: 300 },
  grid: combinations({ thresholdShare: [0.5, 0.7, 0.85, 1], scaleDownSeconds: [300, 120] }),
  start: (setting, parameters) =>
    metricBrain(setting, parameters, (series) => {
      const { entry, objective } = setting.plant.application;
      const read = (nowMs: number): number | undefined =>
        meanOfKnown(
          series.last(60, nowMs).flatMap(({ flows }) => {
            const own = flows.filter(({ entryService }) => entryService === entry);
            return own.length === 0 ? [] : [Math.max(...own.map(({ latency }) => latency.p95Seconds))];
          }),
        );
      const target = (numberOf(parameters, "thresholdShare") * objective.milliseconds) / 1e3;
      return { metricType: "Value", target, read };
    }),
};
