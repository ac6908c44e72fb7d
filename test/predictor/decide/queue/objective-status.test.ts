import { describe, expect, it } from "vitest";
import type { FlowWindow } from "@tradewind/core/contract/window.ts";
import type { DecisionContext } from "@tradewind/predictor/decide/facts/observation.ts";
import { observe } from "@tradewind/predictor/decide/facts/observation.ts";
import { remember } from "@tradewind/predictor/decide/remember.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { objectiveStatus } from "@tradewind/predictor/decide/queue/objective-status.ts";
import type { ObjectiveStatus } from "@tradewind/predictor/decide/queue/objective-status.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import type { PolicyState } from "@tradewind/predictor/decide/state.ts";
import type { FlowMemory } from "@tradewind/predictor/decide/facts/state.ts";
import { judge } from "@tradewind/predictor/decide/facts/verdict.ts";
import type { Targets } from "@tradewind/predictor/decide/facts/target.ts";
import type { Verdict } from "@tradewind/predictor/decide/facts/verdict.ts";
import { application, flow, START_MS, WINDOW_MS, window, windowSet } from "../../measurements.ts";

const SETTINGS = PolicySettings.parse({});
const END_MS = START_MS + WINDOW_MS;
const SERVICES = ["frontend", "backend"];

interface Situation {
  readonly tailSeconds: number;
  /** Of the backend's two replicas, cores of one. */
  readonly podUsageCores?: number;
  readonly throttled?: number;
  readonly ownSeconds?: number;
  readonly requestsPerSecond?: number;
  readonly state?: Partial<PolicyState>;
}

function contextOf({
  tailSeconds,
  podUsageCores = 0.2,
  throttled = 0,
  ownSeconds = 0.01,
  requestsPerSecond = 20,
  state = {},
}: Situation): DecisionContext {
  const backend = { service: "backend", replicas: 2, rate: 20, ownSeconds, podUsageCores, throttled };
  const windows = [
    window({ service: "frontend", replicas: 1, rate: 20, ownSeconds: 0.01, podUsageCores: 0.1 }),
    window(backend),
  ];
  return {
    application: application(),
    settings: SETTINGS,
    state: { ...emptyState("default", "default"), windowEndMs: START_MS, ...state },
    windowSet: windowSet(windows, [flow(SERVICES, tailSeconds, { requestsPerSecond })]),
    nowMs: END_MS,
  };
}

const judged = (flows: readonly FlowWindow[], earlier?: readonly FlowMemory[]): Verdict =>
  judge(flows, application(), SETTINGS, earlier);

function status(situation: Situation): ObjectiveStatus {
  const context = contextOf(situation);
  return objectiveStatus(context, observe(context), judged(context.windowSet.flows));
}

const shrunk = (overrides: Partial<PolicyState> = {}): Partial<PolicyState> => ({
  shrunkAtMs: START_MS,
  shrunkAtRequestsPerSecond: 20,
  shrunkServices: ["backend"],
  ...overrides,
});

describe("a miss after a step down", () => {
  const doublings = (situation: Situation): number => status(situation).course.patienceDoublings;

  it.each([
    { why: "little CPU to spare", podUsageCores: 0.6 },
    { why: "throttling", throttled: 0.3 },
    { why: "a queue", ownSeconds: 0.06 },
  ])("is its doing where what lost something shows $why", (strain) => {
    expect(doublings({ tailSeconds: 0.3, state: shrunk(), ...strain })).toBe(1);
  });

  it("is not its doing where all that lost something is at ease", () => {
    expect(doublings({ tailSeconds: 0.3, state: shrunk() })).toBe(0);
    expect(doublings({ tailSeconds: 0.3, podUsageCores: 0.9, state: shrunk({ shrunkServices: [] }) })).toBe(
      0,
    );
  });

  it("may be its doing where nobody remembers what lost something", () => {
    const { shrunkServices: _, ...state } = shrunk();
    expect(doublings({ tailSeconds: 0.3, podUsageCores: 0.6, state })).toBe(1);
  });

  it("is not its doing where more requests explain it", () => {
    const more = { tailSeconds: 0.3, podUsageCores: 0.6, requestsPerSecond: 30, state: shrunk() };
    expect(doublings(more)).toBe(0);
  });

  it.each([
    { now: 0.7, doubled: 0, why: "is not its doing where others have taken the CPU of the nodes since" },
    { now: 0.5, doubled: 1, why: "is its doing where the nodes are hardly busier than then" },
  ])("$why", ({ now, doubled }) => {
    const context = contextOf({
      tailSeconds: 0.3,
      podUsageCores: 0.6,
      state: shrunk({ shrunkAtInterference: 0.4 }),
    });
    const unknown = { supported: false } as const;
    const rest = { memoryCapacity: unknown, memoryBandwidth: unknown, network: unknown };
    for (const container of context.windowSet.windows.flatMap(({ containers }) => containers)) {
      container.interference = { cpu: { supported: true, value: now, source: "psi" }, ...rest };
    }
    const { course } = objectiveStatus(context, observe(context), judged(context.windowSet.flows));
    expect(course.patienceDoublings).toBe(doubled);
  });

  it("is not yet its doing while it is slight, and is when the next window misses as well", () => {
    const first = status({ tailSeconds: 0.21, podUsageCores: 0.6, state: shrunk() });
    expect(first.course).toMatchObject({ patienceDoublings: 0, shrunkAtMs: START_MS, missedWindows: 1 });
    const state = shrunk({ missedWindows: 1, windowEndMs: END_MS });
    expect(doublings({ tailSeconds: 0.21, podUsageCores: 0.6, state })).toBe(1);
  });
});

