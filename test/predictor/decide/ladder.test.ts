import { codesOf } from "@tradewind/core/contract/reasons.ts";
import { Wish } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { PolicyState } from "@tradewind/predictor/decide/state.ts";
import { application, flow, inputs, START_MS, window, WINDOW_MS, windowSet } from "../measurements.ts";
import type { ServiceFacts } from "../measurements.ts";

const wish = ({ plan }: PolicyOutcome, service: string): Wish => {
  const found = plan.wishes.find((one) => one.service === service);
  if (found === undefined) throw new Error(`no wish for ${service}`);
  return found;
};
const replicas = (outcome: PolicyOutcome): Record<string, number> =>
  Object.fromEntries(outcome.plan.wishes.map(({ service, allocation }) => [service, allocation.replicas]));

/** A frontend at ease and a backend, both on the one flow. */
function twoServices(backend: Partial<ServiceFacts>, tailSeconds: number, startMs = START_MS): WindowSet {
  return windowSet(
    [
      window({ service: "frontend", replicas: 2, rate: 20, ownSeconds: 0.005, podUsageCores: 0.1 }, startMs),
      window(
        { service: "backend", replicas: 2, rate: 20, ownSeconds: 0.05, podUsageCores: 0.5, ...backend },
        startMs,
      ),
    ],
    [flow(["frontend", "backend"], tailSeconds)],
  );
}

/** Decides by queues on one window after the other, carrying the state. */
function run(sets: readonly WindowSet[], overrides: Partial<PolicyInputs> = {}): PolicyOutcome[] {
  let { state } = inputs(sets[0]!, overrides);
  return sets.map((set) => {
    const outcome = decide(inputs(set, { choice: "queue", ...overrides, state }));
    ({ state } = outcome);
    return outcome;
  });
}

function calmRun(count: number, backend: Partial<ServiceFacts> = {}, tailSeconds = 0.06): WindowSet[] {
  return Array.from({ length: count }, (_, index) => {
    const startMs = START_MS + index * WINDOW_MS;
    const set = twoServices({ podUsageCores: 0.2, replicas: 4, ...backend }, tailSeconds, startMs);
    const frontend = { service: "frontend", replicas: 1, rate: 20, ownSeconds: 0.005, podUsageCores: 0.1 };
    return { ...set, windows: [window(frontend, startMs), ...set.windows.slice(1)] };
  });
}

describe("the ladder", () => {
  it("holds when nothing is known, and says so", () => {
    const outcome = decide(inputs(windowSet([window({ service: "frontend", replicas: 3 })])));
    expect(outcome.plan).toMatchObject({ policy: "hold" });
    expect(outcome.plan.policyReasons).toEqual([{ code: "no-user-trace" }, { code: "cpu-unknown" }]);
    expect(wish(outcome, "frontend")).toMatchObject({
      policy: "hold",
      confidence: 0,
      allocation: { replicas: 3 },
    });
  });

  it("makes an empty plan, not an error, when no service has a workload", () => {
    const outcome = decide(inputs(windowSet([])));
    expect(outcome.plan).toMatchObject({ policy: "hold", wishes: [] });
    expect(outcome.plan.policyReasons).toEqual([
      { code: "no-user-trace" },
      { code: "no-workloads", namespace: "default" },
    ]);
  });

  it("takes the reactive floor when only CPU is known: adds, never removes", () => {
    const set = windowSet([
      window({ service: "busy", replicas: 2, podUsageCores: 0.9 }),
      window({ service: "idle", replicas: 6, podUsageCores: 0.01 }),
    ]);
    const outcome = decide(inputs(set));
    expect(outcome.plan.policy).toBe("reactive");
    expect(outcome.plan.policyReasons).toEqual([{ code: "cpu-only" }, { code: "no-user-trace" }]);
    expect(replicas(outcome)).toEqual({ busy: 3, idle: 6 });
  });

  it("balances queues as soon as the latency of a flow is known", () => {
    expect(decide(inputs(twoServices({}, 0.1))).plan.policy).toBe("queue");
  });

  it("names the entries it sees when no flow comes through the configured one", () => {
    const set = twoServices({}, 0.5);
    set.flows[0]!.entryService = "gateway";
    const { plan } = decide(inputs(set));
    expect(plan.policy).toBe("reactive");
    expect(plan.policyReasons).toContainEqual({
      code: "entry-not-traced",
      entry: "frontend",
      tracedEntries: ["gateway"],
    });
  });

  it("keeps what the platform wants under the static policy, whatever the latency", () => {
    const outcome = decide(inputs(twoServices({ wanted: 5 }, 9), { choice: "static" }));
    expect(outcome.plan.policy).toBe("static");
    expect(replicas(outcome)).toEqual({ frontend: 2, backend: 5 });
  });

  it("leaves out services without a workload, and those of other namespaces", () => {
    const elsewhere = { ...window({ service: "other", replicas: 2 }), namespace: "elsewhere" };
    const set = windowSet([window({ service: "database", rate: 5, ownSeconds: 0.1 }), elsewhere]);
    expect(decide(inputs(set)).plan.wishes).toEqual([]);
  });

  it("makes wishes that fit the contract, with evidence and the window's hash", () => {
    const { plan } = decide(inputs(twoServices({}, 0.5)));
    for (const one of plan.wishes) expect(Wish.parse(one)).toEqual(one);
    expect(wish(decide(inputs(twoServices({}, 0.5))), "backend").evidence).toMatchObject({
      baseReplicas: 2,
      needReplicas: 2,
      cpuDemandCores: 1,
      tailOverObjective: 2.5,
    });
  });
});

