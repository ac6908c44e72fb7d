import { meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { LatencySummary, WindowSet } from "@tradewind/core/contract/window.ts";
import { steer } from "@tradewind/exporter/controller/vpa/steer.ts";
import { within } from "../control/control-path.ts";
import type { PodView, World } from "../world.ts";
import { bounded, numberTrigger, scaledObject } from "./contender.ts";
import type { Brain, Setting } from "./contender.ts";

/** What a contender knows of one service after a window. Absent: not measured. */
export interface ServiceFacts {
  readonly service: string;
  readonly spec: ServiceSpec;
  /** `spec.replicas` */
  readonly replicas: number;
  readonly readyPods: number;
  /** CPU that a main container may use: its limit, else its request. */
  readonly podCores: number;
  readonly podBytes: number;
  readonly requestsPerSecond?: number;
  /** Span time less the time of calls. */
  readonly selfTime?: LatencySummary;
  /** CPU used by the main containers of all ready pods, and the mean of one. */
  readonly usedCores?: number;
  readonly utilisation?: number;
  readonly memoryBytes?: number;
  /** CPU seconds of one request. */
  readonly cpuSecondsPerRequest?: number;
}

const finite = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value): value is number => value !== undefined && Number.isFinite(value));

type MeasuredWindow = Pick<
  ServiceFacts,
  "usedCores" | "utilisation" | "memoryBytes" | "cpuSecondsPerRequest"
>;

/** What `kubectl top` says of the main containers of ready pods. */
function measuredUse(ready: readonly PodView[], podCores: number, rate: number | undefined): MeasuredWindow {
  const used = meanOfKnown(finite(ready.map(({ cpuUsageCores }) => cpuUsageCores)));
  const memory = finite(ready.map(({ memoryWorkingSetBytes }) => memoryWorkingSetBytes));
  const usedCores = used === undefined ? undefined : used * ready.length;
  return {
    ...(used !== undefined && { utilisation: used / podCores }),
    ...(usedCores !== undefined && { usedCores }),
    ...(memory.length > 0 && { memoryBytes: Math.max(...memory) }),
    ...(usedCores !== undefined && rate !== undefined && rate > 0
      ? { cpuSecondsPerRequest: usedCores / rate }
      : {}),
  };
}

/** Facts from `kubectl top` and the traces' window. Values that are no number count as absent. */
export function factsOf(
  world: World,
  windowSet: WindowSet,
  specOf: (service: string) => ServiceSpec,
): ServiceFacts[] {
  return world.services.map((service) => {
    const pods = world.pods(service);
    const ready = pods.filter(({ phase }) => phase === "ready");
    const newest = pods.at(-1);
    const podCores = newest?.cpuLimitCores ?? newest?.cpuRequestCores ?? 1;
    const window = windowSet.windows.find((each) => each.service === service);
    const [rate] = finite([window?.requestsPerSecond]);
    const selfTime = window?.ownLatency;
    return {
      service,
      spec: specOf(service),
      replicas: world.replicas(service),
      readyPods: ready.length,
      podCores,
      podBytes: newest?.memoryLimitBytes ?? newest?.memoryRequestBytes ?? 0,
      ...(rate !== undefined && { requestsPerSecond: rate }),
      ...(selfTime && Number.isFinite(selfTime.p95Seconds) && { selfTime }),
      ...measuredUse(ready, podCores, rate),
    };
  });
}

/** The slowest route at the objective's percentile, over its objective; undefined without traces of users' requests. */
export function sloRatio({ plant }: Setting, { flows }: WindowSet): number | undefined {
  const { entry, objective } = plant.application;
  const tails = finite(
    flows.filter(({ entryService }) => entryService === entry).map(({ latency }) => latency.p95Seconds),
  );
  return tails.length === 0 ? undefined : (1e3 * Math.max(...tails)) / objective.milliseconds;
}

/**
 * A contender that comes to a size of every service after each window. Sizes not named stay as they are; of a service that is
 * `"unmeasured"` there is no number, and its HPA leaves it as it is.
 */
export type Decide = (
  facts: readonly ServiceFacts[],
  windowSet: WindowSet,
  nowMs: number,
) => ReadonlyMap<string, Partial<Allocation> | "unmeasured">;

/**
 * A controller whose numbers reach the application on the same way as ours: replicas as the answer of an external scaler with
 * the documented behaviour, sizes through a VPA.
 */
export function numbersBrain(setting: Setting, decide: Decide): Brain {
  const { plant, processDown, world } = setting;
  const specOf = serviceSpecs(plant.application);
  const decided = new Map<string, Partial<Allocation>>();
  const targets = new Map<string, { cpuCores?: number; memoryBytes?: number }>();
  return {
    scaledObject: (service) =>
      scaledObject(setting, service, [numberTrigger(() => decided.get(service)?.replicas)]),
    onWindow({ nowMs, windowSet }) {
      if (within(processDown, plant.startMs, nowMs)) return;
      const facts = factsOf(world, windowSet, specOf);
      for (const [service, wanted] of decide(facts, windowSet, nowMs)) {
        if (wanted === "unmeasured") {
          decided.delete(service);
          continue;
        }
        const { replicas, ...sizes } = wanted;
        // None of these has an ingress that would wake a service whose last pod is gone.
        const number = replicas === undefined ? undefined : Math.max(1, bounded(replicas, specOf(service)));
        const before = decided.get(service);
        decided.set(service, { ...before, ...sizes, ...(number !== undefined && { replicas: number }) });
      }
    },
    advice(service) {
      const { cpuCores, memoryBytes } = decided.get(service) ?? {};
      const before = targets.get(service) ?? {};
      const cpu = cpuCores === undefined ? undefined : steer(cpuCores, before.cpuCores, [], true);
      const memory = memoryBytes === undefined ? undefined : steer(memoryBytes, before.memoryBytes, [], true);
      targets.set(service, {
        ...(cpu && { cpuCores: cpu.target }),
        ...(memory && { memoryBytes: memory.target }),
      });
      return { ...(cpu && { cpuCores: cpu }), ...(memory && { memoryBytes: memory }) };
    },
  };
}
