import { z } from "zod";
import { Count, EpochMs, NonNegative, orAbsent, patternedText, Ratio } from "./quantity.ts";

const Text = z.string().max(500);
const Name = z.string().max(253);
const Seconds = NonNegative;
/** The first names of a list, and how many more there are. */
const Named = { services: z.array(Name).max(3), moreServices: Count.optional() };
const Latency = {
  /** Of the objective, 0.95 for p95. */
  percentile: Ratio,
  latencySeconds: Seconds,
  objectiveSeconds: Seconds,
  /** Absent where it is the slowest of all routes, or there is only one. */
  route: Name.optional(),
  /** Present where the latency is that of fewer requests than it takes to tell it. */
  fewerThanRequests: Count.optional(),
};

/** Replicas that a calendar asks for in a window of time. */
const Scheduled = { calendar: Name, replicas: Count, fromMs: EpochMs, untilMs: EpochMs };

/** A change of one size of a service: replicas, or cores or bytes of each container. */
const Proposed = {
  change: Name,
  resource: z.enum(["cpu", "memory", "replicas"]),
  from: NonNegative,
  to: NonNegative,
  expiresMs: EpochMs,
};

const Rival = z.object({ application: Name, service: Name, priority: z.number() });

const reason = <Code extends string, Facts extends z.ZodRawShape>(code: Code, facts: Facts) =>
  z.object({ code: z.literal(code), ...facts });

/**
 * Why a size, a decision, a guard step or a hold is what it is: a code with its facts. `core/contract/reasons.ts` has the sentence of each,
 * `docs/reasons.md` what it means for a person on call.
 */
