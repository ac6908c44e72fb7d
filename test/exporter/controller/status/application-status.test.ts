import { describe, expect, it } from "vitest";
import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { ApplicationStatus, MAX_STATUS_SERVICES } from "@tradewind/kubernetes/crd/status.ts";
import { applicationStatus, materialOf } from "@tradewind/exporter/controller/status/application-status.ts";
import type { StatusInputs } from "@tradewind/exporter/controller/status/application-status.ts";
import { changesBetween } from "@tradewind/exporter/controller/status/changes.ts";
import type { ReadPlan } from "@tradewind/exporter/plans/read-plan.ts";
import { planOf } from "../../wish.ts";

const NOW_MS = Date.parse("2026-01-02T03:04:05.678Z");

const MADE = { decidedAtMs: NOW_MS - 30_000, decisionId: "abc-0", policy: "queue", reason: "two flows miss" };

export function servedOf(changes: Partial<ServedRecommendation> = {}): ServedRecommendation {
  return {
    namespace: "shop",
    application: "hotel",
    service: "cart",
    replicas: 5,
    cpuCores: 0.6,
    memoryBytes: 200 * 2 ** 20,
    policy: "planner",
    confidence: 0.756,
    latencyBeforeSeconds: 0.2404,
    latencyAfterSeconds: 0.18,
    replicasReady: 3,
    reason: "one more replica buys most",
    decidedAtMs: NOW_MS - 5_000,
    validUntilMs: NOW_MS + 295_000,
    decisionId: "abc-1",
    ageSeconds: 5,
    valid: true,
    wished: { replicas: 5 },
    guard: [],
    ...changes,
  };
}

const header = (changes: Partial<ReadPlan["header"]> = {}): ReadPlan["header"] => {
  const { wishes: _wishes, ...rest } = planOf([]);
  return { ...rest, plannedAtMs: NOW_MS - 5_000, windowSeconds: 15, policy: "planner", ...changes };
};

const list = (changes: Partial<RecommendationList> = {}): RecommendationList => ({
  schema: "tradewind.dev/recommendations/v1",
  servedAtMs: NOW_MS,
  predictor: { reachable: true },
  application: "hotel",
  objective: { percentile: 0.95, seconds: 0.25 },
  measuredLatencySeconds: 0.24,
  recommendations: [
    servedOf(),
    servedOf({ service: "web", replicas: 2, replicasReady: 2, latencyAfterSeconds: 0.1 }),
  ],
  ...changes,
});

const status = (changes: Partial<StatusInputs> = {}): ApplicationStatus =>
  ApplicationStatus.parse(
    applicationStatus({
      list: list(),
      header: header(),
      prices: { cpuCoreHour: 0.04, memoryGigabyteHour: 0.005 },
      workloadOf: () => undefined,
      generation: 3,
      before: [],
      nowMs: NOW_MS,
      ...changes,
    }),
  );
const conditionsOf = (changes: Partial<StatusInputs>): Record<string, string> =>
  Object.fromEntries(
    status(changes).conditions.map(({ reason, status: is, type }) => [type, `${is} ${reason}`]),
  );

