import type { FlowMemory } from "@tradewind/predictor/decide/facts/state.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { callsAfter } from "@tradewind/predictor/decide/cost/learn/calls.ts";
import type { Calls } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { describe, expect, it } from "vitest";
import { flow, window, windowSet } from "../measurements.ts";
import { costWindowOf } from "./given.ts";

/** 40 requests a second, of which `count` were traced; backend is called `perSecond` times a second. */
function windowOf(count: number, perSecond: number, errorRatio = 0): WindowSet {
  const made = flow(["frontend", "backend"], 0.1, { requestsPerSecond: 40, errorRatio });
  return windowSet(
    [
      window({ service: "frontend", replicas: 1, rate: 40, ownSeconds: 0.01 }),
      window({ service: "backend", replicas: 1, rate: perSecond, ownSeconds: 0.01 }),
    ],
    [{ ...made, latency: { ...made.latency, count } }],
  );
}

function after(
  had: Calls | undefined,
  set: WindowSet,
  earlier: readonly FlowMemory[] = [],
): Calls | undefined {
  const memory = { service: "backend", windows: 1, profile: PROFILE, ...(had && { calls: had }) };
  return callsAfter(costWindowOf(set, {}, earlier), [memory]).get("backend");
}

const PROFILE = {} as Parameters<typeof callsAfter>[1][number]["profile"];

const ratio = ({ calls, requests }: Calls): number => calls / requests;

describe("calls of a service for a request", () => {
  it("are those of one window where it has a hundred of them", () => {
    expect(after({ calls: 500, requests: 1_000 }, windowOf(200, 40))).toEqual({ calls: 200, requests: 200 });
  });

  it("are those of as many windows as make a hundred where one has fewer", () => {
    // Ten calls of twenty requests now; ninety of the three hundred before count on.
    const known = after({ calls: 100, requests: 300 }, windowOf(20, 20))!;
    expect(known.calls).toBeCloseTo(100, 9);
    expect(known.requests).toBeCloseTo(20 + 270, 9);
  });

  it("end once it is called no more", () => {
    let known: Calls | undefined = { calls: 100, requests: 200 };
    for (let at = 0; at < 20; at += 1) known = after(known, windowOf(600, 0));
    expect(ratio(known!)).toBeLessThan(0.01);
  });

  it("are those of now where a service is called again after half a day without a call", () => {
    let known: Calls | undefined = { calls: 100, requests: 200 };
    for (let at = 0; at < 2_880; at += 1) known = after(known, windowOf(600, 0));
    expect(ratio(known!)).toBe(0);
    expect(ratio(after(known, windowOf(600, 5))!)).toBeCloseTo(5 / 40, 9);
  });

  it("count the calls of this window alone, not those of earlier windows that a rare route's tail needs", () => {
    const latency = { count: 3, meanSeconds: 0.1, p50Seconds: 0.1, p95Seconds: 0.1, p99Seconds: 0.1 };
    const rare = windowOf(3, 40);
    const latencies = Array.from({ length: 10 }, (_, at) => ({ ...latency, endMs: rare.startMs - at }));
    const name = rare.flows[0]!.flow;
    const known = after(undefined, rare, [{ flow: name, latencies }])!;
    expect(known.requests).toBe(3);
  });

  it("are not told by a window in which requests fail, nor by one of which traffic is missing", () => {
    expect(after({ calls: 100, requests: 200 }, windowOf(600, 2, 0.4))).toBeUndefined();
    const incomplete = costWindowOf(windowOf(600, 40), { missing: "spans were lost" });
    expect(callsAfter(incomplete, []).size).toBe(0);
  });
});