export const Reason = z.discriminatedUnion("code", [
  // The objective and the traffic.
  reason("measured", {
    ...Latency,
    /** Of users, all routes together, in the window alone, with the share of them that failed or were over their objectives. */
    requestsPerSecond: NonNegative,
    overRatio: Ratio,
    windowSeconds: Seconds,
  }),
  reason("slo-met", Latency),
  reason("slo-violated", Latency),
  reason("requests-failed", {
    errorRatio: Ratio,
    /** Of the objective: so many may be late. */
    allowedRatio: Ratio,
    /** Absent where it is the worst of all routes, or there is only one. */
    route: Name.optional(),
  }),
  reason("slight-violation", {}),
  reason("traffic-missing", { missing: Text }),
  reason("data-missing", {
    /** Absent where only that something is missing is known. */
    what: z.enum(["replicas", "requests", "self-time", "queue", "traffic"]).optional(),
    /** What of the traffic, in words. */
    missing: Text.optional(),
  }),
  reason("no-user-trace", {}),
  reason("entry-not-traced", { entry: Name, tracedEntries: z.array(Name).max(5) }),
  reason("no-route-held", {
    /** The first of them by name, and how many there are. */
    route: Name,
    routes: Count,
  }),
  reason("no-user-request", {}),
  reason("outcome", {
    ...Latency,
    requestsPerSecond: NonNegative,
    overRatio: Ratio,
    windowSeconds: Seconds,
    /** After the decision. */
    windows: Count,
    mode: Name,
    /** By the models, when it was decided, with the ends of the 90 % interval. */
    wasExpectedSeconds: Seconds.optional(),
    wasExpectedLowSeconds: Seconds.optional(),
    wasExpectedHighSeconds: Seconds.optional(),
  }),
  // Who decides.
  reason("static-policy", {}),
  reason("models-missing", Named),
  reason("cpu-only", {}),
  reason("cpu-unknown", {}),
  reason("no-workloads", { namespace: Name }),
  // What a decision by cost comes to.
  reason("expected-misses", {
    overRatio: NonNegative,
    loadRatio: NonNegative,
    loadErrorRatio: NonNegative,
    forecast: Name,
  }),
  reason("error-budget", {
    /** Shares of the requests over the objective: of the period, of the last minutes, and that may be. */
    spentRatio: Ratio,
    recentRatio: Ratio,
    allowedRatio: Ratio,
    /** Share of those that plans spend. */
    useRatio: Ratio,
    periodSeconds: NonNegative,
    /** What one percent more of the requests over the objective is worth to plans. */
    percentPerHour: NonNegative,
  }),
  reason("miss-unexplained", {
    ...Latency,
    overRatio: Ratio,
    expectedRatio: Ratio,
    /** In a row. */
    windows: Count,
    /** That are at their CPU limit and grow. */
    ...Named,
  }),
  reason("expected", {
    percentile: Ratio,
    /** The one through the service that will stand worst; absent where there is only one. */
    route: Name.optional(),
    /** At the median load that was planned for, with the ends of its 90 % interval. */
    expectedSeconds: Seconds,
    expectedLowSeconds: Seconds,
    expectedHighSeconds: Seconds,
    /** The same at the size before; absent where the size stays. */
    withoutSeconds: Seconds.optional(),
    withoutLowSeconds: Seconds.optional(),
    withoutHighSeconds: Seconds.optional(),
    /** Change of the price of the service, in the application's currency; negative when saved. */
    costPerHour: z.number(),
  }),
  reason("alternative", {
    resource: z.enum(["cpu", "replicas"]),
    /** Cores of each container, or replicas. */
    alternativeSize: NonNegative,
    /** Of the route that `expected` speaks of. */
    alternativeSeconds: Seconds,
    /** Beyond the size decided on: its price, and price, slow requests and pod starts together. */
    alternativeCostPerHour: z.number(),
    alternativeTotalPerHour: z.number(),
  }),
  reason("time-outside", {
    /** What one more replica of the service that helps most takes off the latency. */
    gainSeconds: Seconds,
    latencySeconds: Seconds,
    objectiveSeconds: Seconds,
  }),
  reason("models-far-off", { overRatio: Ratio, expectedRatio: Ratio, route: Name }),
  reason("held-up", {
    /** Self-time tail over what it is while objectives are met. */
    selfTimeRatio: NonNegative,
    cpuRatio: NonNegative,
  }),
  reason("replicas-tried", {
    fromReplicas: Count,
    replicas: Count,
    /** What those that there were answered while requests queued. */
    requestsPerSecond: NonNegative,
  }),
  reason("queue-per-replica", {
    replicas: Count,
    /** The most that one replica answers. */
    requestsPerSecond: NonNegative,
  }),
  reason("replicas-no-help", {}),
  reason("at-cpu-limit", { throttledRatio: Ratio }),
  reason("memory-peak", { fromBytes: NonNegative, toBytes: NonNegative, peakRatio: NonNegative }),
  reason("cpu-cores", { fromCores: NonNegative, toCores: NonNegative }),
  reason("memory-bytes", { fromBytes: NonNegative, toBytes: NonNegative }),
  reason("replicas", {
    fromReplicas: Count,
    toReplicas: Count,
    neededReplicas: Count.optional(),
    /** More than the decision, where the platform has not followed yet. */
    runningReplicas: Count.optional(),
  }),
  reason("pods-unscheduled", { unscheduledPods: Count }),
  reason("room-traded", Named),
  // What a decision by CPU demand and queues comes to.
  reason("cpu-demand", { cpuRatio: NonNegative, targetRatio: NonNegative }),
  reason("queue-share", { queueRatio: NonNegative.optional(), cpuRatio: NonNegative.optional() }),
  reason("adds-replicas", { replicas: Count }),
  reason("idle", { cpuRatio: NonNegative.optional() }),
  reason("others-first", { targetRatio: NonNegative.optional() }),
  reason("replicas-starting", Named),
  reason("queue-draining", Named),
  reason("growth-without-effect", {}),
  reason("budget", { budgetReplicas: Count, overReplicas: Count.optional() }),
  reason("scale-down", { metWindows: Count, services: Count }),
  reason("scale-down-waits", { metWindows: Count, neededWindows: Count }),
  reason("scale-down-unsafe", {}),
  // What a scaler decides while no predictor answers.
  reason("predictor-silent", { silentSeconds: Seconds }),
  reason("student", { modelHash: Name, loadRatio: NonNegative, forecastRatio: NonNegative }),
  reason("silence-limit", { plannedReplicas: Count, mostReplicas: Count }),
  // What the guard does.
  reason("guard-step", {
    /** The last step that changed the sizes. */
    step: Name,
    /** What was asked for before; absent where that part came through. */
    proposedReplicas: Count.optional(),
    proposedCores: NonNegative.optional(),
    proposedBytes: NonNegative.optional(),
  }),
  reason("min-replicas", { minReplicas: Count }),
  reason("max-replicas", { maxReplicas: Count.optional() }),
  reason("container-bounds", {}),
  reason("change-limit", { fromReplicas: Count, limitReplicas: Count }),
  reason("container-change-limit", { growRatio: NonNegative, shrinkRatio: Ratio }),
  reason("growth-limit", { fromReplicas: Count, mostReplicas: Count }),
  reason("approval-awaited", Proposed),
  reason("approval-refused", Proposed),
  reason("asked-change", { ...Proposed, by: Name }),
  reason("rolled-back", { replicas: Count, times: Count, untilMs: EpochMs }),
  reason("calendar-floor", Scheduled),
  reason("calendar-ceiling", Scheduled),
  reason("quota", { quota: Name, mostReplicas: Count, ahead: z.array(Rival).max(5) }),
  reason("quota-first", { quota: Name, behind: z.array(Rival).max(5) }),
  reason("brownout", {
    for: Rival,
    /** That had no room; absent where no node had. */
    quota: Name.optional(),
    leastReplicas: Count,
  }),
  reason("brownout-first", { services: z.array(Rival.omit({ priority: true })).max(5) }),
  reason("disruption-budget", { budget: Name, allowedReplicas: Count, leastReplicas: Count }),
  reason("restart-grace", {
    /** `other-predictor`: another predictor's plans are followed since. */
    started: z.enum(["exporter", "predictor", "other-predictor", "replica"]),
    agoSeconds: Seconds,
    graceSeconds: Seconds,
  }),
  reason("override", {
    override: z.enum(["pause", "hold", "floor", "undo"]),
    by: Name,
    why: Text,
    replicas: Count.optional(),
    untilMs: EpochMs,
  }),
  reason("running-unknown", {}),
  reason("scaling-paused", {}),
  reason("metric-type-value", {}),
  reason("stale-measurements", { ageSeconds: Seconds, limitSeconds: Seconds }),
  reason("unusable-number", { field: Name, value: Text }),
  reason("unreadable", { problem: Text }),
]);
export type Reason = z.infer<typeof Reason>;

/**
 * A reason as it is read. Another release may know further codes, or other facts of a code: of those the code is kept, and the text
 * beside them says what they mean.
 */
const ReadReason = z.union([Reason, z.object({ code: patternedText(63, /^[a-z][a-z0-9-]{0,62}$/) })]);
export type ReadReason = z.infer<typeof ReadReason>;

/** Most reasons beside one text. */
export const MOST_REASONS = 32;

/** The reasons that a text beside them says in words; absent in what release 0.1.0 wrote. */
export const Reasons = orAbsent(z.array(ReadReason).max(MOST_REASONS));
export type Reasons = z.infer<typeof Reasons>;

/** Why one decision on a service is what it is, in one object: what a row of the audit trail says of it. */
export const DecisionReason = z.object({
  /** Of the guard step that changed the sizes last, else of the cause that is particular to the service, else by direction and objective. */
  code: patternedText(63, /^[a-z][a-z0-9-]{0,62}$/),
  text: z.string().max(1_000),
  /** Numbers and names of all its reasons, with the units last in their names. */
  facts: z.record(z.string().max(64), z.union([z.number(), z.string().max(500)])),
});
export type DecisionReason = z.infer<typeof DecisionReason>;
