import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { describe, expect, it } from "vitest";
import type {
  ApplicationModel,
  ServiceModel,
  StepModel,
} from "../../../simulator/model/application-model.ts";
import { fixed } from "../../../simulator/model/distribution.ts";
import { application, call, cpu, Rig, service } from "../rig.ts";

const before = (ms: number): StepModel => ({ kind: "cpu", time: fixed(ms), span: "before" });
const after = (ms: number): StepModel => ({ kind: "cpu", time: fixed(ms), span: "after" });
/** 8 ms of quota in a period of 100 ms. */
const container = { cpuRequestCores: 0.05, cpuLimitCores: 0.08, memoryRequestBytes: 1e8 };

/** Requests of routes at times, all traced; what happened within the first 5 s. */
function rigOf(
  model: ApplicationModel,
  requests: (rig: Rig) => readonly (readonly [atMs: number, route: number])[],
): Rig {
  const rig = new Rig(model, { cores: 2, auditEvery: 1, traced: true });
  requests(rig).forEach(([atMs, route], number) => {
    rig.engine.agenda.at(atMs, () => rig.engine.traffic.request(route, number, number));
  });
  rig.engine.runUntil(5_000);
  rig.engine.audit();
  return rig;
}

const spansOf = ({ spans }: Rig, kind: number, of: number) =>
  spans.filter((span) => span.kind === kind && span.service === of);

describe("spans that hold a part of the CPU", () => {
  it("a SERVER span leaves out the CPU before and after it, which users and callers wait for", () => {
    const model = application(
      service("a", [before(2), cpu(fixed(1)), call("b"), after(3)]),
      service("b", [before(0.5), cpu(fixed(0.25)), after(0.75)]),
    );
    const rig = rigOf(model, () => [[0, 0]]);
    expect(rig.ended[0]?.latencyMs).toBeCloseTo(2 + 1 + (0.5 + 0.25 + 0.75) + 3, 6);
    const times = ([span]: typeof rig.spans) => [span?.startMs, span?.endMs].map((ms) => ms?.toFixed(3));
    expect(times(spansOf(rig, SPAN_KIND.server, 0))).toEqual(["2.000", "4.500"]);
    expect(times(spansOf(rig, SPAN_KIND.client, 0))).toEqual(["3.000", "4.500"]);
    expect(times(spansOf(rig, SPAN_KIND.server, 1))).toEqual(["3.500", "3.750"]);
    expect(rig.spans).toHaveLength(3);
  });

  it("the wait for a throttled container lies between the caller's span and the callee's, not in the callee's", () => {
    const b: ServiceModel = service("b", [before(1), cpu(fixed(0.5))], { container });
    const model = application(service("a", [call("b")]), {
      ...b,
      operations: { ...b.operations, heavy: [cpu(fixed(8))] },
    });
    const heavy = { name: "GET /heavy", service: "b", operation: "heavy", share: 0 };
    let periodMs = 0;
    const rig = rigOf({ ...model, routes: [...model.routes, heavy] }, ({ servers }) => {
      periodMs = servers[1]?.main.nextPeriodMs ?? NaN;
      return [
        [periodMs, 1],
        [periodMs + 10, 0],
      ];
    });
    // The heavy request takes all 8 ms; the other one is read from the next period on.
    const [calling] = spansOf(rig, SPAN_KIND.client, 0);
    const serving = spansOf(rig, SPAN_KIND.server, 1).at(-1);
    expect((serving?.endMs ?? NaN) - (serving?.startMs ?? NaN)).toBeCloseTo(0.5, 4);
    expect((serving?.startMs ?? NaN) - (calling?.startMs ?? NaN)).toBeCloseTo(90 + 1, 4);
    expect(rig.ended.at(-1)?.latencyMs).toBeCloseTo(90 + 1.5, 4);
  });

  it("where requests that have begun go first, new ones wait before their spans and not in them", () => {
    const serve = [before(1), cpu(fixed(1)), after(1)];
    const ofThree = (begunFirst: boolean): string[] => {
      const model = application(service("a", serve, { threads: 1, begunFirst }));
      const rig = rigOf(model, () => [0, 0, 0].map((atMs) => [atMs, 0] as const));
      return rig.spans.map(({ endMs, startMs }) => `${startMs.toFixed(0)}-${endMs.toFixed(0)}`);
    };
    // In turns all three are read by 3 ms. Else the thread is the second one's when the first has been read, and the third one is read last.
    expect(ofThree(false)).toEqual(["1-4", "2-5", "3-6"]);
    expect(ofThree(true)).toEqual(["1-3", "2-4", "7-8"]);
  });

  it("a request that fails at a call has one span, whatever would have come after it", () => {
    const model = application(
      service("a", [before(1), call("b"), after(3)]),
      service("b", [], { replicas: 0 }),
    );
    const rig = rigOf(model, () => [[0, 0]]);
    expect(spansOf(rig, SPAN_KIND.server, 0)).toMatchObject([{ startMs: 1, endMs: 1, failed: true }]);
  });

  it.each([
    ["work before the span after work in it", [cpu(fixed(1)), before(1)]],
    ["work in the span after work behind it", [after(1), cpu(fixed(1))]],
    ["work before the span after work behind it", [after(1), before(1)]],
  ])("%s is refused", (_, steps) => {
    expect(() => new Rig(application(service("a", steps)))).toThrow("are not its first and last");
  });
});

describe("a quota of 8 ms in a period", () => {
  it("serves ten requests of 0.8 ms and stalls the eleventh until the next period", () => {
    const model = application(service("a", [cpu(fixed(0.8))], { container, threads: 1 }));
    let periodMs = 0;
    const rig = rigOf(model, ({ servers }) => {
      periodMs = servers[0]?.main.nextPeriodMs ?? NaN;
      return Array.from({ length: 11 }, () => [periodMs, 0] as const);
    });
    const expected = [0.8, 1.6, 2.4, 3.2, 4, 4.8, 5.6, 6.4, 7.2, 8, 100.8];
    rig.ended.forEach(({ latencyMs }, at) => expect(latencyMs).toBeCloseTo(expected[at] ?? NaN, 4));
    expect(rig.ended).toHaveLength(11);
    const main = rig.servers[0]?.main;
    main?.advance(5_000);
    expect([main?.periods, main?.throttledPeriods]).toEqual([2, 1]);
  });
});
