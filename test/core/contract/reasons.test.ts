import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readWith } from "@tradewind/core/values/config.ts";
import { Wish } from "@tradewind/core/contract/plan.ts";
import { Reason, Reasons } from "@tradewind/core/contract/reason.ts";
import { codesOf, distinct, inWords, sentenceOf } from "@tradewind/core/contract/reasons.ts";
import { EXPECTED, wishOf } from "../../exporter/wish.ts";

const REASON_CODES: readonly string[] = Reason.options.map(({ shape }) => shape.code.value);

const SLOW = {
  code: "slo-violated",
  percentile: 0.95,
  latencySeconds: 0.412,
  objectiveSeconds: 0.3,
} as const;

const OUTCOME = {
  code: "outcome",
  percentile: 0.95,
  latencySeconds: 0.21,
  objectiveSeconds: 0.2,
  requestsPerSecond: 31,
  overRatio: 0.062,
  windowSeconds: 15,
  windows: 3,
  mode: "act",
  wasExpectedSeconds: 0.185,
  wasExpectedLowSeconds: 0.12,
  wasExpectedHighSeconds: 0.26,
} as const;

/** Every sentence there is. The first one of each code is the one in docs/reasons.md. */
const EXAMPLES: readonly (readonly [Reason, string])[] = [
  [
    { ...SLOW, code: "measured", requestsPerSecond: 31.4, overRatio: 0.123, windowSeconds: 15 },
    "p95 is 412 ms, objective 300 ms (137 %), 12.3 % of 31 requests/s over it or failed",
  ],
  [
    { code: "slo-met", percentile: 0.99, latencySeconds: 1.5, objectiveSeconds: 2, route: "GET /hotels" },
    "p99 of 'GET /hotels' is 1.5 s, objective 2.0 s (75 %)",
  ],
  [SLOW, "p95 is 412 ms, objective 300 ms (137 %)"],
  [{ ...SLOW, fewerThanRequests: 20 }, "p95 is 412 ms, objective 300 ms (137 %), by fewer than 20 requests"],
  [
    { code: "requests-failed", errorRatio: 0.98, allowedRatio: 0.05 },
    "98 % of the requests failed, 5 % may be late",
  ],
  [
    { code: "requests-failed", errorRatio: 0.1, allowedRatio: 0.05, route: "GET /hotels" },
    "10 % of the requests of 'GET /hotels' failed, 5 % may be late",
  ],
  [{ code: "slight-violation" }, "a slight miss: waits for a second window"],
  [
    { code: "traffic-missing", missing: "spans of node-3 are missing" },
    "a part of the traffic was not seen: spans of node-3 are missing",
  ],
  [{ code: "data-missing" }, "nothing is removed: latency, load or replicas are missing"],
  [{ code: "data-missing", what: "replicas" }, "nothing is removed: its replicas are not known"],
  [
    { code: "data-missing", what: "requests" },
    "nothing is removed: no source reports requests, and no caller vouches that there were none",
  ],
  [{ code: "data-missing", what: "self-time" }, "nothing is removed: its self time is not known"],
  [{ code: "data-missing", what: "queue" }, "nothing is removed: its queue is not known"],
  [
    { code: "data-missing", what: "traffic", missing: "spans of node-3 are missing" },
    "nothing is removed: spans of node-3 are missing",
  ],
  [{ code: "no-user-trace" }, "no trace of a user's request"],
  [
    { code: "entry-not-traced", entry: "frontend", tracedEntries: ["gateway", "cron"] },
    "no route enters through 'frontend' (traces enter through gateway, cron)",
  ],
  [
    { code: "no-route-held", route: "GET /healthz", routes: 1 },
    "no route is held to an objective: 'GET /healthz' is excluded or a stream",
  ],
  [{ code: "no-user-request" }, "no user's request passes it"],
  [
    OUTCOME,
    "3 windows later p95 is 210 ms, objective 200 ms (105 %), 6.20 % of 31 requests/s over it or failed; expected 185 ms (120-260 ms)",
  ],
  [
    { ...OUTCOME, wasExpectedSeconds: undefined, mode: "observe" },
    "3 windows later p95 is 210 ms, objective 200 ms (105 %), 6.20 % of 31 requests/s over it or failed; not carried out in mode observe",
  ],
  [{ code: "static-policy" }, "the operator chose the static policy"],
  [
    { code: "models-missing", services: ["cart", "rate", "search"], moreServices: 2 },
    "no calibrated model yet of cart, rate, search and 2 more",
  ],
  [{ code: "cpu-only" }, "decides by CPU use alone"],
  [{ code: "cpu-unknown" }, "no CPU use or capacity is known"],
  [{ code: "no-workloads", namespace: "shop" }, "no service has a workload in 'shop'"],
  [
    { code: "expected-misses", overRatio: 0.021, loadRatio: 1.2, loadErrorRatio: 0.1, forecast: "line" },
    "expects 2 % of the requests over the objective at 1.20 times the load (± 10 %, forecast 'line')",
  ],
  [
    {
      code: "error-budget",
      spentRatio: 0.004,
      recentRatio: 0.01,
      allowedRatio: 0.05,
      useRatio: 0.5,
      periodSeconds: 86_400,
      percentPerHour: 0.004,
    },
    "error budget: 0.4 % of 2.5 % spent today; one more percent over is worth 0.004/h",
  ],
  [
    {
      code: "error-budget",
      spentRatio: 0,
      recentRatio: 0,
      allowedRatio: 0.01,
      useRatio: 1,
      periodSeconds: 30 * 86_400,
      percentPerHour: 12,
    },
    "error budget: 0.0 % of 1.0 % spent in the last 30 d; one more percent over is worth 12/h",
  ],
  [
    {
      code: "miss-unexplained",
      percentile: 0.95,
      latencySeconds: 1.09,
      objectiveSeconds: 0.05,
      overRatio: 0.46,
      expectedRatio: 0.02,
      windows: 3,
      services: ["frontend"],
    },
    "46 % of the requests are over the objective for 3 windows where the models expect 2 %: not explained by them, frontend grows at its CPU limit",
  ],
  [
    {
      code: "miss-unexplained",
      percentile: 0.95,
      latencySeconds: 1.09,
      objectiveSeconds: 0.05,
      route: "GET /dispatch",
      overRatio: 0.46,
      expectedRatio: 0.02,
      windows: 3,
      services: [],
    },
    "46 % of the requests of 'GET /dispatch' are over the objective for 3 windows where the models expect 2 %: not explained by them, no service on the route is at its CPU limit",
  ],
  [EXPECTED, "p95 then 185 ms (120-260 ms), without it 610 ms (480-790 ms); +0.012/h"],
  [
    { ...EXPECTED, route: "GET /hotels", expectedHighSeconds: 1.2, costPerHour: -0.25 },
    "p95 of 'GET /hotels' then 185 ms (0.1-1.2 s), without it 610 ms (480-790 ms); -0.250/h",
  ],
  [
    {
      code: "expected",
      percentile: 0.95,
      expectedSeconds: 0.14,
      expectedLowSeconds: 0.12,
      expectedHighSeconds: 0.16,
      costPerHour: 0,
    },
    "p95 140 ms (120-160 ms) expected",
  ],
  [
    {
      code: "alternative",
      resource: "replicas",
      alternativeSize: 3,
      alternativeSeconds: 0.23,
      alternativeCostPerHour: -0.006,
      alternativeTotalPerHour: 0.034,
    },
    "3 replicas instead: 230 ms, -0.006/h; with slow requests and starts +0.034/h",
  ],
  [
    {
      code: "alternative",
      resource: "cpu",
      alternativeSize: 0.5,
      alternativeSeconds: 0.2,
      alternativeCostPerHour: 0.001,
      alternativeTotalPerHour: 0.0012,
    },
    "0.50 cores each instead: 200 ms, +0.001/h; with slow requests and starts +0.0012/h",
  ],
  [
    { code: "time-outside", gainSeconds: 0.004, latencySeconds: 0.471, objectiveSeconds: 0.2 },
    "one more replica of any service takes at most 4 ms off 471 ms (objective 200 ms): the time is outside",
  ],
  [
    { code: "models-far-off", overRatio: 0.64, expectedRatio: 0.04, route: "GET /hotels" },
    "64 % of the requests of 'GET /hotels' are over the objective where the models expect 4 %: they do not explain it",
  ],
  [
    { code: "held-up", selfTimeRatio: 24, cpuRatio: 0.05 },
    "takes 24.0 times as long as while the objective was met, at 5 % CPU use: it waits for something else, and nothing is taken of it",
  ],
  [
    { code: "replicas-tried", fromReplicas: 1, replicas: 3, requestsPerSecond: 3.2 },
    "tries 3 replicas in place of 1, which answer 3.2 requests/s while others wait: they help where each has a queue of its own",
  ],
  [
    { code: "queue-per-replica", replicas: 3, requestsPerSecond: 3.2 },
    "more replicas have shown that each has a queue of its own and answers 3.2 requests/s at most: 3 replicas at least",
  ],
  [
    { code: "replicas-no-help" },
    "more replicas were tried and did not help: what it waits for is not its own, and none is added for it",
  ],
  [
    { code: "at-cpu-limit", throttledRatio: 0.99 },
    "99 % of its CPU time is throttled in a miss that the models do not explain: grows without them",
  ],
  [
    { code: "memory-peak", fromBytes: 2 ** 30, toBytes: 2 ** 28, peakRatio: 1.3 },
    "memory 1024 → 256 MiB each: 1.3 times the most used",
  ],
  [{ code: "cpu-cores", fromCores: 0.5, toCores: 0.8 }, "0.50 → 0.80 cores each"],
  [{ code: "memory-bytes", fromBytes: 2 ** 30, toBytes: 2 ** 28 }, "memory 1024 → 256 MiB each"],
  [{ code: "replicas", fromReplicas: 2, toReplicas: 4 }, "2 → 4 replicas"],
  [{ code: "replicas", fromReplicas: 2, toReplicas: 1 }, "2 → 1 replica"],
  [{ code: "replicas", fromReplicas: 2, toReplicas: 4, neededReplicas: 7 }, "2 → 4 replicas of 7 needed"],
  [{ code: "replicas", fromReplicas: 4, toReplicas: 4, runningReplicas: 5 }, "keep 4 replicas (5 still run)"],
  [
    { code: "pods-unscheduled", unscheduledPods: 2 },
    "no node has room for 2 of its pods: they stay asked for and do not count as serving",
  ],
  [
    { code: "room-traded", services: ["front", "price"] },
    "gives room to pods of front, price that no node has room for",
  ],
  [
    { code: "cpu-demand", cpuRatio: 1.45, targetRatio: 0.7 },
    "CPU demand is 145 % of what its ready replicas have, target 70 %",
  ],
  [
    { code: "queue-share", queueRatio: 0.74, cpuRatio: 0.6 },
    "it has 74 % of the estimated queue at 60 % CPU use",
  ],
  [{ code: "adds-replicas", replicas: 3 }, "adds 3 replicas"],
  [{ code: "idle", cpuRatio: 0.12 }, "its CPU use is 12 % and nothing queues: more replicas would not help"],
  [{ code: "idle" }, "no service on a slow route is busy: more replicas would not help"],
  [{ code: "others-first", targetRatio: 0.7 }, "others use more than 70 % of their CPU, it does not"],
  [{ code: "others-first" }, "more requests queue in others"],
  [
    { code: "replicas-starting", services: ["search"] },
    "waits until new replicas of search have served a whole window",
  ],
  [{ code: "queue-draining", services: ["search"] }, "waits until the queue of search is worked off"],
  [{ code: "growth-without-effect" }, "more replicas have shown no effect: adds no more for latency"],
  [
    { code: "budget", budgetReplicas: 12, overReplicas: 1 },
    "shares a budget of 12 replicas, 1 over it for minimum replicas and missing data",
  ],
  [{ code: "budget", budgetReplicas: 12 }, "shares a budget of 12 replicas"],
  [
    { code: "scale-down", metWindows: 20, services: 2 },
    "well within the objective for 20 windows: takes replicas from 2 services",
  ],
  [
    { code: "scale-down-waits", metWindows: 3, neededWindows: 20 },
    "well within the objective for 3 of the 20 windows that a scale-down waits for",
  ],
  [{ code: "scale-down-unsafe" }, "no replica can go without risking the objective"],
  [{ code: "predictor-silent", silentSeconds: 40.2 }, "no plan for 40 s"],
  [
    { code: "student", modelHash: "0123456789abcdef", loadRatio: 2.1, forecastRatio: 3.5 },
    "a student of the planner decides at 2.10 times the last plan's load, 3.50 times expected",
  ],
  [
    { code: "silence-limit", plannedReplicas: 4, mostReplicas: 16 },
    "without a predictor at most 16 replicas follow the 4 of the last plan",
  ],
  [
    { code: "guard-step", step: "change-limit", proposedReplicas: 6 },
    "by guard step change-limit; proposed: 6 replicas",
  ],
  [
    { code: "guard-step", step: "bounds", proposedCores: 0.5, proposedBytes: 2 ** 28 },
    "by guard step bounds; proposed: 0.50 cores each, 256 MiB each",
  ],
  [{ code: "min-replicas", minReplicas: 2 }, "the service keeps at least 2 replicas"],
  [{ code: "max-replicas", maxReplicas: 20 }, "the service may have at most 20 replicas"],
  [{ code: "max-replicas" }, "every service that could help has as many replicas as it may"],
  [{ code: "container-bounds" }, "container sizes brought to a whole step inside their bounds"],
  [
    { code: "change-limit", fromReplicas: 5, limitReplicas: 19 },
    "within 12 s replicas go from 5 to at most 19",
  ],
  [
    { code: "change-limit", fromReplicas: 5, limitReplicas: 3 },
    "within 12 s replicas go from 5 to at least 3",
  ],
  [
    { code: "container-change-limit", growRatio: 3, shrinkRatio: 0.5 },
    "within 12 s a container becomes at most 3 times as large and keeps at least 50 %",
  ],
  [
    { code: "growth-limit", fromReplicas: 4, mostReplicas: 8 },
    "latency, load or replicas are missing: growth from 4 replicas is limited to 8",
  ],
  [
    {
      code: "approval-awaited",
      change: "3f9a2b77c1",
      resource: "replicas",
      from: 5,
      to: 12,
      expiresMs: Date.UTC(2026, 6, 6, 8, 30),
    },
    "5 → 12 replicas waits for approval: tradewind approve 3f9a2b77c1",
  ],
  [
    {
      code: "approval-awaited",
      change: "3f9a2b77c1",
      resource: "cpu",
      from: 0.2,
      to: 0.8,
      expiresMs: Date.UTC(2026, 6, 6, 8, 30),
    },
    "0.20 → 0.80 cores each waits for approval: tradewind approve 3f9a2b77c1",
  ],
  [
    {
      code: "approval-refused",
      change: "3f9a2b77c1",
      resource: "memory",
      from: 0,
      to: 2 ** 28,
      expiresMs: Date.UTC(2026, 6, 6, 8, 30),
    },
    "256 MiB each was refused (3f9a2b77c1): it is not proposed again before 2026-07-06T08:30Z",
  ],
  [
    {
      code: "asked-change",
      change: "3f9a2b77c1",
      resource: "replicas",
      from: 5,
      to: 7,
      expiresMs: Date.UTC(2026, 6, 6, 8, 30),
      by: "small-model",
    },
    "5 → 7 replicas at least until 2026-07-06T08:30Z, asked for by small-model (3f9a2b77c1)",
  ],
  [
    { code: "rolled-back", replicas: 6, times: 1, untilMs: Date.UTC(2026, 6, 6, 8, 30) },
    "the objective was missed after a change that took away: keeps at least 6 replicas until 2026-07-06T08:30Z",
  ],
  [
    {
      code: "calendar-floor",
      calendar: "morning",
      replicas: 12,
      fromMs: Date.UTC(2026, 6, 6, 6, 45),
      untilMs: Date.UTC(2026, 6, 6, 8, 30),
    },
    "calendar 'morning' keeps at least 12 replicas from 2026-07-06T06:45Z to 2026-07-06T08:30Z",
  ],
  [
    {
      code: "calendar-ceiling",
      calendar: "night",
      replicas: 3,
      fromMs: Date.UTC(2026, 6, 6, 20),
      untilMs: Date.UTC(2026, 6, 7, 4),
    },
    "calendar 'night' keeps at most 3 replicas from 2026-07-06T20:00Z to 2026-07-07T04:00Z",
  ],
  [
    {
      code: "quota",
      quota: "team",
      mostReplicas: 3,
      ahead: [{ application: "hotel", service: "search", priority: 100 }],
    },
    "quota 'team' has room for 3 replicas after search of hotel (priority 100)",
  ],
  [{ code: "quota", quota: "team", mostReplicas: 1, ahead: [] }, "quota 'team' has room for 1 replica"],
  [
    {
      code: "quota-first",
      quota: "team",
      behind: [{ application: "batch", service: "report", priority: 0 }],
    },
    "comes first in quota 'team', before report of batch (priority 0)",
  ],
  [
    {
      code: "brownout",
      for: { application: "hotel", service: "search", priority: 100 },
      quota: "team",
      leastReplicas: 1,
    },
    "optional: goes down to 1 replica, since search of hotel (priority 100) misses its objective and quota 'team' has no room for it",
  ],
  [
    { code: "brownout", for: { application: "hotel", service: "search", priority: 0 }, leastReplicas: 0 },
    "optional: goes down to 0 replicas, since search of hotel (priority 0) misses its objective and no node has room for it",
  ],
  [
    { code: "brownout-first", services: [{ application: "hotel", service: "recommend" }] },
    "recommend of hotel goes down to make room for it",
  ],
  [
    { code: "disruption-budget", budget: "search", allowedReplicas: 1, leastReplicas: 9 },
    "PodDisruptionBudget 'search' lets 1 pod go now: keeps 9 replicas",
  ],
  [
    { code: "disruption-budget", budget: "search", allowedReplicas: 0, leastReplicas: 1 },
    "PodDisruptionBudget 'search' lets no pod go now: keeps 1 replica",
  ],
  [
    { code: "restart-grace", started: "predictor", agoSeconds: 12.4, graceSeconds: 120 },
    "the predictor started 12 s ago: nothing is removed in the first 120 s",
  ],
  [
    { code: "restart-grace", started: "other-predictor", agoSeconds: 7, graceSeconds: 120 },
    "the predictor took the place of another one 7 s ago: nothing is removed in the first 120 s",
  ],
  [
    { code: "restart-grace", started: "replica", agoSeconds: 5, graceSeconds: 120 },
    "the youngest replica started 5 s ago: nothing is removed in the first 120 s",
  ],
  [
    {
      code: "override",
      override: "hold",
      by: "ann",
      why: "bad deploy",
      replicas: 8,
      untilMs: Date.parse("2026-07-06T04:30Z"),
    },
    "held (8 replicas) by ann until 04:30 UTC: bad deploy",
  ],
  [
    { code: "running-unknown" },
    "it is not known how many replicas run, so no number is safe; give the predictor a workload source",
  ],
  [{ code: "scaling-paused" }, "its ScaledObject holds KEDA still: nothing is carried out"],
  [
    { code: "metric-type-value" },
    "its HPA would multiply the number by the ready pods, so it is given none: remove 'metricType: Value' from Tradewind's trigger",
  ],
  [
    { code: "stale-measurements", ageSeconds: 301, limitSeconds: 300 },
    "the measurements are 301 s old, more than the 300 s allowed",
  ],
  [
    { code: "unusable-number", field: "cpuCores", value: "NaN" },
    "the proposal cannot be used: cpuCores is NaN",
  ],
  [
    { code: "unreadable", problem: "allocation.replicas: expected number" },
    "the proposal cannot be read: allocation.replicas: expected number",
  ],
];

