import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Fleet } from "../application/fleet.ts";
import type { Topology } from "../application/topology.ts";
import type { Policy } from "../policy.ts";
import type { Observation } from "../report/observer.ts";
import { createActuator } from "./actuator.ts";
import type { Actuation, Actuator, ActuatorOptions } from "./actuator.ts";
import { createCpuMeter } from "./cpu-meter.ts";
import { createKeda } from "./keda.ts";
import { cpuSource, requestRateSource } from "./rivals.ts";
import { DEMO_TIMINGS, demoBehavior, KUBERNETES_TOLERANCE } from "./scaled-object.ts";
import type { ScalingRule } from "./scaled-object.ts";
import { createScalerClient } from "./scaler-client.ts";

export interface AttachOptions {
  readonly policy: Policy;
  readonly topology: Topology;
  readonly namespace: string;
  readonly fleet: Fleet;
  /** gRPC address of the external scaler, `host:port`. */
  readonly scalerAddress: string;
  /** What the processes said last. */
  readonly observed: () => Observation;
  readonly onCall: (millis: number, failed: boolean) => void;
  readonly onActuation: (actuation: Actuation) => void;
  readonly say: (text: string) => void;
}

/** KEDA and the autoscaler, set on the fleet. */
export interface AttachedActuator {
  /**
   * Called every second. Takes readings of CPU, and applies the ScaledObject of every service that the scaler knows by
   * now, as a chart that waits for its scaler to be ready before it installs what depends on it.
   */
  follow(): void;
  stop(): Promise<void>;
}

export function attachActuator(options: AttachOptions): AttachedActuator {
  const { observed, policy } = options;
  if (policy.kind === "tradewind") return attachScaler(options);
  if (policy.kind === "hpa") return attachHpa(options, policy.cpuRatio);
  const source = requestRateSource(() => observed().windows, policy.requestsPerSecond);
  const actuator = actuatorOf(options, source);
  return { follow: () => applyAll(options, actuator), stop: async () => actuator.stop() };
}

function attachScaler(options: AttachOptions): AttachedActuator {
  const { namespace, observed, onCall, scalerAddress } = options;
  const actuator = actuatorOf(
    options,
    createKeda(() => createScalerClient(scalerAddress, onCall)),
  );
  return {
    follow() {
      const known = observed().recommendations?.recommendations ?? [];
      const served = new Set(known.filter(({ valid }) => valid).map(({ service }) => service));
      for (const rule of rulesOf(options, 0)) {
        const { service } = rule;
        if (!served.has(service) || actuator.has(service)) continue;
        const ref = { name: service, namespace, scalerMetadata: { scalerAddress, service } };
        actuator.apply({ ...rule, ref });
      }
    },
    stop: async () => actuator.stop(),
  };
}

function attachHpa(options: AttachOptions, cpuRatio: number): AttachedActuator {
  const { fleet } = options;
  const meter = createCpuMeter(DEMO_TIMINGS.syncPeriodSeconds);
  const actuator = actuatorOf(
    options,
    cpuSource(
      () => fleet.states(),
      meter,
      cpuRatio,
      () => systemClock.nowMs(),
    ),
  );
  return {
    follow() {
      const replicas = fleet.states().flatMap(({ ready }) => ready);
      meter.observe(
        replicas.map((replica) => {
          const { atMs, cpuSeconds } = replica.usage();
          return { id: replica.identity.containerId, atMs, cpuSeconds };
        }),
      );
      applyAll(options, actuator);
    },
    stop: async () => actuator.stop(),
  };
}

function actuatorOf<Rule extends ScalingRule>(
  { fleet, onActuation, say }: AttachOptions,
  source: ActuatorOptions<Rule>["source"],
): Actuator<Rule> {
  const replicas = (service: string): number =>
    fleet.states().find(({ definition }) => definition.name === service)?.replicasWanted ?? 0;
  return createActuator({
    source,
    target: { replicas, scale: (service, wanted) => fleet.scale(service, wanted) },
    timings: DEMO_TIMINGS,
    clock: systemClock,
    onActuation,
    onTrouble: (service, text) =>
      say(text === undefined ? `metrics of ${service} are back` : `${text}; replicas stay as they are`),
  });
}

function applyAll(options: AttachOptions, actuator: Actuator<ScalingRule>): void {
  for (const rule of rulesOf(options, KUBERNETES_TOLERANCE)) actuator.apply(rule);
}

function rulesOf({ topology }: AttachOptions, tolerance: number): readonly ScalingRule[] {
  return topology.services.map(({ name, minReplicas, maxReplicas }) => ({
    service: name,
    minReplicaCount: minReplicas,
    maxReplicaCount: maxReplicas,
    behavior: demoBehavior(DEMO_TIMINGS, tolerance),
  }));
}