describe("a missed objective", () => {
  it("adds pods in the first window, where the queue is", () => {
    const outcome = decide(inputs(twoServices({ podUsageCores: 0.6, ownSeconds: 0.2 }, 0.6)));
    expect(replicas(outcome)).toEqual({ frontend: 2, backend: 4 });
    expect(wish(outcome, "backend").reasons).toMatchObject([
      { code: "measured", percentile: 0.95, latencySeconds: 0.6, objectiveSeconds: 0.2 },
      { code: "queue-share", queueRatio: expect.closeTo(0.738, 3) as number },
      { code: "replicas", fromReplicas: 2, toReplicas: 4 },
    ]);
    expect(wish(outcome, "backend").latencyBeforeSeconds).toBe(0.6);
  });

  it("comes to the numbers of the worked example in docs/policies.md", () => {
    const set = twoServices({ podUsageCores: 0.6, ownSeconds: 0.2 }, 0.6);
    const outcome = decide(inputs(set));
    expect(wish(outcome, "frontend").evidence["queueFlower"]).toBeCloseTo(0.262, 3);
    expect(wish(outcome, "backend").evidence).toMatchObject({
      needReplicas: 2,
      tailOverObjective: 0.6 / 0.2,
    });
    expect(wish(outcome, "backend").evidence["queueFlower"]).toBeCloseTo(0.738, 3);
    expect(wish(outcome, "backend").evidence["backlogRequests"]).toBeCloseTo(0.286, 3);
    expect(replicas(outcome)).toEqual({ frontend: 2, backend: 4 });
  });

  it("adds in proportion: one pod for a tail a fifth over, as many again for twice the objective", () => {
    const many = { replicas: 10, podUsageCores: 0.6, ownSeconds: 0.2 };
    expect(replicas(decide(inputs(twoServices(many, 0.25))))["backend"]).toBe(13);
    expect(replicas(decide(inputs(twoServices(many, 0.4))))["backend"]).toBe(20);
  });

  it("waits for a second window when the miss is slight", () => {
    const sets = [0, 1].map((index) =>
      twoServices({ podUsageCores: 0.6, ownSeconds: 0.15 }, 0.21, START_MS + index * WINDOW_MS),
    );
    expect(run(sets).map((outcome) => replicas(outcome)["backend"])).toEqual([2, 3]);
  });

  it("goes to the service over its target utilisation, though another has the longer queue", () => {
    const set = windowSet(
      [
        window({ service: "frontend", replicas: 1, rate: 20, ownSeconds: 0.2, podUsageCores: 0.5 }),
        window({ service: "backend", replicas: 1, rate: 20, ownSeconds: 0.1, podUsageCores: 0.95 }),
      ],
      [flow(["frontend", "backend"], 0.4)],
    );
    expect(replicas(decide(inputs(set)))).toEqual({ frontend: 1, backend: 2 });
  });

  it("never goes to a service that is not on the slow flow", () => {
    const set = twoServices({ podUsageCores: 0.6, ownSeconds: 0.2 }, 0.5);
    set.windows.push(
      window({ service: "batch", replicas: 1, rate: 0.1, ownSeconds: 10, podUsageCores: 0.6 }),
    );
    set.flows.push(flow(["batch"], 30, { flow: "nightly", entryService: "batch" }));
    expect(replicas(decide(inputs(set)))["batch"]).toBe(1);
  });

  it("is not seen in a handful of requests", () => {
    const set = twoServices({ podUsageCores: 0.6, ownSeconds: 0.2 }, 0.5);
    set.flows[0]!.latency.count = 5;
    const outcome = decide(inputs(set));
    expect(replicas(outcome)).toEqual({ frontend: 2, backend: 2 });
    expect(outcome.plan.policyReasons?.[0]).toMatchObject({ code: "slo-violated", fewerThanRequests: 20 });
  });

  it("adds nothing while added pods do not serve yet", () => {
    const facts = { podUsageCores: 0.6, ownSeconds: 0.2 };
    const [first, second] = run([
      twoServices(facts, 0.5),
      twoServices({ ...facts, wanted: 4 }, 0.6, START_MS + WINDOW_MS),
    ]);
    expect(replicas(first!)["backend"]).toBe(4);
    expect(replicas(second!)["backend"]).toBe(4);
    expect(second!.plan.policyReasons).toContainEqual({ code: "replicas-starting", services: ["backend"] });
  });

  it("adds nothing on the word of a window in which pods just added were not ready yet, and does once a whole one misses", () => {
    const startOf = (index: number): number => START_MS + index * WINDOW_MS;
    /** The second pod was ready 2 s after the second window, while that window was decided on; CPU is at ease from then on. */
    const withPods = (index: number, tailSeconds: number, backend: Partial<ServiceFacts>): WindowSet => {
      const set = twoServices(
        { replicas: 2, podUsageCores: 0.4, ownSeconds: 0.2, startedAtMs: startOf(1) + 9_000, ...backend },
        tailSeconds,
        startOf(index),
      );
      const containers = set.windows[1]!.containers.map((container, pod) => ({
        ...container,
        startedAtMs: pod === 0 ? START_MS - 600_000 : startOf(2) + 2_000,
      }));
      return { ...set, windows: [set.windows[0]!, { ...set.windows[1]!, containers }] };
    };
    const one = { replicas: 1, podUsageCores: 0.95, startedAtMs: START_MS - 600_000 };
    const outcomes = run([
      withPods(0, 0.21, one),
      withPods(1, 1.3, {}),
      withPods(2, 1.3, {}),
      withPods(3, 1.3, {}),
    ]);
    expect(outcomes.map((outcome) => replicas(outcome)["backend"])).toEqual([2, 2, 2, 4]);
    expect(codesOf(wish(outcomes[2]!, "backend").reasons)).toContain("replicas-starting");
  });

  it("gives every service a reason that is true of it", () => {
    const set = twoServices({ podUsageCores: 0.9, ownSeconds: 0.2 }, 0.6);
    set.windows.push(
      window({ service: "batch", replicas: 1, rate: 0.1, ownSeconds: 10, podUsageCores: 0.1 }),
      window({ service: "cache", replicas: 3, rate: 20, ownSeconds: 0.001, podUsageCores: 0.1 }),
    );
    set.flows.push(flow(["frontend", "cache"], 0.08, { flow: "GET /cached" }));
    const outcome = decide(inputs(set));
    expect(replicas(outcome)).toEqual({ backend: 4, batch: 1, cache: 3, frontend: 2 });
    expect(codesOf(wish(outcome, "batch").reasons)).toEqual(["measured", "cpu-demand", "replicas"]);
    expect(wish(outcome, "cache").reasons).toMatchObject([
      { code: "measured" },
      { code: "slo-met", route: "GET /cached", latencySeconds: 0.08 },
      { code: "replicas", fromReplicas: 3, toReplicas: 3 },
    ]);
    expect(wish(outcome, "frontend").reasons).toMatchObject([
      { code: "measured", route: "GET /", latencySeconds: expect.closeTo(0.6, 9) as number },
      { code: "idle" },
      { code: "replicas", fromReplicas: 2, toReplicas: 2 },
    ]);
  });

  it("adds nothing while the queue is being worked off", () => {
    const facts = { podUsageCores: 0.6 };
    const sets = [0.4, 0.2].map((ownSeconds, index) =>
      twoServices({ ...facts, ownSeconds, replicas: 2 + 2 * index }, 0.5, START_MS + index * WINDOW_MS),
    );
    expect(run(sets).map((outcome) => replicas(outcome)["backend"])).toEqual([4, 4]);
  });

  it("stops adding when pods show no effect, and pauses for longer each time", () => {
    // The tail stays at 2.5 times the objective whatever is added: a slow database without spans of its own.
    let { state } = inputs(twoServices({}, 0.5));
    let count = 2;
    const wishes: number[] = [];
    for (let index = 0; index < 40; index += 1) {
      const set = twoServices(
        { replicas: count, podUsageCores: 0.8 / count, ownSeconds: 0.3 },
        0.5,
        START_MS + index * WINDOW_MS,
      );
      const outcome = decide(inputs(set, { choice: "queue", state }));
      ({ state } = outcome);
      count = replicas(outcome)["backend"]!;
      wishes.push(count);
    }
    expect(wishes.slice(0, 4)).toEqual([4, 4, 8, 8]);
    expect(wishes[10]).toBe(8);
    expect(wishes.at(-1)).toBeLessThanOrEqual(32);
  });

  it("respects the maximum of a service and says so", () => {
    const app = application({ services: [{ name: "backend", maxReplicas: 2 }] });
    const outcome = decide(
      inputs(twoServices({ podUsageCores: 0.95, ownSeconds: 0.3 }, 0.9), { application: app }),
    );
    expect(replicas(outcome)["backend"]).toBe(2);
    expect(wish(outcome, "backend").bounds.maxReplicas).toBe(2);
    expect(outcome.plan.policyReasons).toContainEqual({ code: "max-replicas" });
  });
});

