import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { describe, expect, it } from "vitest";
import { fixed } from "../../../simulator/model/distribution.ts";
import { application, call, cpu, Rig, service } from "../rig.ts";

describe("arrivals at even distances", () => {
  it("come exactly as often as the rate says, before a step, in it and after it", () => {
    const rig = new Rig(application(service("a", [cpu(fixed(1))])));
    const rate = (second: number): number => (second >= 600 && second < 900 ? 60 : 15);
    rig.engine.load(
      Float64Array.from({ length: 1_200 }, (_, second) => rate(second)),
      "even",
    );
    rig.engine.runUntil(1_200_000);
    const starts = rig.ended.map(({ startMs }) => startMs);
    const gaps = starts.slice(1).map((startMs, at) => startMs - (starts[at] ?? NaN));
    const isIn = (from: number, to: number) => (_: number, at: number) =>
      (starts[at] ?? 0) >= from && (starts[at + 1] ?? Infinity) <= to;
    expect(Math.max(...gaps.filter(isIn(0, 600_000)))).toBeCloseTo(1e3 / 15, 4);
    expect(Math.min(...gaps.filter(isIn(0, 600_000)))).toBeCloseTo(1e3 / 15, 4);
    expect(starts.filter((startMs) => startMs < 600_000)).toHaveLength(9_000);
    expect(starts.filter((startMs) => startMs >= 600_000 && startMs < 900_000)).toHaveLength(18_000);
    expect(starts.filter((startMs) => startMs >= 900_000)).toHaveLength(4_500);
  });
});

describe("what pods do by the clock", () => {
  const model = application({
    ...service("a", [cpu(fixed(1))], { replicas: 2 }),
    operations: { serve: [cpu(fixed(1))], probe: [cpu(fixed(4))], housekeeping: [cpu(fixed(0.5))] },
    periodic: [
      { operation: "probe", everySeconds: 2, route: "GET /readyz" },
      { operation: "housekeeping", everySeconds: 0.1 },
    ],
  });
  const probe = { name: "GET /readyz", service: "a", operation: "probe", share: 0 };

  it("probes of each pod are requests of their route, housekeeping is CPU without a span, and both end with the pod", () => {
    const rig = new Rig({ ...model, routes: [...model.routes, probe] }, { auditEvery: 1, traced: true });
    rig.engine.runUntil(10_000);
    expect(rig.ended.map(({ failed, route }) => [failed, route])).toEqual(
      Array.from({ length: 10 }, () => [false, 1]),
    );
    expect(rig.spans.map(({ kind, name }) => [kind, name])).toEqual(
      Array.from({ length: 10 }, () => [SPAN_KIND.server, "GET /readyz"]),
    );
    expect(new Set(rig.spans.map(({ trace }) => trace)).size).toBe(10);
    for (const { main } of rig.servers) expect(main.usedUntil(10_000)).toBeCloseTo(5 * 4 + 100 * 0.5, 0);
    const [gone] = rig.servers;
    rig.engine.removeServer(gone!);
    rig.engine.runUntil(20_000);
    expect(rig.ended).toHaveLength(15);
    expect(gone?.main.usedUntil(20_000)).toBeLessThan(80);
  });

  it("a probe of a route that does not exist is refused", () => {
    expect(() => new Rig(model)).toThrow("there is no route 'GET /readyz'");
  });
});

describe("connections that are kept", () => {
  const rigOf = (startsMs: readonly number[]): number[] => {
    const model = application(
      service("a", [call("b")]),
      service("b", [cpu(fixed(10))], { replicas: 6, balancing: "kept-connections" }),
    );
    const rig = new Rig(model, { auditEvery: 1 });
    startsMs.forEach((startMs, number) => {
      rig.engine.agenda.at(startMs, () => rig.engine.traffic.request(0, number, number));
    });
    rig.engine.runUntil(10_000);
    return rig.servers.slice(1).map(({ taken }) => taken);
  };

  it("one request at a time goes to one pod, whatever pods there are", () => {
    const taken = rigOf(Array.from({ length: 40 }, (_, number) => 20 * number));
    expect(taken.toSorted((a, b) => b - a)).toEqual([40, 0, 0, 0, 0, 0]);
  });

  it("requests that come while no connection is free go to other pods", () => {
    const taken = rigOf(Array.from({ length: 40 }, () => 0));
    expect(taken.filter((count) => count > 0).length).toBeGreaterThan(3);
    expect(taken.reduce((sum, count) => sum + count, 0)).toBe(40);
  });

  it("a pod that takes no more requests is left at once", () => {
    const model = application(service("a", [cpu(fixed(1))], { replicas: 2, balancing: "kept-connections" }));
    const rig = new Rig(model, { auditEvery: 1 });
    const { traffic } = rig.engine;
    traffic.request(0, 0, 0);
    rig.engine.runUntil(5);
    const used = rig.servers.find(({ taken }) => taken === 1)!;
    traffic.leave(used);
    traffic.request(0, 1, 1);
    rig.engine.runUntil(10);
    expect(rig.servers.map(({ taken }) => taken)).toEqual([1, 1]);
  });
});
