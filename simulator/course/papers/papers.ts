import type { ObstacleModel } from "../obstacle.ts";
import { DRPC_PLANT } from "./drpc.ts";
import { GRAD_PLANTS } from "./grad.ts";
import { INFRALLM_PLANT } from "./infrallm.ts";
import { QUEUEFLOWER_PLANTS } from "./queueflower.ts";

/** Experiments of published papers, restated for the simulator; docs/papers.md says what differs. */
export const PAPER_PLANTS: readonly ObstacleModel[] = [
  ...GRAD_PLANTS,
  ...QUEUEFLOWER_PLANTS,
  DRPC_PLANT,
  INFRALLM_PLANT,
];