describe("calm", () => {
  it("takes one step down after the objective's interval, then waits again", () => {
    const counts = run(calmRun(3)).map((outcome) => replicas(outcome)["backend"]);
    expect(counts).toEqual([4, 4, 3]);
  });

  it("never goes below the reactive need", () => {
    // 4 pods at 0.5 cores: 2 cores of demand at 55 % need 4.
    const counts = run(calmRun(12, { podUsageCores: 0.5 })).map((outcome) => replicas(outcome)["backend"]);
    expect(new Set(counts)).toEqual(new Set([4]));
  });

  it("never goes below the minimum", () => {
    const app = application({
      services: [{ name: "backend", minReplicas: 4 }],
    });
    for (const outcome of run(calmRun(8), { application: app })) {
      expect(replicas(outcome)).toEqual({ frontend: 1, backend: 4 });
    }
  });

  it("does not take a pod that would bring the tail near the objective", () => {
    // Tail at 75 %; 4 pods at 30 % use, 3 at 40 %: the tail would stretch by 0.7/0.6, to 88 %. At 79 %: to 92 %.
    const last = (tail: number): number =>
      replicas(run(calmRun(3, { podUsageCores: 0.3 }, tail))[2]!)["backend"]!;
    expect(last(0.15)).toBe(3);
    expect(last(0.158)).toBe(4);
  });

  it("is broken by one window that is not calm", () => {
    const sets = calmRun(5);
    sets[2]!.flows[0]!.latency = { ...sets[2]!.flows[0]!.latency, p95Seconds: 0.18, p99Seconds: 0.19 };
    expect(run(sets).map((outcome) => replicas(outcome)["backend"])).toEqual([4, 4, 4, 4, 4]);
  });

  it("is not calm while requests fail, however fast they fail", () => {
    const sets = calmRun(5);
    for (const set of sets) set.flows[0]!.errorRatio = 0.2;
    expect(replicas(run(sets)[4]!)["backend"]).toBe(4);
  });

  it("does not take back a step down because a pod was not measured in the next window", () => {
    const sets = calmRun(4);
    const [, backend] = sets[3]!.windows;
    backend!.containers = backend!.containers.slice(0, 1);
    expect(run(sets).map((outcome) => replicas(outcome)["backend"])).toEqual([4, 4, 3, 3]);
  });

  it("takes nothing from a service whose CPU use is not known", () => {
    const sets = calmRun(6);
    for (const set of sets) set.windows[1]!.containers = [];
    expect(replicas(run(sets)[5]!)["backend"]).toBe(4);
  });

  it("waits twice as long after a step down that had to be undone", () => {
    const sets = calmRun(3);
    const missed = twoServices(
      { replicas: 3, podUsageCores: 0.6, ownSeconds: 0.2 },
      0.5,
      START_MS + 3 * WINDOW_MS,
    );
    const [, , shrunk, regretted] = run([...sets, missed]);
    expect(shrunk!.state.patienceDoublings).toBe(0);
    expect(regretted!.state.patienceDoublings).toBe(1);
    expect(replicas(regretted!)["backend"]).toBeGreaterThan(3);
  });

  it("follows the platform down where it never went up, before any pod goes", () => {
    // A wish of 10 that the platform answered with 4.
    const state = PolicyState.parse({
      ...inputs(windowSet([])).state,
      windowEndMs: START_MS,
      calmWindows: 2,
      services: [{ service: "backend", replicas: 10, platformWanted: 4, seenAtMs: START_MS }],
    });
    expect(replicas(decide(inputs(calmRun(1)[0]!, { choice: "queue", state })))["backend"]).toBe(4);
  });
});

