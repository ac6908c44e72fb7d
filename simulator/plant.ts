import { Application } from "@tradewind/core/contract/application.ts";
import { meanOf } from "./model/distribution.ts";
import type { PlantModel } from "./model/plant-model.ts";
import { SimulatedWorld } from "./simulated-world.ts";
import { DEFAULT_HPA, NO_FAULTS } from "./world.ts";
import type { ControlFaults, HpaBehaviour, Plant } from "./world.ts";

/** Monday, 6 January 2025, 00:00 UTC: runs of a week begin with a working day. */
export const START_MS = Date.UTC(2025, 0, 6);

/** What a plant is made of; what is absent has its default. */
export interface PlantParts {
  readonly name: string;
  readonly about: string;
  readonly model: Omit<PlantModel, "startMs"> & { readonly startMs?: number };
  /** `percentile` defaults to 0.95. */
  readonly objective: { readonly milliseconds: number; readonly percentile?: number };
  /** Replicas that a controller may set for each service. Default 1 to 50. */
  readonly replicas?: { readonly min: number; readonly max: number };
  /** Pods that the application may have in all; default no limit. */
  readonly budgetPods?: number;
  /** What a controller may change of containers; default nothing. */
  readonly resize?: Application["resize"];
  /** Default 0. */
  readonly warmUpSeconds?: number;
  /** Default 15. */
  readonly windowSeconds?: number;
  readonly hpa?: Partial<HpaBehaviour>;
  readonly faults?: Partial<ControlFaults>;
}

export function plantOf(parts: PlantParts): Plant {
  const application = applicationOf(parts);
  const model: PlantModel = { startMs: START_MS, ...parts.model };
  const windowSeconds = parts.windowSeconds ?? 15;
  const faults = { ...NO_FAULTS, ...parts.faults };
  return {
    name: parts.name,
    about: parts.about,
    application,
    seconds: model.seconds,
    startMs: model.startMs,
    warmUpSeconds: parts.warmUpSeconds ?? 0,
    windowSeconds,
    podStartSeconds: meanOf(model.cluster.podStartMs) / 1e3,
    hpa: { ...DEFAULT_HPA, ...parts.hpa },
    faults,
    create: (seed) => new SimulatedWorld({ model, application, faults, windowSeconds, seed }),
  };
}

function applicationOf({
  budgetPods,
  model,
  objective,
  replicas = { min: 1, max: 50 },
  resize,
}: PlantParts): Application {
  const { entry, name, services } = model.application;
  return Application.parse({
    name,
    entry,
    objective,
    ...(budgetPods !== undefined && { budget: { pods: budgetPods } }),
    ...(resize !== undefined && { resize }),
    services: services.map((service) => ({
      name: service.name,
      minReplicas: replicas.min,
      maxReplicas: replicas.max,
    })),
  });
}
