import type { Application } from "@tradewind/core/contract/application.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { containerSize } from "./size.ts";
import { shareOverOrFailed } from "./objective.ts";
import { userFlows } from "./user-flows.ts";

/** Requests of users in a window, by the objective: bad are those that took longer, and those that failed. */
export interface JudgedRequests {
  readonly good: number;
  readonly bad: number;
  /** Share of them that must be within their objectives, in (0, 1). */
  readonly objectiveRatio: number;
}

/** Requests that users started in the window: counted where the source counts them, else read off the percentiles. */
export function judgedRequests(
  { endMs, flows, startMs }: WindowSet,
  application: Application,
): JudgedRequests {
  const { percentile } = application.objective;
  let good = 0;
  let bad = 0;
  let allowed = 0;
  for (const { flow, objective } of userFlows(flows, application).held) {
    const requests = (flow.requestsPerSecond * (endMs - startMs)) / 1e3;
    const over = requests * shareOverOrFailed(flow, objective.tailSeconds);
    good += requests - over;
    bad += over;
    allowed += requests * (percentile - objective.percentile);
  }
  return { good, bad, objectiveRatio: percentile - allowed / Math.max(good + bad, Number.MIN_VALUE) };
}

/** What an application costs an hour, in the currency of its prices. */
export interface HourlyCost {
  /** Of what was allocated in the window. */
  readonly running: number;
  /** Of the same services at the sizes that the plan asks for. */
  readonly recommended: number;
}

/**
 * Cost of the services whose size is known both in the window and in the plan; undefined when there is none. A plan that leaves the
 * size of containers alone is reckoned with what they have.
 */
export function hourlyCost(
  { windows }: WindowSet,
  { wishes }: Pick<Plan, "wishes">,
  { prices }: Pick<Application, "prices">,
): HourlyCost | undefined {
  const wanted = new Map(wishes.map(({ allocation, service }) => [service, allocation]));
  let cost: HourlyCost | undefined;
  for (const window of windows) {
    const container = containerSize(window);
    const allocation = wanted.get(window.service);
    if (container === undefined || allocation === undefined || window.replicasReady === undefined) continue;
    const { cpuCores = container.cpuCores, memoryBytes = container.memoryBytes, replicas } = allocation;
    const { running, recommended } = cost ?? { running: 0, recommended: 0 };
    cost = {
      running: running + costPerHour({ ...container, replicas: window.replicasReady }, prices),
      recommended: recommended + costPerHour({ cpuCores, memoryBytes, replicas }, prices),
    };
  }
  return cost;
}