describe("the sentence of a reason", () => {
  it.each(EXAMPLES.map(([reason, sentence]) => ({ reason, sentence })))(
    "say what $reason.code means",
    ({ reason, sentence }) => {
      expect(sentenceOf(reason)).toBe(sentence);
      expect(Reason.parse(reason)).toEqual(reason);
    },
  );

  it("exists for every code of the union, in its order", () => {
    expect(codesOf(EXAMPLES.map(([reason]) => reason))).toEqual(REASON_CODES);
  });

  it("is joined to causes first, then what follows from them", () => {
    const reasons: Reason[] = [
      SLOW,
      { code: "cpu-only" },
      { code: "replicas", fromReplicas: 2, toReplicas: 4 },
      { code: "cpu-cores", fromCores: 0.5, toCores: 0.8 },
      { code: "data-missing" },
    ];
    const text =
      "p95 is 412 ms, objective 300 ms (137 %); decides by CPU use alone: 2 → 4 replicas, 0.50 → 0.80 cores each; " +
      "nothing is removed: latency, load or replicas are missing";
    expect(inWords(reasons, 500)).toBe(text);
    expect(inWords(reasons, 20)).toBe(text.slice(0, 20));
    expect(inWords([], 500)).toBe("");
  });
});

describe("reasons of another release", () => {
  const read = (reasons: unknown) => readWith(Wish, { ...wishOf(), reasons }, "a wish");

  it("keep the code of what is not known here, and the text beside them", () => {
    const later = { code: "carbon-limit", gramsPerHour: 7, detail: { zone: "DE" } };
    expect(read([SLOW, later])).toMatchObject({
      reason: wishOf().reason,
      reasons: [SLOW, { code: "carbon-limit" }],
    });
  });

  it("keep the code where its facts are others, and leave out facts that are not known", () => {
    const reasons = [
      { code: "min-replicas", atLeast: 2 },
      { ...SLOW, burnRate: 14 },
    ];
    expect(read(reasons).reasons).toEqual([{ code: "min-replicas" }, SLOW]);
  });

  it.each([
    ["absent", undefined],
    ["a text", "text"],
    ["codes in capitals", [{ code: "NOT A CODE" }]],
    ["numbers", [7]],
    ["100 in number", Array.from({ length: 100 }, () => SLOW)],
  ])("are left out, and the decision is read, where they are %s", (_what, reasons) => {
    expect(read(reasons)).toEqual(wishOf());
    expect(codesOf(read(reasons).reasons)).toEqual([]);
  });
});

it("equal reasons are listed once, and no more than a document may hold", () => {
  const many = Array.from(
    { length: 40 },
    (_, minReplicas) => ({ code: "min-replicas", minReplicas }) as const,
  );
  expect(distinct([SLOW, { ...SLOW }, { code: "cpu-only" }])).toEqual([SLOW, { code: "cpu-only" }]);
  expect(Reasons.parse(distinct(many))).toHaveLength(32);
});

describe("docs/reasons.md", () => {
  const text = readFileSync(new URL("../../../docs/reasons.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `([a-z0-9-]+)` +\| ([^|]+?) +\| ([^|]+?) +\|$/gm)];

  it("has each code of the union once, in its order, with what it means for a person on call", () => {
    expect(rows.map(([, code]) => code)).toEqual(REASON_CODES);
  });

  it("has the first example of each code as its sentence", () => {
    const first = new Map([...EXAMPLES].reverse().map(([{ code }, sentence]) => [code, sentence]));
    expect(rows.map(([, , sentence]) => sentence)).toEqual(
      REASON_CODES.map((code) => first.get(code as Reason["code"])),
    );
  });
});
