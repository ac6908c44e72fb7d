import type { ServiceModel } from "../../model/application-model.ts";
import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";
import { shop } from "../../applications/course-shop.ts";

/** A container that asks for half a core and takes whatever its node has left. */
function unlimited(each: ServiceModel): ServiceModel {
  const { cpuLimitCores: _, ...container } = each.container;
  return { ...each, container };
}

export const NO_LIMITS: readonly ObstacleModel[] = [
  obstacle({
    name: "no-limits",
    about:
      "The wave on containers without CPU limits, on nodes with room: use beyond what was asked for delays nobody.",
    load: wave(20, 100, 600),
    application: shop(unlimited),
  }),
  obstacle({
    name: "no-limits-full",
    about:
      "The same on three nodes of 1.5 cores that the pods themselves fill: what one takes beyond its request the others lack.",
    load: wave(20, 100, 600),
    application: shop(unlimited),
    cluster: { nodes: 3, nodeCores: 1.5 },
  }),
];