describe("missing data", () => {
  const remembered = (count: number, windowEndMs: number): PolicyState =>
    PolicyState.parse({
      ...inputs(windowSet([])).state,
      windowEndMs,
      calmWindows: 50,
      services: [{ service: "backend", replicas: count, platformWanted: count, seenAtMs: windowEndMs }],
    });

  it("keeps the last wish of a service that nobody reports any more", () => {
    const outcome = decide(inputs(windowSet([]), { state: remembered(7, START_MS) }));
    expect(wish(outcome, "backend")).toMatchObject({
      policy: "hold",
      allocation: { replicas: 7 },
      observed: { complete: false },
    });
  });

  it("forgets a service that was not seen for an hour", () => {
    const state = remembered(7, START_MS - 3_700_000);
    expect(decide(inputs(windowSet([]), { state })).plan.wishes).toEqual([]);
  });

  it("does not scale down after a restart: the larger of the old wish and what runs", () => {
    const lowWish = decide(
      inputs(calmRun(1, { replicas: 6 })[0]!, { state: remembered(2, START_MS - 600_000) }),
    );
    expect(replicas(lowWish)["backend"]).toBe(6);
    const highWish = decide(
      inputs(calmRun(1, { replicas: 3 })[0]!, { state: remembered(8, START_MS - 600_000) }),
    );
    expect(replicas(highWish)["backend"]).toBe(8);
  });

  it("starts from what somebody else raised the replicas to", () => {
    const outcome = decide(inputs(twoServices({ replicas: 9 }, 0.1), { state: remembered(3, START_MS) }));
    expect(replicas(outcome)["backend"]).toBe(9);
  });

  it("sticks to its lower wish while the platform is slow to follow it", () => {
    const state = remembered(5, START_MS);
    const lowered = {
      ...state,
      calmWindows: 0,
      services: [{ ...state.services[0]!, replicas: 4 }],
    };
    const outcome = decide(inputs(twoServices({ replicas: 5 }, 0.1), { state: lowered }));
    expect(replicas(outcome)["backend"]).toBe(4);
  });

  it("adds by CPU alone while overload keeps every span from arriving", () => {
    const set = twoServices({ podUsageCores: 1, throttled: 1 }, 0.5);
    set.flows = [];
    set.windows = set.windows.map(
      ({ requestsPerSecond: _rate, ownLatency: _own, ownInFlight: _queue, ...rest }) => rest,
    );
    const outcome = decide(inputs(set));
    expect(outcome.plan.policy).toBe("reactive");
    expect(replicas(outcome)["backend"]).toBe(6);
  });

  it("survives services that are named like properties of objects", () => {
    const names = ["__proto__", "constructor", "toString"];
    const set = windowSet(
      names.map((service) => window({ service, replicas: 2, rate: 5, ownSeconds: 0.1, podUsageCores: 0.2 })),
      [flow(["frontend", ...names], 0.1)],
    );
    const [first, second] = run([set, set]);
    expect(first!.plan.wishes.map(({ service }) => service)).toEqual([...names].sort());
    expect(second!.plan.wishes.every(({ allocation }) => allocation.replicas === 2)).toBe(true);
  });

  it("leaves a service asleep that the platform put to sleep, and wakes it when it is called", () => {
    const app = application({ services: [{ name: "backend", minReplicas: 0 }] });
    const asleep = twoServices({ replicas: 0, wanted: 0, rate: 0 }, 0.1);
    expect(replicas(decide(inputs(asleep, { application: app })))["backend"]).toBe(0);
    const called = twoServices({ replicas: 0, wanted: 0, rate: 3 }, 0.1);
    expect(replicas(decide(inputs(called, { application: app })))["backend"]).toBe(1);
  });
});
