import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import { bounded, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";

/** Replicas set once, as a multiple of what the application starts with, and never touched again. */
export const STATIC: Contender = {
  name: "static",
  about: "No autoscaler: a multiple of the replicas that the application starts with, set once.",
  defaults: { multiple: 1.5 },
  grid: [0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4].map((multiple) => ({ multiple })),
  start: ({ plant, world }, parameters) => {
    const specOf = serviceSpecs(plant.application);
    for (const service of world.services) {
      const replicas = world.replicas(service) * numberOf(parameters, "multiple");
      world.setReplicas(service, bounded(Math.round(replicas), specOf(service)));
    }
    return { scaledObject: () => undefined };
  },
};
