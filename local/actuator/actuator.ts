import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { EMPTY_MEMORY, proposeReplicas, remember, syncHpa } from "@tradewind/core/hpa/hpa.ts";
import type { HpaMemory, HpaReason, Proposal } from "@tradewind/core/hpa/hpa.ts";
import type { MetricReading, MetricSource } from "./metric-source.ts";
import { proposeByUtilisation } from "@tradewind/core/hpa/resource-metric.ts";
import type { ActuatorTimings, ScalingRule } from "./scaled-object.ts";

/** `/scale` of the workloads: the only thing the actuator may change. */
export interface ScaleTarget {
  replicas(service: string): number;
  scale(service: string, replicas: number): void;
}

/** A change of a replica count that was carried out. */
export interface Actuation {
  readonly service: string;
  readonly from: number;
  readonly to: number;
  readonly reason: HpaReason | "activated" | "deactivated";
}

export interface ActuatorOptions<Rule extends ScalingRule> {
  readonly source: MetricSource<Rule>;
  readonly target: ScaleTarget;
  readonly timings: ActuatorTimings;
  readonly clock: Clock;
  readonly onActuation: (actuation: Actuation) => void;
  /** A reading failed for good, or works again (`undefined`). Told once for each change. */
  readonly onTrouble: (service: string, trouble: string | undefined) => void;
}

export interface Actuator<Rule extends ScalingRule> {
  /** Applies a rule; from now on its service is polled and scaled. */
  apply(rule: Rule): void;
  has(service: string): boolean;
  /** Resolves when the call under way has ended. */
  stop(): Promise<void>;
}

/** Time without activity after which KEDA stops the last replica. */
const COOLDOWN_SECONDS = 30;

/** Calls `run` at once and then every `seconds`; a slow run delays the next one, as KEDA's and the HPA's loops do. */
function loop(seconds: number, run: () => Promise<void>): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const turn = async (): Promise<void> => {
    await run();
    if (!stopped) timer = setTimeout(() => void (running = turn()), seconds * 1e3);
  };
  let running = turn();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}

function proposalOf(
  metric: MetricReading["metrics"][number],
  current: number,
  behavior: ScalingRule["behavior"],
): Proposal | undefined {
  return "pods" in metric
    ? proposeByUtilisation(metric.pods, { ...metric, behavior }, current, metric.readAtMs)
    : proposeReplicas(metric, current, behavior);
}

/** One rule at work: KEDA's polling loop and the sync of the HorizontalPodAutoscaler that KEDA makes for it. */
function run<Rule extends ScalingRule>(object: Rule, options: ActuatorOptions<Rule>): () => Promise<void> {
  const { source, target, timings, clock, onActuation, onTrouble } = options;
  const { service, behavior } = object;
  let memory: HpaMemory = EMPTY_MEMORY;
  let activeAtMs = clock.monotonicMs();
  let inTrouble = false;

  const trouble = (text: string | undefined): void => {
    if (inTrouble !== (text !== undefined)) onTrouble(service, text);
    inTrouble = text !== undefined;
  };
  const scale = (to: number, reason: Actuation["reason"]): void => {
    const from = target.replicas(service);
    if (from === to) return;
    memory = remember(memory, { atMs: clock.monotonicMs(), change: to - from }, behavior);
    target.scale(service, to);
    onActuation({ service, from, to, reason });
  };

  const poll = async (): Promise<void> => {
    try {
      const { active } = await source.read(object);
      trouble(undefined);
      if (active) {
        activeAtMs = clock.monotonicMs();
        if (target.replicas(service) === 0) scale(Math.max(1, object.minReplicaCount), "activated");
      } else if (object.minReplicaCount === 0 && clock.monotonicMs() - activeAtMs >= COOLDOWN_SECONDS * 1e3) {
        scale(0, "deactivated");
      }
    } catch (error) {
      trouble(describeError(error));
    }
  };

  const sync = async (): Promise<void> => {
    let metrics: MetricReading["metrics"] = [];
    try {
      ({ metrics } = await source.read(object));
      trouble(undefined);
    } catch (error) {
      trouble(describeError(error));
    }
    const spec = {
      minReplicas: Math.max(1, object.minReplicaCount),
      maxReplicas: object.maxReplicaCount,
      behavior,
    };
    const current = target.replicas(service);
    // A reading that failed has no metric at all, and the autoscaler then has nothing to go by.
    const proposals = metrics.map((metric) => proposalOf(metric, current, behavior));
    const decision = syncHpa(spec, proposals, current, memory, clock.monotonicMs());
    memory = decision.memory;
    scale(decision.replicas, decision.reason);
  };

  const stopPolling = loop(timings.pollingIntervalSeconds, poll);
  const stopSyncing = loop(timings.syncPeriodSeconds, sync);
  return async () => {
    await Promise.all([stopPolling(), stopSyncing()]);
  };
}

/** KEDA and the HorizontalPodAutoscaler controller, acting on local processes instead of Deployments. */
export function createActuator<Rule extends ScalingRule>(options: ActuatorOptions<Rule>): Actuator<Rule> {
  const stops = new Map<string, () => Promise<void>>();
  return {
    has: (service) => stops.has(service),
    apply(rule) {
      if (!stops.has(rule.service)) stops.set(rule.service, run(rule, options));
    },
    async stop() {
      await Promise.all([...stops.values()].map(async (stop) => stop()));
      options.source.close();
    },
  };
}
