import { wave } from "../../model/load.ts";
import type { NodeKind } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

const NEW: NodeKind = { instanceType: "new.large", speed: 1 };
const OLD: NodeKind = { instanceType: "old.large", speed: 0.6 };
/** Long enough for the speed to be measured in the first wave and to count in the others. */
const SECONDS = 2_400;

/** Nodes of two speeds: pods lie on both, or go to the slow ones only where the fast ones are full. */
export const MIXED_NODES: readonly ObstacleModel[] = [
  obstacle({
    name: "mixed-nodes",
    about: "Every other node does 60 % of the work of the others in the same CPU time, under the wave.",
    load: wave(20, 100, 600),
    seconds: SECONDS,
    cluster: { nodeKinds: [NEW, OLD] },
  }),
  obstacle({
    name: "preferred-nodes",
    about: "The nodes of mixed-nodes; pods prefer the fast ones, as a placement proposal asks for.",
    load: wave(20, 100, 600),
    seconds: SECONDS,
    cluster: { nodeKinds: [{ ...NEW, preference: 1 }, OLD] },
  }),
  obstacle({
    name: "slow-overflow",
    about:
      "Pods prefer three nodes that take the calm load; what the wave adds goes to six of 60 % of their speed.",
    load: wave(30, 150, 600),
    seconds: SECONDS,
    cluster: { nodes: 9, nodeCores: 2, nodeKinds: [{ ...NEW, preference: 1 }, OLD, OLD] },
  }),
];
