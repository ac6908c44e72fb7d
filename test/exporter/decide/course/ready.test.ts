import type { ServiceAccuracy } from "@tradewind/core/contract/accuracy.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { verdictText } from "@tradewind/core/contract/ready.ts";
import type { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { readiness } from "@tradewind/exporter/decide/course/ready.ts";
import type { ReadyFacts } from "@tradewind/exporter/decide/course/ready.ts";
import { describe, expect, it } from "vitest";

const NOW_MS = 2 * 86_400_000;
const PLACE = { namespace: "shop", application: "hotel" };

const SEARCH: ServedRecommendation = {
  ...PLACE,
  service: "search",
  replicas: 2,
  replicasReady: 2,
  minReplicas: 1,
  maxReplicas: 10,
  policy: "planner",
  confidence: 0.9,
  reason: "",
  decidedAtMs: NOW_MS,
  validUntilMs: NOW_MS + 1,
  decisionId: "0123456789abcdef",
  valid: true,
  wished: { replicas: 2 },
  guard: [],
};

const KNOWN: ServiceAccuracy = {
  service: "search",
  expert: "network",
  error: 0.1,
  coverage: 0.8,
  windows: 200,
  rule: "median",
  ruleError: 0.12,
  modelError: 0.11,
  isHeldNear: false,
};

const known = (changes: Partial<ServiceAccuracy> = {}): ReadyFacts["accuracy"] => ({
  services: [{ ...KNOWN, ...changes }],
  routes: [
    { route: "GET /", windows: 40, modelError: 0.1, ruleError: 0.2 },
    { route: "POST /pay", windows: 40, modelError: 0.3, ruleError: 0.2 },
    { route: "GET /new", windows: 2, modelError: 0.9, ruleError: 0.9 },
  ],
});

const OVERSPENT = { budgetLeftRatio: -2, budgetSeconds: 80_000 };

const SAFE: ReadyFacts = {
  place: PLACE,
  nowMs: NOW_MS,
  head: {
    mode: "observe",
    objective: { percentile: 0.95, seconds: 0.2 },
    policy: "planner",
    policyReasons: [],
  },
  services: [SEARCH],
  budget: { budgetLeftRatio: 0.4, budgetSeconds: 80_000 },
  latelyOverRatio: 0.01,
  accuracy: known(),
  isComplete: true,
  missing: [],
  events: [],
  bounded: new Set(["search"]),
  neededSeconds: 72_000,
};

/** A change of replicas of `search`, some minutes before now. */
const changed = (minutesAgo: number, from: number, to: number): AuditEvent => ({
  kind: "decision",
  ...PLACE,
  service: "search",
  atMs: NOW_MS - 60_000 * minutesAgo,
  decisionId: "0123456789abcdef",
  mode: "observe",
  policy: "planner",
  before: { replicas: from },
  after: { replicas: to },
  codes: [],
  recordHash: "0".repeat(64),
});

const NERVOUS = [0, 20, 40].flatMap((start) => [changed(start + 10, 2, 3), changed(start + 6, 3, 2)]);
const CALM = [30, 90, 150, 210].map((minutesAgo, index) => changed(minutesAgo, index + 1, index + 2));

describe("an application that only looks on", () => {
  it("is safe to act for where a day was seen, models are near, and proposals stay", () => {
    const said = readiness({ ...SAFE, events: CALM });
    expect(said.checks.filter(({ isMet }) => !isMet)).toEqual([]);
    expect([said.isSafe, verdictText(said)]).toEqual([true, "act is safe"]);
  });

  it.each<[string, Partial<ReadyFacts>, string, Record<string, number>]>([
    [
      "saw four minutes",
      { budget: { budgetLeftRatio: 1, budgetSeconds: 240 } },
      "seen",
      { seenSeconds: 240 },
    ],
    ["saw no request", { budget: undefined }, "seen", { seenSeconds: 0 }],
    ["is decided on without models", { head: { ...SAFE.head, policy: "reactive" } }, "plan", {}],
    ["gets no new plan", { head: { ...SAFE.head, problem: "connection refused" } }, "plan", {}],
    [
      "does not see all of its traffic",
      { isComplete: false, missing: ["2 % of the spans"] },
      "telemetry",
      { missing: 1 },
    ],
    [
      "has a name without a workload",
      { head: { ...SAFE.head, unmapped: ["cart"] } },
      "telemetry",
      { missing: 1 },
    ],
    ["has a predictor that gives no errors", { accuracy: undefined }, "model", { compared: 0 }],
    [
      "misses without knowing a size that helps",
      { budget: OVERSPENT, latelyOverRatio: 0.3 },
      "objective",
      { grows: 0 },
    ],
    ["has a service without a maximum", { bounded: new Set<string>() }, "maximum", { without: 1 }],
    [
      "has no configuration that is known, and the maximum that services have by default",
      { bounded: undefined, services: [{ ...SEARCH, maxReplicas: 100 }] },
      "maximum",
      { without: 1 },
    ],
    ["has a service at its maximum", { services: [{ ...SEARCH, replicas: 10 }] }, "maximum", { full: 1 }],
  ])("is not ready where it %s", (_, facts, code, numbers) => {
    const said = readiness({ ...SAFE, ...facts });
    expect(said.isSafe).toBe(false);
    expect(said.checks.filter(({ isMet }) => !isMet)).toMatchObject([{ code, facts: numbers }]);
    expect(verdictText(said)).toMatch(/^not yet, because /);
  });

  it.each<[string, Partial<ReadyFacts>, string, Record<string, number>]>([
    ["self times are off by half", { accuracy: known({ error: 0.45 }) }, "model", { off: 1 }],
    [
      "a rule of one line beats the models",
      { accuracy: known({ isHeldNear: true, modelError: 0.3 }) },
      "model",
      { off: 1 },
    ],
    [
      "models do not decide now, which did within the hour",
      { head: { ...SAFE.head, policy: "hold" }, events: [changed(30, 2, 3)] },
      "plan",
      {},
    ],
    ["proposals are taken back", { events: NERVOUS }, "steady", { proposals: 6, takenBack: 3 }],
  ])("notes, and does not hold against act, that %s", (_, facts, code, numbers) => {
    const said = readiness({ ...SAFE, ...facts });
    expect(said.checks.filter(({ isMet }) => !isMet)).toMatchObject([{ code, isNote: true, facts: numbers }]);
    expect([said.isSafe, verdictText(said)]).toEqual([true, "act is safe"]);
  });

  it("says by route how far off models are, one window ahead, beside the rule of one line", () => {
    const model = readiness(SAFE).checks.find(({ code }) => code === "model");
    expect(model!.facts).toMatchObject({
      routes: 2,
      routesOutdone: 1,
      worstRouteErrorRatio: Math.expm1(0.3),
    });
    expect(model!.text).toContain("'POST /pay' 35 % (rule of one line 22 %), 'GET /' 11 %");
  });

  it("takes a maximum that plans carry for one of its own where the configuration is not known", () => {
    expect(readiness({ ...SAFE, bounded: undefined }).isSafe).toBe(true);
  });

  it.each<[string, Partial<ReadyFacts>, RegExp]>([
    [
      "it is not known whether services have a maximum",
      { bounded: undefined, services: [{ ...SEARCH, maxReplicas: 100 }] },
      /is not known: the scaler does not see the configuration/,
    ],
    ["the predictor gives no errors", { accuracy: undefined }, /does not say how far its models are off/],
    ["no model was compared yet", { accuracy: { services: [], routes: [] } }, /it comes by itself/],
  ])("says so where %s", (_, facts, words) => {
    const open = readiness({ ...SAFE, ...facts }).checks.find(({ isMet }) => !isMet);
    expect(open!.text).toMatch(words);
  });

  it("notes badly known self times too where models decided within the hour", () => {
    const idle = {
      ...SAFE,
      head: { ...SAFE.head, policy: "reactive" },
      events: [changed(30, 2, 3)],
      accuracy: known({ error: 0.45 }),
    };
    const open = readiness(idle).checks.filter(({ isMet }) => !isMet);
    expect(open).toMatchObject([
      { code: "plan", isNote: true },
      { code: "model", isNote: true },
    ]);
    expect(readiness(idle).isSafe).toBe(true);
  });

  describe("whose error budget is overspent by the autoscaler before", () => {
    const missed = { ...SAFE, budget: OVERSPENT, latelyOverRatio: 0.3 };
    const far = { code: "models-far-off", overRatio: 0.3, expectedRatio: 0, route: "GET /" } as const;
    const unexplained = (windows: number) =>
      ({
        code: "miss-unexplained",
        percentile: 0.95,
        latencySeconds: 0.3,
        objectiveSeconds: 0.2,
        overRatio: 0.3,
        expectedRatio: 0.04,
        windows,
        services: [],
      }) as const;
    const expecting = (overRatio: number, ...others: (typeof far | ReturnType<typeof unexplained>)[]) => ({
      head: {
        ...SAFE.head,
        measuredLatencySeconds: 0.3,
        policyReasons: [
          ...others,
          { code: "expected-misses", overRatio, loadRatio: 1, loadErrorRatio: 0, forecast: "last" } as const,
        ],
      },
    });
    const growing = (latencyAfterSeconds?: number) => ({
      services: [
        { ...SEARCH, replicas: 4, ...(latencyAfterSeconds !== undefined && { latencyAfterSeconds }) },
      ],
    });

    it.each<[string, ReadyFacts, boolean, Record<string, number>]>([
      ["it is held now", { ...missed, latelyOverRatio: 0.04, ...expecting(0.2) }, true, {}],
      [
        "the models expect no more than twice the allowed share",
        { ...missed, ...expecting(0.09) },
        true,
        { expectedOverRatio: 0.09, grows: 0 },
      ],
      ["they expect more", { ...missed, ...expecting(0.11), ...growing(0.25) }, false, { grows: 1 }],
      ["they do not explain it", { ...missed, ...expecting(0.09, far), ...growing(0.15) }, false, {}],
      ["they do not explain it, and expect it to be held", { ...missed, ...expecting(0.04, far) }, true, {}],
      [
        "they left it unexplained for two windows",
        { ...missed, ...expecting(0.04, far, unexplained(2)) },
        true,
        {},
      ],
      [
        "they left it unexplained for four",
        { ...missed, ...expecting(0.04, far, unexplained(4)) },
        false,
        {},
      ],
      [
        "they expect more replicas to make it worse, as past a service's limits",
        { ...missed, ...expecting(0.9), ...growing(5) },
        true,
        { grows: 1 },
      ],
      [
        "they expect what runs to be worse",
        { ...missed, ...expecting(0.9), services: [{ ...SEARCH, latencyAfterSeconds: 5 }] },
        false,
        { grows: 0 },
      ],
      [
        "they expect nothing, and more replicas are recommended",
        { ...missed, ...growing() },
        true,
        { grows: 1 },
      ],
      ["they expect nothing, and nothing grows", missed, false, { grows: 0 }],
    ])("where %s", (_, facts, isSafe, numbers) => {
      const said = readiness(facts);
      expect(said.isSafe).toBe(isSafe);
      expect(said.checks.find(({ code }) => code === "objective")!.facts).toMatchObject(numbers);
    });
  });

  it("does not count a size that goes back a day later, or by another step in the same direction", () => {
    const events = [changed(100, 2, 4), changed(95, 4, 6), changed(20, 6, 4)];
    const steady = readiness({ ...SAFE, events }).checks.find(({ code }) => code === "steady");
    expect(steady!.facts).toEqual({ proposals: 3, takenBack: 0 });
  });
});
