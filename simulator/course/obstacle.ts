import type { ApplicationModel } from "../model/application-model.ts";
import type { ClusterModel, Incident, Load, PlantModel, TelemetryModel } from "../model/plant-model.ts";
import { START_MS } from "../plant.ts";
import type { ControlFaults, Span } from "../world.ts";
import { CLUSTER, shop, TELEMETRY } from "../applications/course-shop.ts";

/** An experiment of the course: a plant, what it is for, and what is special about what lies around it. */
export interface ObstacleModel {
  readonly name: string;
  /** One sentence: what it is about. */
  readonly about: string;
  readonly model: PlantModel;
  readonly objectiveMs: number;
  readonly minReplicas: number;
  /** Pods that the application may have in all; absent: as many as fit. */
  readonly budgetPods?: number;
  readonly warmUpSeconds: number;
  readonly faults: Partial<ControlFaults>;
  /** Every HPA is forced to this scale-down window, s. */
  readonly forcedScaleDownSeconds?: number;
  /** The contender's own process is down. */
  readonly processDown?: readonly Span[];
  /** Routes that are no user's: left out of what is counted. */
  readonly internalRoutes: readonly string[];
  /**
   * Obstacles of one family are the same application under the same load most of the time: rivals are tuned for it once, as an
   * operator would, and not for an incident that nobody knows before.
   */
  readonly family: string;
}

/** Requests per second of the shop in most obstacles. */
export const USUAL_LOAD = 60;

export interface ObstacleInput {
  readonly name: string;
  readonly about: string;
  readonly load: Load;
  readonly arrivals?: PlantModel["arrivals"];
  readonly application?: ApplicationModel;
  readonly cluster?: Partial<ClusterModel>;
  readonly telemetry?: Partial<TelemetryModel>;
  readonly incidents?: readonly Incident[];
  readonly seconds?: number;
  readonly objectiveMs?: number;
  readonly minReplicas?: number;
  readonly budgetPods?: number;
  readonly faults?: Partial<ControlFaults>;
  readonly forcedScaleDownSeconds?: number;
  readonly processDown?: readonly Span[];
  readonly internalRoutes?: readonly string[];
  readonly family?: string;
}

/** 20 minutes of the shop, of which the first five are warm-up, with an objective of 150 ms at p95; the input says what differs. */
export function obstacle(input: ObstacleInput): ObstacleModel {
  const { about, family = "shop", faults = {}, load, minReplicas = 1, name, objectiveMs = 150 } = input;
  return {
    name,
    about,
    family,
    objectiveMs,
    minReplicas,
    warmUpSeconds: 300,
    faults,
    internalRoutes: input.internalRoutes ?? [],
    model: {
      application: input.application ?? shop(),
      load,
      seconds: input.seconds ?? 1_200,
      startMs: START_MS,
      cluster: { ...CLUSTER, ...input.cluster },
      telemetry: { ...TELEMETRY, ...input.telemetry },
      ...(input.arrivals && { arrivals: input.arrivals }),
      ...(input.incidents && { incidents: input.incidents }),
    },
    ...(input.budgetPods !== undefined && { budgetPods: input.budgetPods }),
    ...(input.forcedScaleDownSeconds !== undefined && {
      forcedScaleDownSeconds: input.forcedScaleDownSeconds,
    }),
    ...(input.processDown && { processDown: input.processDown }),
  };
}
