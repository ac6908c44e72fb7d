import { EpochMs, NodeClassName, NonNegative, ServiceName } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";
import { BURST_COUNT } from "../../../models/queue/cpu-bursts.ts";
import { LevelMemory } from "../../../models/level/level-memory.ts";
import { NetworkMemory } from "../../../models/network/network-memory.ts";
import { ProfileState } from "../../../models/queue/tracked-profile.ts";
import { ClassSpeedMemory } from "../../../nodes/class-speeds.ts";
import { BudgetMemory } from "./error-budget.ts";
import { emptyOutlook, OutlookState } from "./outlook.ts";

/** What lies outside the services of a route, as steady windows have shown it. */
export const RouteMemory = z.strictObject({
  route: z.string().max(200),
  /** Measured less composed tail, seconds, and measured over composed, of steady windows, oldest first. */
  excessSeconds: z.array(z.number()).max(64),
  excessRatios: z.array(z.number().positive()).max(64),
  /** Steady windows seen. */
  windows: NonNegative,
  /** Standard deviation of ln(latency) of its requests. */
  spread: NonNegative,
  /** Discounted mean of the squares of ln(measured / predicted tail) of steady windows, less chance. */
  square: NonNegative,
  /** Requests to each service that one of its requests made when few failed. */
  visits: z
    .array(z.strictObject({ service: ServiceName, perRequest: NonNegative }))
    .max(1_000)
    .optional(),
  /** Windows in a row in which it missed its objective and the models did not explain it; absent: none. */
  unexplainedWindows: NonNegative.optional(),
});
export type RouteMemory = z.infer<typeof RouteMemory>;

/** Calls of a service, and the requests of the application that made them. */
export const Calls = z.strictObject({ calls: NonNegative, requests: NonNegative });
export type Calls = z.infer<typeof Calls>;

/** What is known of the queue of a service that waited for something else than its CPU. */
export const OwnQueue = z.discriminatedUnion("found", [
  /** It waits, for so many windows in a row. */
  z.strictObject({ found: z.literal("wait"), windows: NonNegative }),
  /** More replicas are tried: how many there were, what they answered at most, and windows in which all of the new ones served. */
  z.strictObject({
    found: z.literal("trial"),
    sinceMs: EpochMs,
    fromReplicas: NonNegative,
    replicas: NonNegative,
    answeredPerSecond: NonNegative,
    windows: NonNegative,
  }),
  /** More replicas helped: each has a queue of its own, and answers so many requests per second at most. */
  z.strictObject({ found: z.literal("own"), atMs: EpochMs, perReplica: z.number().positive() }),
  /** More replicas did not help. */
  z.strictObject({ found: z.literal("none"), atMs: EpochMs }),
]);
export type OwnQueue = z.infer<typeof OwnQueue>;

export const ServiceModelMemory = z.strictObject({
  service: ServiceName,
  profile: ProfileState,
  /** What the latency network has made of its windows; absent before the first. */
  network: NetworkMemory.optional(),
  /** What its last windows say of its self time where it runs; absent before the first. */
  level: LevelMemory.optional(),
  /** In memories of releases that trained residuals. */
  surroundings: z.unknown().optional(),
  /** End of the last window in which a container was killed for lack of memory. */
  killedMs: EpochMs.optional(),
  /** How unevenly its containers ask for their CPU; absent before any with a limit was measured. */
  bursts: z.array(z.number()).length(BURST_COUNT).readonly().optional(),
  /** The program that was measured. */
  revision: z.string().max(253).optional(),
  /** Windows measured. */
  windows: NonNegative,
  calls: Calls.optional(),
  /** CPU a request of a young container over that of one which is not, >= 1. */
  warmUpFactor: z.number().min(1).optional(),
  /** More replicas that were decided on and do not all serve yet. */
  rising: z.strictObject({ sinceMs: EpochMs, replicas: NonNegative }).optional(),
  /** CPU of all containers that a miss asked for which the models did not explain, cores, and the end of the last window that did. */
  grownAtLimit: z.strictObject({ cores: NonNegative, atMs: EpochMs }).optional(),
  /** Absent while nothing but CPU was waited for. */
  ownQueue: OwnQueue.optional(),
  /** Its self-time tail while all routes through it met their objectives, seconds: discounted mean of such windows; absent before any. */
  metTailSeconds: NonNegative.optional(),
  /** Containers by class of their node in the last window: the profile is that of requests on these. Absent where nodes are alike. */
  onClasses: z.record(NodeClassName, NonNegative).optional(),
});
export type ServiceModelMemory = z.infer<typeof ServiceModelMemory>;

/** What the decision by cost carries from one window to the next. */
export const CostMemory = z.strictObject({
  outlook: OutlookState,
  /** End of the last window learnt from; absent in memories of releases that did not note it. */
  windowEndMs: EpochMs.optional(),
  /** Time from a decision for more replicas until they serve, as measured, seconds. */
  startSeconds: NonNegative,
  /** Of each objective that requests are held to; none in memories of releases that did not count. */
  budgets: z.array(BudgetMemory).max(1_000).default([]),
  routes: z.array(RouteMemory).max(1_000),
  services: z.array(ServiceModelMemory).max(10_000),
  /** Absent while nodes of one class only were seen. */
  classSpeeds: ClassSpeedMemory.optional(),
});
export type CostMemory = z.infer<typeof CostMemory>;

export function emptyMemory(startSeconds: number): CostMemory {
  return { startSeconds, outlook: emptyOutlook(), budgets: [], routes: [], services: [] };
}

/** The memory after the wall clock was set, with all its times moved. */
export function shiftMemory(memory: CostMemory, moved: (ms: number) => number): CostMemory {
  const { budgets, outlook, services, windowEndMs } = memory;
  return {
    ...memory,
    ...(windowEndMs !== undefined && { windowEndMs: moved(windowEndMs) }),
    budgets: budgets.map((each) => {
      const { atMs, unexplainedMs, sinceMs } = each;
      return Object.assign({}, each, {
        sinceMs: moved(sinceMs),
        atMs: moved(atMs),
        ...(unexplainedMs !== undefined && { unexplainedMs: moved(unexplainedMs) }),
      });
    }),
    outlook: {
      ...outlook,
      foresight: outlook.foresight.map((each) => ({
        ...each,
        series: { ...each.series, endMs: each.series.endMs > 0 ? moved(each.series.endMs) : 0 },
      })),
      points: outlook.points.map((each) => Object.assign({}, each, { endMs: moved(each.endMs) })),
    },
    services: services.map((each) => {
      const { grownAtLimit, killedMs, ownQueue, profile, rising } = each;
      return Object.assign({}, each, {
        profile: profile.atMs === undefined ? profile : { ...profile, atMs: moved(profile.atMs) },
        ...(killedMs !== undefined && { killedMs: moved(killedMs) }),
        ...(ownQueue && { ownQueue: shiftQueue(ownQueue, moved) }),
        ...(grownAtLimit && { grownAtLimit: { ...grownAtLimit, atMs: moved(grownAtLimit.atMs) } }),
        ...(rising && { rising: { sinceMs: moved(rising.sinceMs), replicas: rising.replicas } }),
      });
    }),
  };
}

function shiftQueue(ownQueue: OwnQueue, moved: (ms: number) => number): OwnQueue {
  if (ownQueue.found === "wait") return ownQueue;
  return ownQueue.found === "trial"
    ? { ...ownQueue, sinceMs: moved(ownQueue.sinceMs) }
    : { ...ownQueue, atMs: moved(ownQueue.atMs) };
}
