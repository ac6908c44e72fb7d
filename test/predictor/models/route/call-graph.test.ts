import { describe, expect, it } from "vitest";
import type { Window } from "@tradewind/core/contract/window.ts";
import { compileFlow, serviceIndex } from "../../../../predictor/models/route/call-graph.ts";
import { call, emptySet, flowOf } from "./random-application.ts";

const index = serviceIndex(["s0", "s1", "s2", "s3"]);

describe("compileFlow", () => {
  it("numbers callees before callers and the entry last", () => {
    const graph = compileFlow(
      flowOf([call("s0", "s1"), call("s1", "s2"), call("s0", "s2")]),
      emptySet,
      index,
    )!;
    expect([...graph.serviceOf]).toEqual([2, 1, 0]);
    expect([...graph.nodeOf]).toEqual([2, 1, 0, -1]);
    expect(graph.droppedCalls).toBe(0);
  });

  it("leaves out the call that closes a cycle and counts it", () => {
    const graph = compileFlow(
      flowOf([call("s0", "s1"), call("s1", "s2"), call("s2", "s0")]),
      emptySet,
      index,
    )!;
    expect(graph.droppedCalls).toBe(1);
    expect([...graph.serviceOf]).toEqual([2, 1, 0]);
  });

  it("drops calls to services nobody knows and calls that never happen", () => {
    const graph = compileFlow(flowOf([call("s0", "elsewhere"), call("s0", "s1", 0)]), emptySet, index)!;
    expect([...graph.serviceOf]).toEqual([0]);
  });

  it("is undefined when the entry is unknown", () => {
    expect(compileFlow(flowOf([], "elsewhere"), emptySet, index)).toBeUndefined();
  });

  it("falls back on the calls of each service where a source cannot tell flows apart", () => {
    const window = (service: string, callees: Window["callees"]): Window => ({
      namespace: "default",
      service,
      startMs: 0,
      endMs: 15_000,
      requestsPerSecond: 20,
      callees,
      containers: [],
    });
    const { calls: _, ...flow } = flowOf([call("s0", "s1"), call("s1", "s2")]);
    const set = {
      ...emptySet,
      windows: [
        window("s0", [
          { callee: "s1", callsPerSecond: 30, parallelRatio: 0 },
          { callee: "s3", callsPerSecond: 30, parallelRatio: 0 },
        ]),
        window("s1", [{ callee: "s2", callsPerSecond: 20, parallelRatio: 1 }]),
      ],
    };
    const graph = compileFlow(flow, set, index)!;
    expect([...graph.serviceOf]).toEqual([2, 1, 0]);
    // Callees first: s1 calls s2 beside others, once; s0 calls s1 one and a half times, one call after the other.
    expect([...graph.perRequest]).toEqual([1, 1.5]);
    expect([...graph.calls]).toEqual([1, 1]);
    expect([...graph.toss]).toEqual([0, 0.25]);
    expect([...graph.visits]).toEqual([1.5, 1.5, 1]);
  });

  it("compiles a chain of 20,000 services without recursion", () => {
    const names = Array.from({ length: 20_000 }, (_, service) => `s${service}`);
    const chain = names.slice(1).map((name, caller) => call(`s${caller}`, name));
    expect(compileFlow(flowOf(chain), emptySet, serviceIndex(names))!.serviceOf).toHaveLength(20_000);
  });
});
