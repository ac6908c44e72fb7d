import { flashCrowd } from "../../model/load.ts";
import type { ClusterModel } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

const GB = 2 ** 30;

/** The surge of full-for-long on three nodes of which the application may have two cores each. */
const beside = (name: string, about: string, cluster: Partial<ClusterModel>): ObstacleModel =>
  obstacle({
    name,
    about,
    load: flashCrowd({ base: 50, peak: 130, startSeconds: 480, riseSeconds: 60, holdSeconds: 900 }),
    cluster: { nodes: 3, nodeCores: 2, ...cluster },
    seconds: 1_620,
  });

/** Nodes that the application shares, or that are not for it. */
export const NEIGHBOURS: readonly ObstacleModel[] = [
  beside(
    "daemon-sets",
    "The surge of full-for-long where pods that each node has request 0.2 of its 2.2 cores.",
    {
      nodeCores: 2.2,
      neighbours: { pods: 4, cores: 0.2, memoryBytes: GB / 2 },
    },
  ),
  beside(
    "other-tenants",
    "The surge of full-for-long where other tenants have half of each node of four cores.",
    {
      nodeCores: 4,
      neighbours: { pods: 12, cores: 2, memoryBytes: 4 * GB },
    },
  ),
  beside(
    "tainted-node",
    "The surge of full-for-long beside a control plane of eight cores that takes none of its pods.",
    {
      taintedNodes: [8],
    },
  ),
  beside(
    "pod-slots",
    "The same surge on nodes of eight cores that take eight pods each, three of them others'.",
    {
      nodeCores: 8,
      nodePods: 8,
      neighbours: { pods: 3, cores: 0.3, memoryBytes: GB / 2 },
    },
  ),
];
