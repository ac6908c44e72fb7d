import type { FlowStage } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import { flowIn, traceOf, windowsOf } from "./traced.ts";
import type { Example } from "./traced.ts";

/** A call by a CLIENT span, from `at` for `duration` ms. */
const call = (callee: string, at: number, duration: number, calls: Example[] = []): Example => ({
  service: "front",
  kind: "client",
  at,
  for: duration,
  children: [{ service: callee, kind: "server", at: at + 1, for: duration - 2, children: calls }],
});

const request = (...calls: Example[]): Example => ({
  service: "front",
  kind: "server",
  at: 0,
  for: 200,
  name: "GET /",
  children: calls,
});

const stage = (calls: Record<string, number>, perRequest = 1, steps = 1, caller = "front"): FlowStage => ({
  caller,
  perRequest,
  steps,
  calls: Object.entries(calls).map(([callee, count]) => ({ callee, calls: count })),
});

const stagesOf = (...roots: Example[]): FlowStage[] | undefined =>
  flowIn(windowsOf(roots.flatMap((root) => traceOf(root))), "GET /").stages;

describe("stages of the calls of a flow", () => {
  it("are calls that overlap, one stage after the other", () => {
    const two = request(call("a", 10, 20), call("b", 12, 30), call("c", 50, 20), call("d", 55, 30));
    expect(stagesOf(two)).toEqual([stage({ a: 1, b: 1 }), stage({ c: 1, d: 1 })]);
  });

  it("count calls of one stage to the same callee: a fan-out to five", () => {
    const five = request(...[0, 1, 2, 3, 4].map((index) => call("a", 10 + index, 30)));
    expect(stagesOf(five)).toEqual([stage({ a: 5 })]);
  });

  it("are as many as calls that come one after another", () => {
    expect(stagesOf(request(call("a", 10, 10), call("a", 20, 10), call("a", 40, 10)))).toEqual([
      stage({ a: 1 }, 3),
    ]);
  });

  it("hold two steps where the call that ends last waited for another one, and one where it did not", () => {
    const chained = (ms: number): Example => request(call("c", 10, ms), call("a", 12, 20), call("b", 34, 20));
    expect(stagesOf(chained(30))).toEqual([stage({ a: 1, b: 1, c: 1 }, 1, 2)]);
    expect(stagesOf(chained(60))).toEqual([stage({ a: 1, b: 1, c: 1 }, 1, 1)]);
  });

  it("end with calls of no duration at the same time", () => {
    const instant = [call("a", 10, 2), call("b", 11, 0), call("c", 11, 0)].map((each) => ({
      ...each,
      children: [],
    }));
    const seen = request(call("d", 10, 20), ...instant);
    expect(stagesOf(seen)).toEqual([stage({ d: 1 })]);
  });

  it("hold three steps where a pool of two workers makes six calls", () => {
    const starts = [10, 15, 30, 35, 50, 55];
    expect(stagesOf(request(...starts.map((at) => call("a", at, 20))))).toEqual([stage({ a: 6 }, 1, 3)]);
  });

  it("are means over requests: of kinds by their set of callees, of calls within a kind", () => {
    const both = request(call("a", 10, 20), call("b", 12, 30));
    const twice = request(call("a", 10, 20), call("a", 11, 20), call("b", 12, 30));
    const alone = request(call("a", 10, 20));
    expect(stagesOf(both, twice, alone, request())).toEqual([
      stage({ a: 1 }, 0.25),
      stage({ a: 1.5, b: 1 }, 0.5),
    ]);
  });

  it("belong to their caller, per request that reaches it", () => {
    const inner = (at: number): Example => ({ ...call("deep", at, 4), service: "a" });
    const root = request(call("a", 10, 30, [inner(14), inner(20)]), call("a", 60, 30, [inner(64)]));
    expect(stagesOf(root)).toEqual([stage({ deep: 1 }, 1.5, 1, "a"), stage({ a: 1 }, 2)]);
  });

  it("hold no call that nobody waited for, and a second span behind one call apart", () => {
    const retried: Example = {
      ...call("a", 10, 60),
      children: [
        { service: "a", kind: "server", at: 11, for: 10 },
        { service: "a", kind: "server", at: 40, for: 10 },
      ],
    };
    expect(stagesOf(request(retried, call("b", 210, 20)))).toEqual([stage({ a: 1 }, 2)]);
  });

  it("account for every call, and list the 8 most frequent of 64 kinds of one caller", () => {
    const kind = (index: number): Example => request(call("base", 10, 20), call(`leaf-${index}`, 12, 20));
    const roots = [...Array.from({ length: 100 }, (_, index) => kind(index)), kind(30), kind(30)];
    const flow = flowIn(windowsOf(roots.flatMap((root) => traceOf(root))), "GET /");
    expect(flow.stages).toHaveLength(8);
    expect(flow.stages?.reduce((sum, { perRequest }) => sum + perRequest, 0)).toBeCloseTo(10 / 102, 9);
    expect(flow.calls?.find(({ callee }) => callee === "base")?.callsPerRequest).toBe(1);
  });

  it("are found among thirty calls of one request", () => {
    const calls = Array.from({ length: 30 }, (_, index) => call(`leaf-${index % 3}`, 10 + index, 40));
    expect(stagesOf(request(...calls, call("last", 100, 10)))).toEqual([
      stage({ last: 1 }),
      stage({ "leaf-0": 10, "leaf-1": 10, "leaf-2": 10 }),
    ]);
  });
});
