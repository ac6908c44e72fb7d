import { systemClock } from "@tradewind/core/clock.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { Fleet } from "../application/fleet.ts";
import type { Topology } from "../application/topology.ts";
import { createActuator } from "./actuator.ts";
import type { Actuation, Actuator } from "./actuator.ts";
import { createKeda } from "./keda.ts";
import { DEMO_TIMINGS, recommendedBehavior } from "./scaled-object.ts";
import { createScalerClient } from "./scaler-client.ts";

export interface AttachOptions {
  readonly topology: Topology;
  readonly namespace: string;
  readonly fleet: Fleet;
  /** gRPC address of the external scaler, `host:port`. */
  readonly scalerAddress: string;
  readonly onCall: (millis: number, failed: boolean) => void;
  readonly onActuation: (actuation: Actuation) => void;
  readonly say: (text: string) => void;
}

/** KEDA and the autoscaler, set on the fleet. */
export interface AttachedActuator {
  /**
   * Applies the ScaledObject of every service that the scaler knows by now, as a chart that waits for its scaler to be
   * ready before it installs what depends on it.
   */
  applyKnown(list: RecommendationList | undefined): void;
  stop: Actuator["stop"];
}

export function attachActuator(options: AttachOptions): AttachedActuator {
  const { topology, namespace, fleet, scalerAddress, onCall, onActuation, say } = options;
  const replicas = (service: string): number =>
    fleet.states().find(({ definition }) => definition.name === service)?.replicasWanted ?? 0;
  const actuator = createActuator({
    keda: createKeda(() => createScalerClient(scalerAddress, onCall)),
    target: { replicas, scale: (service, wanted) => fleet.scale(service, wanted) },
    timings: DEMO_TIMINGS,
    clock: systemClock,
    onActuation,
    onTrouble: (service, text) =>
      say(
        text === undefined ? `the scaler of ${service} answers again` : `${text}; replicas stay as they are`,
      ),
  });
  return {
    applyKnown(list) {
      for (const { service, valid } of list?.recommendations ?? []) {
        const definition = topology.services.find(({ name }) => name === service);
        if (definition === undefined || !valid || actuator.has(service)) continue;
        actuator.apply({
          ref: { name: service, namespace, scalerMetadata: { scalerAddress, service } },
          service,
          minReplicaCount: definition.minReplicas,
          maxReplicaCount: definition.maxReplicas,
          behavior: recommendedBehavior(DEMO_TIMINGS),
        });
      }
    },
    stop: async () => actuator.stop(),
  };
}
