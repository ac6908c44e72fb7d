import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { describe, expect, it } from "vitest";
import { application, flow, inputs, START_MS, window, WINDOW_MS, windowSet } from "../measurements.ts";
import type { ServiceFacts } from "../measurements.ts";

const MISSING = "spans that the predictor at http://10.0.0.7:9814 received since 12:00:05Z are missing";

interface Course {
  readonly backend?: Partial<ServiceFacts>;
  readonly tailSeconds?: number;
  /** Services of whose traffic a part is missing. */
  readonly missing?: readonly string[];
}

/** Window number `index` of a frontend and a backend. */
function setAt(index: number, { backend, missing = [], tailSeconds = 0.06 }: Course): WindowSet {
  const startMs = START_MS + index * WINDOW_MS;
  const facts = { service: "backend", replicas: 4, rate: 20, ownSeconds: 0.05, podUsageCores: 0.2 };
  const set = windowSet(
    [
      window({ service: "frontend", replicas: 1, rate: 20, ownSeconds: 0.005, podUsageCores: 0.1 }, startMs),
      window({ ...facts, ...backend }, startMs),
    ],
    [flow(["frontend", "backend"], tailSeconds, { requestsPerSecond: backend?.rate ?? 20 })],
  );
  const windows = set.windows.map((each) =>
    missing.includes(each.service) ? Object.assign({}, each, { missing: MISSING }) : each,
  );
  return { ...set, windows };
}

function run(courses: readonly Course[], overrides: Partial<PolicyInputs> = {}): PolicyOutcome[] {
  let { state } = inputs(setAt(0, {}), overrides);
  return courses.map((course, index) => {
    const outcome = decide(inputs(setAt(index, course), { ...overrides, state }));
    ({ state } = outcome);
    return outcome;
  });
}

const BOTH = ["frontend", "backend"];
const times = (count: number, course: Course): Course[] => Array.from({ length: count }, () => course);
const wishOf = ({ plan }: PolicyOutcome, service: string): Wish =>
  plan.wishes.find((one) => one.service === service)!;
const backendOf = (outcome: PolicyOutcome): number => wishOf(outcome, "backend").allocation.replicas;

describe("a miss of the objective that was measured on a part of the traffic", () => {
  it.each(["auto", "queue"] as const)(
    "is a miss: growth goes on under %s, and says what is missing",
    (choice) => {
      const backend = { replicas: 2, podUsageCores: 0.6, ownSeconds: 0.2 };
      const [outcome] = run([{ backend, tailSeconds: 0.6, missing: BOTH }], { choice });
      expect(outcome!.plan.policy).toBe("queue");
      expect(outcome!.plan.policyReasons).toContainEqual({ code: "traffic-missing", missing: MISSING });
      expect(outcome!.plan.measuredLatencySeconds).toBeCloseTo(0.6, 9);
      expect(backendOf(outcome!)).toBe(4);
      expect(wishOf(outcome!, "backend").observed.complete).toBe(false);
    },
  );

  it("is not held back by a queue that seems to be worked off because half of it is not seen", () => {
    const slow = { replicas: 4, podUsageCores: 0.6, ownSeconds: 0.2 };
    const [, outcome] = run([
      { backend: { ...slow, rate: 40 } },
      { backend: { ...slow, rate: 20 }, tailSeconds: 0.6, missing: BOTH },
    ]);
    expect(backendOf(outcome!)).toBeGreaterThan(4);
  });
});

