import type { Obstacle } from "../contenders/run.ts";
import { plantOf } from "../plant.ts";
import type { ObstacleModel } from "./obstacle.ts";

const MOST_REPLICAS = 60;

/** The obstacle as it is run: a plant that makes a simulated world for each seed. */
export function obstacleOf(obstacle: ObstacleModel): Obstacle {
  const { budgetPods, forcedScaleDownSeconds, model, processDown } = obstacle;
  return {
    plant: plantOf({
      name: obstacle.name,
      about: obstacle.about,
      model,
      objective: { milliseconds: obstacle.objectiveMs },
      ...(budgetPods !== undefined && { budgetPods }),
      replicas: { min: obstacle.minReplicas, max: MOST_REPLICAS },
      warmUpSeconds: obstacle.warmUpSeconds,
      faults: obstacle.faults,
    }),
    truth: model,
    internalRoutes: obstacle.internalRoutes,
    ...(forcedScaleDownSeconds !== undefined && { forcedScaleDownSeconds }),
    ...(processDown && { processDown }),
  };
}