describe("the status of an application", () => {
  it("has the sizes of a service that are only advised, and says so", () => {
    const recommendations = [servedOf({ advised: ["cpu", "memory"] })];
    expect(status({ list: list({ recommendations }) }).services[0]).toMatchObject({
      cpu: "600m",
      memory: "200Mi",
      advised: ["cpu", "memory"],
    });
    expect(status().services[0]).not.toHaveProperty("advised");
  });

  it("says at a glance what is measured, predicted and recommended", () => {
    expect(status()).toMatchObject({
      observedGeneration: 3,
      measuredMilliseconds: 240,
      predictedMilliseconds: 180,
      policy: "planner",
      replicas: "5 → 7",
      replicasReady: 5,
      replicasRecommended: 7,
      plannedAt: "2026-01-02T03:04:00Z",
    });
    expect(status().services[0]).toMatchObject({
      name: "cart",
      replicasReady: 3,
      replicas: 5,
      cpu: "600m",
      memory: "200Mi",
      confidence: 0.76,
      currentMilliseconds: 240,
      decidedAt: "2026-01-02T03:04:00Z",
    });
  });

  it("is ready, within the objective, complete and unconstrained when all is well", () => {
    expect(conditionsOf({})).toEqual({
      Ready: "True Planning",
      Acting: "True Act",
      ObjectiveMet: "True WithinObjective",
      DataComplete: "True Complete",
      Constrained: "False WithinBounds",
    });
  });

  it.each([
    ["observe", "False Observe"],
    ["recommend", "False Recommend"],
    ["act", "True Act"],
    [undefined, "True Act"],
  ] as const)("says in the condition Acting that the mode is %s", (mode, acting) => {
    const plan = header();
    expect(conditionsOf({ header: { ...plan, ...(mode && { mode }) } })["Acting"]).toBe(acting);
  });

  it("names in the condition Acting the services that KEDA is paused for", () => {
    const { conditions } = status({ header: header({ mode: "act" }), paused: ["search"] });
    expect(conditions.find(({ type }) => type === "Acting")).toMatchObject({
      status: "True",
      reason: "Act",
      message: expect.stringMatching(/but for search: KEDA is paused/) as string,
    });
  });

  it("names in the condition Acting the services whose workloads something else scales too", () => {
    const { conditions } = status({ header: header({ mode: "act" }), contested: ["search"] });
    expect(conditions.find(({ type }) => type === "Acting")).toMatchObject({
      status: "True",
      reason: "SeveralAutoscalers",
      message: expect.stringMatching(/for search: another HPA or ScaledObject/) as string,
    });
  });

  it("reckons what runs and what is recommended: 3 and 5 of 0.5 cores and 1 GB at 0.04 and 0.005 are 0.075 and 0.125", () => {
    const running = { runningCpuCores: 0.5, runningMemoryBytes: 1e9, cpuCores: 0.5, memoryBytes: 1e9 };
    const { costPerHour, serviceCount } = status({ list: list({ recommendations: [servedOf(running)] }) });
    expect({ costPerHour, serviceCount }).toEqual({ costPerHour: "0.075 → 0.125", serviceCount: 1 });
    const unknown = [servedOf({ replicasReady: undefined })];
    expect(status({ list: list({ recommendations: unknown }) }).costPerHour).toBeUndefined();
  });

  it.each([
    ["no plan", { header: undefined }, "Ready", "False NoPlan"],
    [
      "a plan of long ago",
      { list: list({ predictor: { reachable: true, lastPlanAgeSeconds: 61 } }) },
      "Ready",
      "False PlanStale",
    ],
    ["no service", { list: list({ recommendations: [] }) }, "Ready", "False NoServices"],
    [
      "an expired decision",
      { list: list({ recommendations: [servedOf({ valid: false })] }) },
      "Ready",
      "False DecisionsExpired",
    ],
    [
      "a missed objective",
      { list: list({ measuredLatencySeconds: 0.3 }) },
      "ObjectiveMet",
      "False ObjectiveMissed",
    ],
    [
      "requests that fail fast",
      { list: list({ measuredLatencySeconds: 0.01, failedRatio: 0.4 }) },
      "ObjectiveMet",
      "False RequestsFail",
    ],
    [
      "a name that another application had first",
      {
        sharedNames: [
          { service: "rate", outcome: "shared" as const },
          { service: "geo", outcome: "yields" as const },
        ],
      },
      "DataComplete",
      "False NameTaken",
    ],
    [
      "a name that another application has too",
      { sharedNames: [{ service: "geo", outcome: "shared" as const }] },
      "DataComplete",
      "False NameShared",
    ],
    [
      "a name that it had before another application",
      { sharedNames: [{ service: "geo", outcome: "keeps" as const }] },
      "DataComplete",
      "True Complete",
    ],
    ["traffic not seen", { header: header({ complete: false }) }, "DataComplete", "False TrafficNotSeen"],
    [
      "missing data",
      { list: list({ recommendations: [servedOf({ guard: [{ step: "missing-data", reason: "x" }] })] }) },
      "DataComplete",
      "False MissingData",
    ],
    [
      "a wish above the maximum",
      {
        list: list({
          recommendations: [servedOf({ wished: { replicas: 30 }, guard: [{ step: "bounds", reason: "x" }] })],
        }),
      },
      "Constrained",
      "True MaxReplicas",
    ],
  ] as const)("shows %s", (_what, changes, type, verdict) => {
    expect(conditionsOf(changes)[type]).toBe(verdict);
  });

  it("without traffic does not know whether the objective is met", () => {
    const { measuredLatencySeconds: _measured, ...silent } = list();
    expect(conditionsOf({ list: silent })["ObjectiveMet"]).toBe("Unknown NoTraffic");
  });

  it("says which predictor's spans are missing and since when, and not that there was no traffic", () => {
    const { measuredLatencySeconds: _measured, ...silent } = list();
    const missing = ["spans that the predictor at http://10.0.0.7:9814 received since 12:19:40Z are missing"];
    const { conditions } = status({ list: silent, header: header({ complete: false, missing }) });
    const messageOf = new Map(conditions.map(({ message, reason, type }) => [type, `${reason}: ${message}`]));
    expect(messageOf.get("ObjectiveMet")).toMatch(
      /^TrafficNotSeen: .*10\.0\.0\.7:9814 received since 12:19:40Z/,
    );
    expect(messageOf.get("DataComplete")).toMatch(
      /^TrafficNotSeen: .*10\.0\.0\.7:9814 received since 12:19:40Z/,
    );
  });

  it("keeps since when a condition holds, as long as it does", () => {
    const before = [
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
      { type: "ObjectiveMet", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const times = status({ before }).conditions.map(({ lastTransitionTime }) => lastTransitionTime);
    expect(times.slice(0, 2)).toEqual(["2026-01-01T00:00:00Z", "2026-01-02T03:04:05Z"]);
  });

  it("of more services than fit lists those that change and counts the others", () => {
    const recommendations = Array.from({ length: MAX_STATUS_SERVICES + 5 }, (_, index) =>
      servedOf({
        service: `s-${index}`,
        replicas: 3,
        replicasReady: index === MAX_STATUS_SERVICES + 2 ? 1 : 3,
      }),
    );
    const made = status({ list: list({ recommendations }) });
    expect(made.services[0]!.name).toBe(`s-${MAX_STATUS_SERVICES + 2}`);
    expect(made.servicesOmitted).toBe(5);
  });

  it("is worth an immediate write when numbers of replicas or conditions change, not when latencies drift", () => {
    const now = materialOf(status());
    expect(materialOf(status({ list: list({ measuredLatencySeconds: 0.2 }) }))).toBe(now);
    expect(materialOf(status({ list: list({ measuredLatencySeconds: 0.3 }) }))).not.toBe(now);
    expect(materialOf(status({ list: list({ recommendations: [servedOf({ replicas: 6 })] }) }))).not.toBe(
      now,
    );
  });
});

it("names the codes of the reasons, none where an older predictor sends none", () => {
  const reasons = [{ code: "cheapest" }, { code: "max-replicas", maxReplicas: 5 }, { code: "cheapest" }];
  const coded = status({
    list: list({ recommendations: [servedOf({ reasons })] }),
    header: header({ policyReasons: [{ code: "cpu-only" }] }),
  });
  expect(coded.services[0]!.reasonCodes).toEqual(["cheapest", "max-replicas"]);
  expect(coded.policyReasonCodes).toEqual(["cpu-only"]);
  expect(status().services[0]!.reasonCodes).toEqual([]);
});

describe("the last change of a service in the status", () => {
  const lastChangeOf = (setBy: ServedRecommendation["setBy"]) =>
    status({ list: list({ recommendations: [servedOf({ setBy })] }) }).services[0]!.lastChange;

  it("is what the newest decision changed, when and why", () => {
    const older = { ...MADE, decidedAtMs: NOW_MS - 90_000, reason: "an older one" };
    expect(
      lastChangeOf({
        replicas: { from: 3, to: 5, ...MADE },
        cpuCores: { from: 0.16, to: 0.28, ...MADE },
        memoryBytes: { from: 2 ** 28, to: 2 ** 29, ...older },
      }),
    ).toBe("replicas 3 → 5, CPU 160m → 280m at 2026-01-02T03:03:35Z: two flows miss");
  });

  it.each([
    ["is absent while every size is what it was at the start", { replicas: { to: 3, ...MADE } }],
    ["is absent where the exporter says nothing of changes", undefined],
  ])("%s", (_, setBy) => {
    expect(lastChangeOf(setBy)).toBeUndefined();
  });
});

describe("changes that matter", () => {
  const reasons = (before: ServedRecommendation | undefined, now: ServedRecommendation) =>
    changesBetween(before, now).map(({ reason, type }) => `${type} ${reason}`);

  it("are other numbers, with the reason for them", () => {
    expect(changesBetween(servedOf({ replicas: 3 }), servedOf())).toEqual([
      {
        type: "Normal",
        reason: "ReplicasRecommended",
        action: "Recommend",
        note: "3 → 5 replicas (planner, confidence 0.76): one more replica buys most",
      },
    ]);
    expect(reasons(servedOf(), servedOf({ cpuCores: 0.8 }))).toEqual(["Normal SizeRecommended"]);
  });

  it("carry the reason of the decision that set the size, not of a later one that keeps it", () => {
    const reasons = [{ code: "slo-violated" }, { code: "queue-share" }];
    const setBy = { replicas: { from: 3, to: 5, ...MADE, reasons } };
    const [event] = changesBetween(servedOf({ replicas: 3 }), servedOf({ reason: "keeps 5", setBy }));
    expect(event!.note).toBe(
      "3 → 5 replicas (queue, confidence 0.76, slo-violated, queue-share): two flows miss",
    );
  });

  it("are a wish held back, once, and a decision that expires or comes back", () => {
    const held = servedOf({ wished: { replicas: 2 }, guard: [{ step: "restart-grace", reason: "young" }] });
    expect(reasons(servedOf(), held)).toEqual(["Normal RecommendationHeld"]);
    expect(reasons(held, held)).toEqual([]);
    expect(reasons(servedOf(), servedOf({ valid: false }))).toEqual(["Warning DecisionExpired"]);
    expect(reasons(servedOf({ valid: false }), servedOf())).toEqual(["Normal DecisionRenewed"]);
  });

  it("are none at the first look, nor where only latencies, reasons and ages differ", () => {
    expect(reasons(undefined, servedOf())).toEqual([]);
    expect(
      reasons(
        servedOf(),
        servedOf({ latencyAfterSeconds: 0.3, reason: "x", ageSeconds: 9, decisionId: "y" }),
      ),
    ).toEqual([]);
  });
});

it("advice that changes is no event, a size that is counted on is one", () => {
  const reasons = (advised: ("cpu" | "memory")[]): string[] => {
    const [before, now] = [servedOf({ advised }), servedOf({ advised, cpuCores: 0.9 })];
    return changesBetween(before, now).map(({ reason }) => reason);
  };
  expect(reasons(["cpu", "memory"])).toEqual([]);
  expect(reasons(["memory"])).toEqual(["SizeRecommended"]);
});