describe("calm that was measured on a part of the traffic", () => {
  it("takes nothing away, however long, and names what is missing", () => {
    const outcomes = run(times(30, { missing: BOTH }));
    expect(new Set(outcomes.map(backendOf))).toEqual(new Set([4]));
    const { observed, reasons } = wishOf(outcomes.at(-1)!, "backend");
    expect(reasons).toContainEqual({ code: "data-missing", what: "traffic", missing: MISSING });
    expect(observed.complete).toBe(false);
    // The same calm without a doubt does.
    expect(backendOf(run(times(30, {})).at(-1)!)).toBeLessThan(4);
  });

  it("neither adds to the calm before it nor ends it", () => {
    const outcomes = run([{}, ...times(5, { missing: BOTH }), {}]);
    expect(outcomes.map(({ state }) => state.calmWindows)).toEqual([1, 1, 1, 1, 1, 1, 2]);
  });

  it("is not compared with the load before or after it: a peer that comes back is no surge", () => {
    const whole = { backend: { rate: 40 }, tailSeconds: 0.18 };
    const half = { backend: { rate: 20 }, tailSeconds: 0.18, missing: BOTH };
    const outcomes = run([...times(3, whole), ...times(3, half), ...times(2, whole)], { choice: "queue" });
    expect(outcomes.map(({ state }) => state.requestsPerSecond)).toEqual(Array(8).fill(40));
    expect(new Set(outcomes.map(backendOf))).toEqual(new Set([4]));
    expect(outcomes[5]!.state.services.map(({ ownRequests }) => ownRequests)).toEqual([undefined, undefined]);
  });

  it("holds the one service of which it is missing where users' requests do not pass it, and no other", () => {
    const withSide = (set: WindowSet): WindowSet => {
      const side = { service: "side", replicas: 6, rate: 1, ownSeconds: 0.001, podUsageCores: 0.05 };
      return { ...set, windows: [...set.windows, { ...window(side, set.startMs), missing: MISSING }] };
    };
    let { state } = inputs(setAt(0, {}));
    let last: PolicyOutcome | undefined;
    for (let index = 0; index < 30; index += 1) {
      last = decide(inputs(withSide(setAt(index, {})), { state }));
      ({ state } = last);
    }
    expect(backendOf(last!)).toBeLessThan(4);
    expect(wishOf(last!, "side").allocation.replicas).toBe(6);
    expect(wishOf(last!, "side").reasons?.at(-1)).toMatchObject({ code: "data-missing", missing: MISSING });
  });

  it("moves no pods of a budget", () => {
    const limited = { application: application({ budget: { pods: 5 } }) };
    const backend = { podUsageCores: 0.01, ownSeconds: 0.001 };
    const slow = { backend, tailSeconds: 0.6, missing: BOTH };
    expect(run(times(4, slow), limited).map(backendOf)).toEqual([4, 4, 4, 4]);
  });
});

describe("no trace of users while spans are missing", () => {
  it("is said as that, not as no traffic", () => {
    const set = { ...setAt(0, { missing: BOTH }), flows: [] };
    const { plan } = decide(inputs(set));
    expect(plan.policy).toBe("reactive");
    expect(plan.policyReasons).toEqual([
      { code: "cpu-only" },
      { code: "no-user-trace" },
      { code: "traffic-missing", missing: MISSING },
    ]);
  });
});

describe("a service that no source told of", () => {
  it("keeps its replicas in calm, and says that nobody vouches for its rest", () => {
    const { rate: _rate, ownSeconds: _own, ...silent } = { rate: 0, ownSeconds: 0, podUsageCores: 0.01 };
    let { state } = inputs(setAt(0, {}));
    let last: PolicyOutcome | undefined;
    for (let index = 0; index < 30; index += 1) {
      const set = setAt(index, {});
      const side = window({ service: "geo", replicas: 8, ...silent }, set.startMs);
      last = decide(inputs({ ...set, windows: [...set.windows, side] }, { state }));
      ({ state } = last);
    }
    expect(wishOf(last!, "geo")).toMatchObject({
      allocation: { replicas: 8 },
      observed: { complete: false },
    });
    expect(wishOf(last!, "geo").reasons).toContainEqual({ code: "data-missing", what: "requests" });
    expect(backendOf(last!)).toBeLessThan(4);
  });

  it("is shrunk in calm when its rest is vouched for", () => {
    let { state } = inputs(setAt(0, {}));
    let last: PolicyOutcome | undefined;
    for (let index = 0; index < 30; index += 1) {
      const set = setAt(index, {});
      const side = window({ service: "geo", replicas: 8, rate: 0, podUsageCores: 0.01 }, set.startMs);
      last = decide(inputs({ ...set, windows: [...set.windows, side] }, { state }));
      ({ state } = last);
    }
    expect(wishOf(last!, "geo").allocation.replicas).toBeLessThan(8);
  });
});