describe("a wait before shrinking that was doubled", () => {
  const needed = (requestsPerSecond: number): number => {
    const state = { patienceDoublings: 2, requestsPerSecond: 20 };
    return status({ tailSeconds: 0.1, requestsPerSecond, state }).calmWindowsNeeded;
  };

  it("stays while load stays: the step that was undone would have to be undone again", () => {
    expect(needed(20)).toBe(12);
  });

  it("is forgotten when load has risen or fallen beyond chance: sizes are others then", () => {
    expect(needed(40)).toBe(3);
    expect(needed(10)).toBe(3);
  });

  it("stays when load may have fallen by chance", () => {
    expect(needed(18)).toBe(12);
  });
});

describe("a slight miss", () => {
  const isClear = (requestsPerSecond: number, before?: number): boolean =>
    status({
      tailSeconds: 0.21,
      requestsPerSecond,
      state: before === undefined ? {} : { requestsPerSecond: before },
    }).clearlyMissed;

  it("waits for a second window", () => {
    expect(isClear(20)).toBe(false);
    expect(isClear(20, 20)).toBe(false);
  });

  it("is clear at once while load rises beyond chance", () => {
    expect(isClear(30, 20)).toBe(true);
    // 2.4 instead of 2 requests per second are 36 instead of 30 in a window: well within chance.
    expect(isClear(2.4, 2)).toBe(false);
  });
});

describe("calm", () => {
  const calmWindows = (tailSeconds: number, rare: readonly FlowWindow[] = []): number => {
    const context = contextOf({ tailSeconds, state: { calmWindows: 2 } });
    const verdict = judged([...context.windowSet.flows, ...rare]);
    return objectiveStatus(context, observe(context), verdict).course.calmWindows;
  };

  it("goes on while every flow is well within the objective of 200 ms", () => {
    expect(calmWindows(0.1)).toBe(3);
  });

  it("ends with a tail close to the objective", () => {
    expect(calmWindows(0.19)).toBe(0);
  });

  it("ends with a flow of too few calls to tell that is slow", () => {
    const latency = { count: 4, meanSeconds: 0.3, p50Seconds: 0.25, p95Seconds: 0.5, p99Seconds: 0.5 };
    expect(calmWindows(0.1, [flow(SERVICES, 0.5, { flow: "POST /", latency })])).toBe(0);
  });
});

