import { z } from "zod";
import { Count, EpochMs, LatencyObjective, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";
import { MOST_ROUTE_CHARACTERS } from "./route-objective.ts";

const RouteName = z.string().min(1).max(MOST_ROUTE_CHARACTERS);

/** What a route's requests are. */
export const ROUTE_CLASSES = ["request", "stream", "work", "probe", "other"] as const;

/** One operation by which traces begin, in the last window. */
export const ListedRoute = z.strictObject({
  route: RouteName,
  /** Where it begins. */
  service: ServiceName,
  /** `request`: of users, through an entry; `other`: of a service that is no entry. */
  class: z.enum(ROUTE_CLASSES),
  /** Whether it is held to an objective. */
  counts: z.boolean(),
  /** Why it counts or does not, in words. */
  why: z.string().max(500),
  requestsPerSecond: NonNegative,
  /** Absent of a stream. */
  p50Seconds: NonNegative.optional(),
  p95Seconds: NonNegative.optional(),
  /** Absent where it does not count, as the two after it. */
  objective: LatencyObjective.optional(),
  /** What a miss costs over one of a route that no item of `objectives` names. */
  weight: z.number().positive().optional(),
  /** Share of the requests that took longer than the objective, or failed. */
  overRatio: Ratio.optional(),
});
export type ListedRoute = z.infer<typeof ListedRoute>;

/** What is likely to be meant otherwise. */
export const RouteSurprise = z.strictObject({
  /** The route, the `route` of an item of `objectives`, or the entry that it is about. */
  about: z.string().max(253),
  message: z.string().max(500),
  remedy: z.string().max(500),
});
export type RouteSurprise = z.infer<typeof RouteSurprise>;

export const ROUTE_LIST_SCHEMA = "tradewind.dev/routes/v1";
export const MOST_LISTED_ROUTES = 500;

/** The routes of the last window: `GET /v1/routes` of the predictor and the scaler. */
export const RouteList = z.strictObject({
  schema: z.literal(ROUTE_LIST_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  entries: z.array(ServiceName).max(100),
  startMs: EpochMs,
  endMs: EpochMs,
  /** Of routes that no item of `objectives` names. */
  objective: LatencyObjective,
  /** Those that count first, then by their rate. */
  routes: z.array(ListedRoute).max(MOST_LISTED_ROUTES),
  /** Further ones that are left out. */
  moreRoutes: Count,
  surprises: z.array(RouteSurprise).max(MOST_LISTED_ROUTES),
});
export type RouteList = z.infer<typeof RouteList>;
