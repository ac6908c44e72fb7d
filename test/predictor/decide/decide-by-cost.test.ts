import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import type { PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { application, inputs, START_MS, window, WINDOW_MS } from "../measurements.ts";
import { chained, RESIZABLE } from "./modelled.ts";
import type { ModelledService } from "./modelled.ts";
import { course, FRONTEND, last, made, replicasOf, SHOP, unchanged, wishOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

const BUSY = [FRONTEND, made("backend", { requestsPerSecond: 160 })];

describe("policy auto before its models are calibrated", () => {
  it("leaves the decision to queue balancing and names the services without a model", () => {
    const [first, second] = course(2);
    for (const { plan } of [first!, second!]) {
      expect(plan.policy).toBe("queue");
      expect(plan.policyReasons).toContainEqual({
        code: "models-missing",
        services: ["backend", "frontend"],
      });
    }
  });

  it("decides from the third window with load, CPU use and latency on", () => {
    expect(course(3).map(({ plan }) => plan.policy)).toEqual(["queue", "queue", "planner-prior"]);
  });

  it("keeps leaving the decision to queue balancing while no CPU use is known of a service on the route", () => {
    const silent: Change = (set) => ({
      ...set,
      windows: set.windows.map((each) => ({
        ...each,
        containers: each.containers.map(({ id, podName, cpuLimitCores }) => ({ id, podName, cpuLimitCores })),
      })),
    });
    expect(new Set(course(6, SHOP, silent).map(({ plan }) => plan.policy))).toEqual(new Set(["queue"]));
  });
});

describe("policy auto with calibrated models", () => {
  it("shrinks an idle service, and says from what to what", () => {
    const outcome = last(course(40, [FRONTEND, made("backend", { replicas: 8, requestsPerSecond: 10 })]));
    expect(replicasOf(outcome)).toBeLessThan(8);
    expect(replicasOf(outcome)).toBeGreaterThanOrEqual(1);
    expect(wishOf(outcome, "backend")).toMatchObject({ policy: "planner-prior" });
  });

  it("grows a service whose load has risen", () => {
    const calm = course(20);
    const { state } = last(calm);
    const surge = chained(
      [
        made("frontend", { ...FRONTEND, requestsPerSecond: 160 }),
        made("backend", { requestsPerSecond: 160 }),
      ],
      START_MS + 20 * WINDOW_MS,
    );
    const flows = surge.flows.map((each) => ({ ...each, requestsPerSecond: 80 }));
    const grown = decide(inputs({ ...surge, flows }, { state }));
    expect(replicasOf(grown)).toBeGreaterThan(Math.max(replicasOf(last(calm)), 3));
  });

  it("grows for requests that have begun faster since the window", () => {
    const { state } = last(course(20));
    const set = chained(SHOP, START_MS + 20 * WINDOW_MS);
    const calm = decide(inputs(set, { state }));
    const surge = decide(inputs(set, { state, surgeRatio: 3 }));
    expect(replicasOf(surge)).toBeGreaterThan(replicasOf(calm));
  });

  it("tells decisions on the same window for different surges apart by their hashes", () => {
    const { state } = last(course(4));
    const set = chained(SHOP, START_MS + 4 * WINDOW_MS);
    const hashes = [undefined, 2, 3].map((surgeRatio) => {
      const outcome = decide(inputs(set, { state, ...(surgeRatio !== undefined && { surgeRatio }) }));
      return wishOf(outcome, "backend").inputs.windowHash;
    });
    expect(new Set(hashes).size).toBe(3);
  });

  it("holds or adds, and removes nothing, while a part of the traffic is missing", () => {
    const idle = [FRONTEND, made("backend", { replicas: 8, requestsPerSecond: 10 })];
    const lost: Change = (set, at) =>
      at < 3
        ? set
        : { ...set, windows: set.windows.map((each) => ({ ...each, missing: "spans were lost" })) };
    const outcomes = course(20, idle, lost);
    const before = replicasOf(outcomes[2]!);
    for (const outcome of outcomes.slice(3)) {
      expect(outcome.plan.policy).toBe("planner-prior");
      expect(replicasOf(outcome)).toBeGreaterThanOrEqual(before);
    }
    expect(replicasOf(last(course(20, idle)))).toBeLessThan(before + 1);
  });

  it("sizes a service that no user's request passes by its own CPU", () => {
    const batch =
      (podUsageCores: number): Change =>
      (set) => ({
        ...set,
        windows: [
          ...set.windows,
          window({ service: "batch", replicas: 4, rate: 5, ownSeconds: 0.05, podUsageCores }, set.startMs),
        ],
      });
    const idle = wishOf(last(course(6, SHOP, batch(0.1))), "batch");
    expect(idle).toMatchObject({ policy: "reactive", allocation: { replicas: 1 } });
    const busy = wishOf(last(course(6, SHOP, batch(0.95))), "batch");
    expect(busy.allocation.replicas).toBeGreaterThan(4);
  });

  it("does not run away where the objective cannot be met: pods are bounded by what they still gain", () => {
    const unreachable = application({ objective: { milliseconds: 1, windowSeconds: 45 } });
    const outcomes = course(40, SHOP, unchanged, { application: unreachable });
    expect(last(outcomes).plan.policy).toBe("planner-prior");
    // No decision goes beyond three times what serves and four: 16 for four that serve.
    expect(Math.max(...outcomes.map((one) => replicasOf(one)))).toBeLessThanOrEqual(16);
    expect(last(outcomes).plan.policyReasons).toMatchObject([
      { code: "time-outside" },
      { code: "expected-misses" },
      { code: "error-budget" },
    ]);
  });

  it("takes away what does not help where the models explain the miss", () => {
    const unreachable = application({ objective: { milliseconds: 1, windowSeconds: 45 } });
    const idle = [FRONTEND, made("backend", { replicas: 8, requestsPerSecond: 10 })];
    const outcomes = course(40, idle, unchanged, { application: unreachable });
    expect(replicasOf(last(outcomes))).toBeLessThan(8);
  });

  it("makes no service smaller while a route through it misses by more than its models expect", () => {
    const idle = [FRONTEND, made("backend", { replicas: 8, requestsPerSecond: 10 })];
    const late: Change = (set, at) => ({
      ...set,
      flows: set.flows.map((each) => ({
        ...each,
        latency: at < 10 ? each.latency : { ...each.latency, p50Seconds: 5, p95Seconds: 9, p99Seconds: 10 },
      })),
    });
    const outcomes = course(12, idle, late);
    const asked = replicasOf(outcomes[9]!);
    expect(asked).toBeLessThan(8);
    for (const outcome of outcomes.slice(10)) expect(replicasOf(outcome)).toBeGreaterThanOrEqual(8);
  });

  it("keeps a second replica of a service for an hour after a container of it was killed for memory", () => {
    const idle = [FRONTEND, made("backend", { replicas: 8, requestsPerSecond: 10 })];
    const killed: Change = (set, at) => ({
      ...set,
      windows: set.windows.map((each) => ({
        ...each,
        containers: each.containers.map((one) =>
          Object.assign({}, one, at === 5 && each.service === "backend" ? { oomKills: 1 } : {}),
        ),
      })),
    });
    expect(replicasOf(last(course(40, idle)))).toBe(1);
    const outcomes = course(250, idle, killed);
    for (const outcome of outcomes.slice(5, 244)) expect(replicasOf(outcome)).toBeGreaterThanOrEqual(2);
    expect(replicasOf(last(outcomes))).toBe(1);
  });

  it("keeps to a budget of pods, of which services off every route take theirs first", () => {
    const side: Change = (set) => ({
      ...set,
      windows: [
        ...set.windows,
        window({ service: "batch", replicas: 3, rate: 5, podUsageCores: 0.6 }, set.startMs),
      ],
    });
    const limited = application({ budget: { pods: 8 }, objective: { milliseconds: 100, windowSeconds: 45 } });
    const { plan } = last(course(10, BUSY, side, { application: limited }));
    expect(plan.policy).toBe("planner-prior");
    const routed = plan.wishes.filter(({ service }) => service !== "batch");
    expect(routed.reduce((sum, { allocation }) => sum + allocation.replicas, 0)).toBe(5);
  });

  it("never asks for fewer replicas than a service's minimum", () => {
    const app = application({ services: [{ name: "backend", minReplicas: 3 }] });
    const idle = [FRONTEND, made("backend", { replicas: 3, requestsPerSecond: 2 })];
    expect(replicasOf(last(course(20, idle, unchanged, { application: app })))).toBe(3);
  });

  it("sizes a service behind one without a workload by the latency that its requests see", () => {
    const three = [FRONTEND, made("gateway", { cpuSecondsPerRequest: 0.001 }), BUSY[1]!];
    const hidden: Change = (set) => ({
      ...set,
      windows: set.windows.map((each) => {
        if (each.service !== "gateway") return each;
        const { replicasReady: _, replicasWanted: __, ...rest } = each;
        return { ...rest, containers: [] };
      }),
    });
    const seen = last(course(40, three, hidden));
    expect(seen.plan.policy).toBe("planner-prior");
    expect(seen.plan.wishes.map(({ service }) => service)).toEqual(["backend", "frontend"]);
    expect(seen.plan.wishes.map(({ policy }) => policy)).toEqual(["planner-prior", "planner-prior"]);
    expect(Math.abs(replicasOf(seen) - replicasOf(last(course(40, three))))).toBeLessThanOrEqual(1);
  });

  it("states container sizes only where the platform can change them", () => {
    const fixed = last(course(20));
    const resizable = last(course(20, SHOP, unchanged, { application: RESIZABLE }));
    expect(fixed.plan.wishes.some(({ allocation }) => allocation.cpuCores !== undefined)).toBe(false);
    expect(resizable.plan.wishes.some(({ allocation }) => allocation.cpuCores !== undefined)).toBe(true);
  });

  it("names the memory of a container whose use asks for another size, and the margin", () => {
    const roomy = SHOP.map((each) => ({ ...each, memoryBytes: 2 ** 30, usedBytes: 100 * 2 ** 20 }));
    const outcomes = course(60, roomy, unchanged, { application: RESIZABLE });
    expect(wishOf(last(outcomes), "backend").allocation.memoryBytes).toBeLessThan(2 ** 29);
    const reasons = outcomes.flatMap((each) => wishOf(each, "backend").reasons ?? []);
    expect(reasons.filter(({ code }) => code === "memory-peak")).toMatchObject([
      { fromBytes: 2 ** 30, peakRatio: 1.3 },
    ]);
  });

  it("decides the same from the same inputs, bit for bit", () => {
    const [one, other] = [course(20), course(20)];
    expect(JSON.stringify(one)).toBe(JSON.stringify(other));
  });

  it("gives finite sizes within bounds for hostile and absent numbers", () => {
    const number = fc.oneof(
      fc.constantFrom(0, Number.MIN_VALUE, 1e-12, 1e-6, 1, 1e6, 1e12),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
    );
    const part = fc.record(
      {
        requestsPerSecond: number,
        beganPerSecond: number,
        inFlight: number,
        replicasReady: fc.integer({ min: 0, max: 1_000 }),
        ownLatency: fc.record({
          count: fc.integer({ min: 0, max: 1e6 }),
          meanSeconds: number,
          p50Seconds: number,
          p95Seconds: number,
          p99Seconds: number,
        }),
      },
      { requiredKeys: [] },
    );
    const { state } = last(course(4));
    fc.assert(
      fc.property(part, part, number, fc.tuple(number, number), (first, second, usage, [median, tail]) => {
        const set = chained(SHOP, START_MS + 4 * WINDOW_MS);
        const windows = set.windows.map((each, at) => ({
          ...each,
          containers: each.containers.map((one) => ({ ...one, cpuUsageCores: usage })),
          ...(at === 0 ? first : second),
        }));
        const flows = set.flows.map((each) => ({
          ...each,
          latency: { ...each.latency, p50Seconds: median, p95Seconds: tail },
        }));
        const outcome = decide(inputs({ ...set, windows, flows }, { state }));
        for (const { allocation, confidence } of outcome.plan.wishes) {
          expect(allocation.replicas).toSatisfy(Number.isInteger);
          expect(allocation.replicas).toBeGreaterThanOrEqual(1);
          expect(allocation.replicas).toBeLessThanOrEqual(100);
          expect(confidence).toSatisfy(Number.isFinite);
        }
        const after = JSON.parse(JSON.stringify(outcome.state.cost ?? null)) as unknown;
        expect(after).toEqual(outcome.state.cost ?? null);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the confidence of policy auto", () => {
  const sampled =
    (count: number): Change =>
    (set, at) =>
      at < 10
        ? set
        : {
            ...set,
            flows: set.flows.map((each) => ({ ...each, latency: { ...each.latency, count } })),
            windows: set.windows.map((each) => ({
              ...each,
              ...(each.ownLatency && { ownLatency: { ...each.ownLatency, count } }),
            })),
          };

  it("is full where full containers are made larger, however unsure the models are of so much load", () => {
    const full = made("backend", { replicas: 1, requestsPerSecond: 49 });
    const single = application({ resize: "limits", services: [{ name: "backend", maxReplicas: 1 }] });
    const surge: Change = (set, at) => (at < 6 ? set : chained([FRONTEND, full], set.startMs));
    const calm = made("backend", { replicas: 1, requestsPerSecond: 20 });
    const wish = wishOf(last(course(8, [FRONTEND, calm], surge, { application: single })), "backend");
    expect(wish.allocation.cpuCores).toBeGreaterThan(1);
    expect(wish.confidence).toBe(1);
  });

  it("is that of its models, not that of the traces of one window", () => {
    const confidence = (count: number): number =>
      wishOf(last(course(12, SHOP, sampled(count))), "backend").confidence;
    expect(confidence(9)).toBeGreaterThan(0.5);
    expect(confidence(9)).toBeCloseTo(confidence(300), 1);
  });
});

describe("policy auto while callers give up", () => {
  /** The entry is full, its spans are short, and nearly all of them say that the request failed. */
  const givenUp: Change = (set, at) =>
    at < 10
      ? set
      : {
          ...set,
          windows: set.windows.map((each) => ({
            ...each,
            ...(each.service === "frontend"
              ? { errorRatio: 0.98, containers: each.containers.map((one) => ({ ...one, cpuUsageCores: 1 })) }
              : { requestsPerSecond: 0 }),
          })),
          flows: set.flows.map((each) => ({
            ...each,
            errorRatio: 0.98,
            services: ["frontend"],
            calls: [],
            requestsPerSecond: 300,
          })),
        };
  const CALM = [FRONTEND, made("backend", { replicas: 2, requestsPerSecond: 40 })];

  it("gives the full service at least what an HPA at 80 % would, and those behind it what will reach them", () => {
    const outcomes = course(11, CALM, givenUp);
    const [before, during] = [outcomes[9]!, outcomes[10]!];
    expect(replicasOf(during, "frontend")).toBeGreaterThanOrEqual(2);
    expect(replicasOf(during)).toBeGreaterThan(replicasOf(before));
    const [failed] = during.plan.policyReasons ?? [];
    expect(failed).toMatchObject({ code: "requests-failed", errorRatio: 0.98 });
    expect(during.plan.failedRatio).toBe(0.98);
    expect(before.plan).not.toHaveProperty("failedRatio");
  });

  it("takes nothing away, and learns no smaller demand from requests that were not served", () => {
    const demandIn = ({ state }: PolicyOutcome): unknown =>
      state.cost?.services.find(({ service }) => service === "frontend")?.profile.means;
    const outcomes = course(20, CALM, givenUp);
    expect(demandIn(outcomes[19]!)).toEqual(demandIn(outcomes[9]!));
    for (const outcome of outcomes.slice(10))
      expect(replicasOf(outcome)).toBeGreaterThanOrEqual(replicasOf(outcomes[9]!));
  });
});

describe("full nodes", () => {
  const requesting: Change = (set) => ({
    ...set,
    windows: set.windows.map((each) => ({
      ...each,
      containers: each.containers.map((one) => ({ ...one, cpuRequestCores: one.cpuLimitCores })),
    })),
  });
  /** Cores by which containers grow together in the fourth window, with and without knowing how much of the only node is left. */
  const growth = (services: readonly ModelledService[], leftCores: number): number[] => {
    const pods = services.map(({ replicas, service }) => ({ service, pods: replicas }));
    const nodes = [{ name: "n0", leftCores, takesPods: true, pods }];
    const running = new Map(services.map((each) => [each.service, each]));
    const budget = { pods: pods.reduce((sum, each) => sum + each.pods, 0) };
    return [{ nodes }, {}].map((known) => {
      const settings = PolicySettings.parse({ cost: { worth: 1 } });
      const options = { application: { ...RESIZABLE, budget }, settings, ...known };
      const { plan } = last(course(4, services, requesting, options));
      return plan.wishes.reduce((sum, { allocation: { cpuCores = 0 }, service }) => {
        const { cores, replicas } = running.get(service)!;
        return sum + replicas * Math.max(0, cpuCores - cores);
      }, 0);
    });
  };
  const MANY = Array.from({ length: 100 }, (_, at) =>
    made(`s${at}`, { replicas: 1, cpuSecondsPerRequest: 0.001, baseSeconds: 0.0001 }),
  );

  /** No pod more is allowed, so that only larger containers help. */
  it.each([
    ["two services", BUSY],
    ["more than a hundred services", [...BUSY, ...MANY]],
  ])("bound what containers grow by together in an application of %s", (_, services) => {
    const [, wanted] = growth(services, 0);
    expect(wanted).toBeGreaterThan(0);
    for (const leftCores of [0, wanted! / 2]) {
      const [grown] = growth(services, leftCores);
      expect(grown).toBeLessThanOrEqual(leftCores + 1e-9);
    }
  });
});
