import type { ApplicationModel } from "../../simulator/model/application-model.ts";
import { fixed } from "../../simulator/model/distribution.ts";
import type { PlantModel } from "../../simulator/model/plant-model.ts";
import { plantOf, START_MS } from "../../simulator/plant.ts";
import type { PlantParts } from "../../simulator/plant.ts";
import { SimulatedWorld } from "../../simulator/simulated-world.ts";
import type { World } from "../../simulator/world.ts";

export interface WorldParts extends Partial<Omit<PlantParts, "model">> {
  readonly model?: Partial<PlantModel>;
  readonly seed?: number;
}

/** A world with 4 nodes of 8 cores, pods that start in 10 s, all traces kept, and every event audited. */
export function worldOf(application: ApplicationModel, parts: WorldParts = {}): World {
  const { model = {}, seed = 1, ...rest } = parts;
  const full: Omit<PlantModel, "startMs"> = {
    application,
    load: () => 0,
    seconds: 600,
    cluster: { nodes: 4, nodeCores: 8, nodeMemoryBytes: 32e9, podStartMs: fixed(10_000) },
    telemetry: { sampledRatio: 1, spanDelaySeconds: 1 },
    ...model,
  };
  const plant = plantOf({
    name: "test",
    about: "for a test",
    objective: { milliseconds: 100 },
    ...rest,
    model: full,
  });
  return new SimulatedWorld({
    model: { startMs: START_MS, ...full },
    application: plant.application,
    faults: plant.faults,
    windowSeconds: plant.windowSeconds,
    seed,
    auditEvery: 500,
  });
}

/** ms since the Unix epoch for a second of the run. */
export const at = (seconds: number): number => START_MS + 1e3 * seconds;
