import type { FlowCall } from "@tradewind/core/contract/window.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { describe, expect, it } from "vitest";
import {
  ARRIVAL_MS,
  batchOf,
  buildFirst,
  flowIn,
  newBuilder,
  T0,
  traceOf,
  WINDOW_MS,
  windowsOf,
} from "./traced.ts";
import type { Example } from "./traced.ts";

/** A request and the calls it made, each by a CLIENT span of its own. */
function request(
  service: string,
  at: number,
  duration: number,
  calls: Example[] = [],
  name?: string,
): Example {
  const children = calls.map((callee): Example => ({
    service,
    kind: "client",
    at: callee.at - 1,
    for: callee.for + 2,
    children: [callee],
  }));
  return { service, kind: "server", at, for: duration, children, ...(name !== undefined && { name }) };
}

const call = (caller: string, callee: string, callsPerRequest = 1, parallelRatio = 0): FlowCall => ({
  caller,
  callee,
  callsPerRequest,
  parallelRatio,
});
const callsOf = (roots: readonly Example[], flow: string): FlowCall[] | undefined =>
  flowIn(windowsOf(roots.flatMap((root) => traceOf(root))), flow).calls;

describe("calls of a flow", () => {
  it("are told apart by flow, though the same service makes them", () => {
    const roots = [
      request("front", 0, 100, [request("search", 10, 50)], "GET /hotels"),
      request("front", 200, 100, [request("book", 210, 20), request("book", 250, 20)], "POST /book"),
    ];
    expect(callsOf(roots, "GET /hotels")).toEqual([call("front", "search")]);
    expect(callsOf(roots, "POST /book")).toEqual([call("front", "book", 2)]);
  });

  it("count per request that reaches the caller, not per request of the flow", () => {
    const search = (at: number, calls: Example[]): Example => request("search", at, 30, calls);
    const twice = [
      search(10, [request("geo", 15, 5), request("geo", 25, 5), request("geo", 32, 5)]),
      search(60, [request("geo", 65, 5)]),
    ];
    const roots = [request("front", 0, 100, twice, "GET /"), request("front", 200, 10, [], "GET /")];
    expect(callsOf(roots, "GET /")).toEqual([call("front", "search", 1), call("search", "geo", 2)]);
  });

  it("say which share of them ran beside another call of the same request", () => {
    const roots = [
      request("front", 0, 100, [request("a", 10, 30), request("b", 20, 30), request("a", 70, 10)], "GET /"),
    ];
    expect(callsOf(roots, "GET /")).toEqual([call("front", "a", 2, 0.5), call("front", "b", 1, 1)]);
  });

  it("leave out messages, and what the reader of a message calls, even where it also answers the flow", () => {
    const reader: Example = { ...request("mail", 12, 60, [request("smtp", 20, 10)]), kind: "consumer" };
    const message: Example = { service: "front", kind: "producer", at: 10, for: 1, children: [reader] };
    const root = request("front", 0, 100, [request("mail", 40, 10, [request("quota", 42, 5)])], "GET /");
    const flow = flowIn(windowsOf(traceOf({ ...root, children: [message, ...root.children!] })), "GET /");
    expect(flow.calls).toEqual([call("front", "mail"), call("mail", "quota")]);
    expect(flow.services).toContain("smtp");
  });

  it("leave out a call that begins after the answer, and count one that outlives it", () => {
    const roots = [request("front", 0, 100, [request("audit", 150, 10), request("log", 90, 50)], "GET /")];
    expect(callsOf(roots, "GET /")).toEqual([call("front", "log")]);
  });

  it("count a callee whose caller made no CLIENT span", () => {
    const callee: Example = { service: "geo", kind: "server", at: 10, for: 20 };
    const roots = [{ ...request("front", 0, 100), name: "GET /", children: [callee] }];
    expect(callsOf(roots, "GET /")).toEqual([call("front", "geo")]);
  });

  it("begin at the first span known where the very first never came", () => {
    const root = request("front", 0, 100, [request("geo", 10, 20)], "GET /");
    const builder = newBuilder();
    builder.add(batchOf(traceOf(root, "00000000000000aa")), ARRIVAL_MS);
    expect(flowIn(buildFirst(builder), "GET /").calls).toEqual([call("front", "geo")]);
  });

  it("are weighted as the flow's first request is sampled", () => {
    const sampled = { ...request("front", 0, 50, [request("geo", 10, 20)], "GET /"), adjustedCount: 9 };
    const whole = request("front", 100, 50, [request("rate", 110, 20)], "GET /");
    expect(callsOf([sampled, whole], "GET /")).toEqual([
      call("front", "geo", 0.9),
      call("front", "rate", 0.1),
    ]);
  });

  it("keep which calls ran side by side when they were counted a window before the flow", () => {
    const last = WINDOW_MS - 100;
    const inner = request("search", last, 90, [
      request("geo", last + 10, 40),
      request("rate", last + 20, 40),
    ]);
    const root = request("front", last - 10, 3_000, [inner], "GET /");
    const spans = traceOf(root);
    const builder = newBuilder();
    builder.add(batchOf(spans.slice(2)), T0 + WINDOW_MS);
    builder.build(T0, T0 + WINDOW_MS, NO_RESOURCES, T0 + WINDOW_MS + 4_000);
    builder.add(batchOf(spans.slice(0, 2)), T0 + WINDOW_MS + 4_500);
    const second = builder.build(
      T0 + WINDOW_MS,
      T0 + 2 * WINDOW_MS,
      NO_RESOURCES,
      T0 + 2 * WINDOW_MS + 9_000,
    );
    expect(flowIn(second, "GET /").calls).toEqual([
      call("front", "search"),
      call("search", "geo", 1, 1),
      call("search", "rate", 1, 1),
    ]);
  });

  it("give each flow a call graph of its own", () => {
    const roots = [
      request("front", 0, 100, [request("search", 10, 50)], "GET /hotels"),
      request("front", 200, 100, [request("book", 210, 20)], "POST /book"),
    ];
    const set = windowsOf(roots.flatMap((root) => traceOf(root)));
    const index = serviceIndex(set.windows.map(({ service }) => service));
    const reached = (flow: string): string[] =>
      [...compileFlow(flowIn(set, flow), set, index)!.serviceOf].map((service) => index.names[service]!);
    expect(reached("GET /hotels")).toEqual(["search", "front"]);
    expect(reached("POST /book")).toEqual(["book", "front"]);
  });
});
