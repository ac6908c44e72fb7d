import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Obstacle } from "../contenders/run.ts";
import type { Account, RouteAccount, World } from "../world.ts";

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

/** What DRPC's reward lacks, for a teacher that pays for what it does; both are off to restate the paper. */
export interface RewardTerms {
  /** For the share of deployments whose replicas changed. */
  readonly churn: number;
  /** For what the window cost beyond the first, as a share of that. */
  readonly cost: number;
}

export const AS_PRINTED: RewardTerms = { churn: 0, cost: 0 };
export const OUR_TERMS: RewardTerms = { churn: 0.02, cost: 0.2 };

/** What one window was worth. */
export interface WindowReward {
  readonly reward: number;
  /** Share of the requests that ended in the window and failed. */
  readonly failedShare: number;
}

/** Measures the reward of each window of a run. @returns undefined in a window in which no request ended */
export function rewardMeter(
  { plant }: Obstacle,
  terms: RewardTerms = AS_PRINTED,
): (world: World) => WindowReward | undefined {
  let before = new Map<string, RouteAccount>();
  let account: Account | undefined;
  let replicas = new Map<string, number>();
  let firstCost: number | undefined;
  const windowMs = 1e3 * plant.windowSeconds;
  return (world) => {
    const now = world.account();
    const ended = now.routes.map((route) => ({ route, last: before.get(route.route) }));
    const ratios = ended.flatMap(({ last, route: { latency, objectiveSeconds, percentile } }) => {
      const since = last === undefined ? latency : latency.since(last.latency);
      return since.count === 0 ? [] : [since.quantileSeconds(percentile) / objectiveSeconds];
    });
    const requests = sum(ended.map(({ last, route }) => route.requests - (last?.requests ?? 0)));
    const failed = sum(ended.map(({ last, route }) => route.failed - (last?.failed ?? 0)));
    const spent = account && costBetween(account, now, plant.application.prices);
    const wanted = new Map(world.services.map((service) => [service, world.replicas(service)]));
    const changed = [...wanted].filter(([service, count]) => (replicas.get(service) ?? count) !== count);
    before = new Map(now.routes.map((route) => [route.route, route]));
    [account, replicas] = [now, wanted];
    firstCost ??= spent;
    if (ratios.length === 0) return undefined;
    const uses = [...(world.serviceUses?.(world.nowMs - windowMs, world.nowMs).values() ?? [])];
    const util = uses.flatMap(({ cpuCores, cpuLimitCores, memoryBytes, memoryLimitBytes, pods }): Use[] =>
      cpuLimitCores === undefined || memoryLimitBytes === undefined
        ? []
        : [{ cpu: cpuCores / (pods * cpuLimitCores), memory: memoryBytes / memoryLimitBytes }],
    );
    const more = spent === undefined || firstCost === undefined ? 0 : spent / firstCost - 1;
    const paid = terms.churn * (changed.length / Math.max(1, wanted.size)) + terms.cost * more;
    return {
      reward: reward(qosReward(Math.max(...ratios), 1), utilReward(util)) - paid,
      failedShare: requests > 0 ? failed / requests : 0,
    };
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

/** Mean price per hour of what was held between two accounts; undefined without time between them. */
function costBetween(from: Account, to: Account, prices: Prices): number | undefined {
  const seconds = (to.atMs - from.atMs) / 1e3;
  if (seconds <= 0) return undefined;
  const used = {
    cpuCores: (to.coreSeconds - from.coreSeconds) / seconds,
    memoryBytes: (to.byteSeconds - from.byteSeconds) / seconds,
  };
  return costPerHour(used, prices);
}