describe("flows of few calls", () => {
  const seen = (count: number, p95Seconds: number): FlowWindow =>
    flow(SERVICES, p95Seconds, {
      latency: { count, meanSeconds: p95Seconds / 2.5, p50Seconds: 0.02, p95Seconds, p99Seconds: p95Seconds },
    });
  const earlier = (count: number, p95Seconds: number, endMs = START_MS): FlowMemory["latencies"][number] => ({
    ...seen(count, p95Seconds).latency,
    endMs,
  });

  const flowsAfter = (context: DecisionContext, targets: Targets): PolicyState["flows"] =>
    remember({ context, observations: observe(context) }, targets, {
      calmWindows: 0,
      missedWindows: 0,
      patienceDoublings: 0,
    }).flows;

  it("are not slow for one slow call in one of the windows that are judged together", () => {
    const fast = { count: 11, meanSeconds: 0.04, p50Seconds: 0.02, p95Seconds: 0.1, p99Seconds: 0.1 };
    const latencies = [{ count: 9, meanSeconds: 0.09, p50Seconds: 0.02, p95Seconds: 0.7, p99Seconds: 0.7 }];
    const earlierWindows = [
      { flow: "GET /", latencies: latencies.map((one) => ({ ...one, endMs: START_MS })) },
    ];
    const verdict = judged([flow(SERVICES, 0.1, { latency: fast })], earlierWindows);
    // The mean of the 20 calls is 0.0625 s; the mean of the two percentiles, weighted by calls, would be 0.37 s.
    expect(verdict.tailSeconds).toBeCloseTo(0.0625 * Math.log(20), 9);
    expect(verdict.flows[0]).toMatchObject({ telling: true, flow: { latency: { count: 20 } } });
  });

  it("are judged over as many windows as it takes to have enough calls, weighted by these", () => {
    const latencies = [earlier(15, 0.3), earlier(100, 9)];
    const verdict = judged([seen(5, 0.1)], [{ flow: "GET /", latencies }]);
    expect(verdict.flows[0]).toMatchObject({ telling: true, flow: { latency: { count: 20 } } });
    expect(verdict.tailSeconds).toBeCloseTo((5 * 0.1 + 15 * 0.3) / 20, 9);
  });

  it("do not miss for the sake of earlier windows once their own calls are within the objective", () => {
    const latencies = [earlier(15, 0.9)];
    const fast = { ...seen(6, 0.1).latency, p99Seconds: 0.2 };
    const over = judged([flow(SERVICES, 0.1, { latency: fast })], [{ flow: "GET /", latencies }]);
    expect(over.severity).toBe(1);
    const few = judged([seen(4, 0.1)], [{ flow: "GET /", latencies: [earlier(16, 0.9)] }]);
    expect(few.severity).toBeGreaterThan(1);
    const slow = { ...fast, p99Seconds: 0.4 };
    const goesOn = judged([flow(SERVICES, 0.1, { latency: slow })], [{ flow: "GET /", latencies }]);
    expect(goesOn.severity).toBeGreaterThan(1);
  });

  it("with enough calls are judged by this window alone", () => {
    const verdict = judged([seen(20, 0.1)], [{ flow: "GET /", latencies: [earlier(15, 0.3)] }]);
    expect(verdict.tailSeconds).toBeCloseTo(0.1, 9);
  });

  it("are not slow for one slow call among a handful", () => {
    const latency = { count: 4, meanSeconds: 0.04, p50Seconds: 0.02, p95Seconds: 0.5, p99Seconds: 0.5 };
    const verdict = judged([flow(SERVICES, 0.5, { latency })]);
    // What exponential times of that mean would have: 0.04 · ln 20.
    expect(verdict.tailSeconds).toBeCloseTo(0.04 * Math.log(20), 9);
    expect(verdict.severity).toBeUndefined();
  });

  it("are remembered, newest first, for as long as their services keep their size", () => {
    const before: FlowMemory = { flow: "GET /", latencies: [earlier(3, 0.1)] };
    const base = contextOf({ tailSeconds: 0.1, state: { flows: [before] } });
    const context = { ...base, windowSet: { ...base.windowSet, flows: [seen(4, 0.2)] } };
    const kept = new Map(
      SERVICES.map((service, at) => [service, { replicas: at + 1, policy: "queue", reasons: [] } as const]),
    );
    expect(flowsAfter(context, kept)).toEqual([
      { flow: "GET /", latencies: [{ ...earlier(4, 0.2, END_MS), errorRatio: 0 }, earlier(3, 0.1)] },
    ]);
    const more = new Map([...kept, ["backend", { replicas: 3, policy: "queue", reasons: [] } as const]]);
    expect(flowsAfter(context, more)).toBeUndefined();
  });

  it("are not remembered of a window in which a service they run on gets new pods: that was the overload, not what runs now", () => {
    const base = contextOf({
      tailSeconds: 0.1,
      state: { flows: [{ flow: "GET /", latencies: [earlier(3, 0.1)] }] },
    });
    const windows = base.windowSet.windows.map((one) =>
      one.service === "backend" ? { ...one, replicasWanted: 3, replicasReady: 2 } : one,
    );
    const context = { ...base, windowSet: { ...base.windowSet, windows, flows: [seen(4, 1.3)] } };
    expect(flowsAfter(context, new Map())).toBeUndefined();
  });

  it("are forgotten after a dozen windows, but not for one without a call", () => {
    const old = earlier(3, 0.1, END_MS - SETTINGS.pooledWindows * WINDOW_MS);
    const state = { flows: [{ flow: "POST /", latencies: [earlier(2, 0.1), old] }] };
    const context = contextOf({ tailSeconds: 0.1, state });
    expect(flowsAfter(context, new Map())).toEqual([{ flow: "POST /", latencies: [earlier(2, 0.1)] }]);
  });
});
