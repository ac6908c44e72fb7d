import type { Obstacle } from "../contenders/run.ts";
import { within } from "../control/control-path.ts";
import type { LatencyView, World } from "../world.ts";

/** Shares of what is allocated that are aimed at: the planner's for CPU, DRPC's code for memory. */
export const AIMS = { cpu: 0.65, memory: 0.75 } as const;

/** DRPC, Eq. 1: 1 within the objective, else falling with the square of the excess. */
export function qosReward(tailSeconds: number, objectiveSeconds: number): number {
  if (tailSeconds <= objectiveSeconds) return 1;
  return Math.exp(-(((tailSeconds - objectiveSeconds) / objectiveSeconds) ** 2));
}

/** Use over what is allocated. */
export interface Use {
  readonly cpu: number;
  readonly memory: number;
}

/**
 * DRPC, Eq. 2: 1 and the mean over machines (here: services) of the cubed distances from the aims. The case distinction that is printed
 * outside of the sum, use below or above the aim, is one per term: the distance.
 */
export function utilReward(uses: readonly Use[], aims: Use = AIMS): number {
  const cubes = uses.map(
    ({ cpu, memory }) => Math.abs(aims.cpu - cpu) ** 3 + Math.abs(aims.memory - memory) ** 3,
  );
  return 1 + cubes.reduce((sum, each) => sum + each, 0) / Math.max(1, uses.length);
}

/** DRPC, Eq. 3: in (0, 1]. */
export const reward = (qos: number, util: number): number => qos / util;

/** Measures the reward of each window of a run, from the first silence on. @returns undefined before, and without requests */
export function rewardMeter({ plant, processDown = [] }: Obstacle): (world: World) => number | undefined {
  let before = new Map<string, LatencyView>();
  const windowMs = 1e3 * plant.windowSeconds;
  return (world) => {
    const { routes } = world.account();
    const ratios = routes.flatMap(({ latency, objectiveSeconds, percentile, route }) => {
      const last = before.get(route);
      const now = last === undefined ? latency : latency.since(last);
      return now.count === 0 ? [] : [now.quantileSeconds(percentile) / objectiveSeconds];
    });
    before = new Map(routes.map(({ latency, route }) => [route, latency]));
    if (ratios.length === 0 || !within(processDown, plant.startMs, world.nowMs)) return undefined;
    const uses = [...(world.serviceUses?.(world.nowMs - windowMs, world.nowMs).values() ?? [])];
    const util = uses.flatMap(({ cpuCores, cpuLimitCores, memoryBytes, memoryLimitBytes, pods }): Use[] =>
      cpuLimitCores === undefined || memoryLimitBytes === undefined
        ? []
        : [{ cpu: cpuCores / (pods * cpuLimitCores), memory: memoryBytes / memoryLimitBytes }],
    );
    return reward(qosReward(Math.max(...ratios), 1), utilReward(util));
  };
}
