import { Pattern } from "@tradewind/core/contract/pattern.ts";
import type { PatternKind } from "@tradewind/core/contract/pattern.ts";
import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { FailureWatch } from "@tradewind/predictor/answers/patterns/failure-watch.ts";
import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { flowTailSeconds } from "@tradewind/predictor/decide/facts/objective.ts";
import { describe, expect, it } from "vitest";

const STEP_MS = 15_000;

const container = (id: string, extra: Partial<ContainerWindow> = {}): ContainerWindow => ({
  id,
  cpuLimitCores: 0.5,
  memoryLimitBytes: 256 * 2 ** 20,
  ...extra,
});

const seconds = (p95Seconds: number) => ({
  count: 100,
  meanSeconds: p95Seconds / 3,
  p50Seconds: p95Seconds / 4,
  p95Seconds,
  p99Seconds: p95Seconds,
});

const service = (name: string, extra: Partial<Window> = {}): Omit<Window, "startMs" | "endMs"> => ({
  namespace: "shop",
  service: name,
  requestsPerSecond: 20,
  errorRatio: 0,
  callees: [],
  containers: [],
  ...extra,
});

type Services = readonly Omit<Window, "startMs" | "endMs">[];

/** Twenty usual windows, then so many others; what the last one shows. */
function after(usual: Services, count: number, then: Services, severity = 1.5): readonly Pattern[] {
  const watch = new FailureWatch();
  let patterns: readonly Pattern[] = [];
  for (let at = 0; at < 20 + count; at += 1) {
    const times = { startMs: at * STEP_MS, endMs: (at + 1) * STEP_MS };
    const isUsual = at < 20;
    const windows = (isUsual ? usual : then).map((each) => ({ ...each, ...times }));
    patterns = watch.window({ ...times, windows, severity: isUsual ? 0.5 : severity });
  }
  for (const each of patterns) expect(Pattern.parse(each)).toEqual(each);
  return patterns;
}

const calls = (callsPerSecond: number) => [{ callee: "stock", callsPerSecond, parallelRatio: 0 }];
const web = (callsPerSecond: number, extra: Partial<Window> = {}) =>
  service("web", { callees: calls(callsPerSecond), ...extra });
const stock = service("stock");

describe("a retry storm", () => {
  it("is calls that rise by half and more while requests fail", () => {
    const found = after([web(20), stock], 3, [web(60, { errorRatio: 0.3 }), stock]);
    expect(found).toMatchObject([
      {
        kind: "retry-storm",
        service: "web",
        callee: "stock",
        sinceMs: 20 * STEP_MS,
        size: 3,
        confidence: 0.875,
      },
    ]);
    expect(found[0]!.words).toContain("3.00 times for each request, usual is 1.00");
  });

  it("counts calls that the callee never reported, and failures of the callee", () => {
    const drowned = web(20, { unresolvedCallsPerSecond: 40 });
    const failing = { ...drowned, errorRatio: 0.5 };
    expect(after([web(20), stock], 3, [failing, stock])).toMatchObject([{ kind: "retry-storm", size: 3 }]);
    const then = [drowned, service("stock", { errorRatio: 0.5 })];
    expect(after([web(20), stock], 3, then)).toMatchObject([{ kind: "retry-storm", size: 3 }]);
  });

  it("is none in two windows, of few requests, or where requests are missing", () => {
    const storm = web(60, { errorRatio: 0.3 });
    expect(after([web(20), stock], 2, [storm, stock])).toEqual([]);
    const rare = { requestsPerSecond: 0.5 };
    const few = [web(0.5, rare), stock];
    expect(after(few, 3, [web(5, { ...rare, errorRatio: 0.3 }), stock])).toEqual([]);
    const missing = { ...storm, missing: "a predictor does not answer" };
    expect(after([web(20), stock], 3, [missing, stock])).toEqual([]);
  });
});

describe("fan-out", () => {
  it("is the same without failures, and what lasts half an hour is usual", () => {
    const found = after([web(20), stock], 3, [web(40), stock], 0.5);
    expect(found).toMatchObject([{ kind: "fan-out", service: "web", callee: "stock", size: 2 }]);
    expect(after([web(20), stock], 140, [web(40), stock], 0.5)).toEqual([]);
  });
});

describe("scaling lag", () => {
  const waiting = service("web", { replicasWanted: 4, replicasReady: 2, podsUnscheduled: 1 });

  it("is replicas that are wanted and not ready while the objective is missed", () => {
    const found = after([service("web")], 3, [waiting]);
    expect(found).toMatchObject([{ kind: "scaling-lag", service: "web", size: 2 }]);
    expect(found[0]!.words).toBe(
      "'web' has waited 45 s for replicas: 4 are wanted and 2 ready; no node has taken 1 of them yet",
    );
    expect(after([service("web")], 3, [waiting], 0.9)).toEqual([]);
  });
});

describe("limits", () => {
  const throttled = (extra: Partial<Window> = {}) =>
    service("web", {
      nodeRoomCores: 6,
      replicasReady: 2,
      replicasWanted: 2,
      containers: [container("web-0", { cpuThrottledRatio: 0.6 }), container("web-1")],
      ...extra,
    });

  it("are too low where a container is throttled beside free cores under usual load", () => {
    expect(after([service("web")], 3, [throttled()])).toMatchObject([{ kind: "limits", size: 0.6 }]);
  });

  it.each([
    ["the node has nothing left", { nodeRoomCores: 0 }],
    ["the load is what rose", { requestsPerSecond: 60 }],
    ["replicas are on their way", { replicasWanted: 3 }],
  ])("are not to blame where %s", (_name, extra) => {
    const kinds = after([service("web")], 3, [throttled(extra)]).map(({ kind }) => kind);
    expect(kinds).not.toContain("limits");
  });

  it("are too low where a container was killed, and that is spoken of for twenty windows", () => {
    const killed = service("web", { containers: [container("web-0", { oomKills: 2 })] });
    const found = after([service("web")], 1, [killed], 0.5);
    expect(found).toMatchObject([{ kind: "limits", size: 2 }]);
    expect(found[0]!.words).toContain("at a limit of 256 MiB");
    const watch = new FailureWatch();
    for (let at = 0; at < 22; at += 1) {
      const times = { startMs: at * STEP_MS, endMs: (at + 1) * STEP_MS };
      const patterns = watch.window({
        ...times,
        windows: [{ ...(at === 0 ? killed : service("web")), ...times }],
        severity: 0.5,
      });
      expect(patterns).toHaveLength(at < 20 ? 1 : 0);
    }
  });
});

describe("co-location", () => {
  const interfered = (value: number): ContainerWindow["interference"] => {
    const none = { supported: false };
    return { cpu: { supported: true, value }, memoryCapacity: none, memoryBandwidth: none, network: none };
  };
  const on = (first: number, second: number, p95: number) =>
    service("web", {
      ownLatency: seconds(p95),
      containers: [
        container("web-0", { node: "a", podName: "web-0", interference: interfered(first) }),
        container("web-1", { node: "b", podName: "web-1", interference: interfered(second) }),
      ],
    });

  it("is a service that is slow on a crowded node while others are quiet", () => {
    const found = after([on(0, 0, 0.01)], 3, [on(0.6, 0, 0.03)], 0.8);
    expect(found).toMatchObject([{ kind: "co-location", service: "web" }]);
    expect(found[0]!.size).toBeCloseTo(3, 9);
    expect(found[0]!.words).toContain("'a'");
    expect(found[0]!.words).not.toContain("'b'");
  });

  it("is none where every node is crowded, nothing is slow, or another pod is the slow one", () => {
    expect(after([on(0, 0, 0.01)], 3, [on(0.6, 0.6, 0.03)])).toEqual([]);
    expect(after([on(0, 0, 0.01)], 3, [on(0.6, 0, 0.011)])).toEqual([]);
    const elsewhere = {
      ...on(0.6, 0, 0.03),
      worstPodOwnLatency: { podName: "web-1", latency: seconds(0.03) },
    };
    expect(after([on(0, 0, 0.01)], 3, [elsewhere])).toEqual([]);
  });
});

/** Kinds that each window of a simulated obstacle shows. */
async function kindsOn(name: string, seed: number): Promise<ReadonlySet<PatternKind>[]> {
  const model = COURSE.find((each) => each.name === name)!;
  const obstacle = obstacleOf({ ...model, model: { ...model.model, seconds: 840 } });
  const hpa = CONTENDERS.find((each) => each.name === "hpa-cpu")!;
  const watch = new FailureWatch();
  const shown: ReadonlySet<PatternKind>[] = [];
  const look = (setting: Parameters<typeof hpa.start>[0], parameters: Parameters<typeof hpa.start>[1]) => {
    const brain = hpa.start(setting, parameters);
    return {
      ...brain,
      scaledObject: (each: string) => brain.scaledObject(each),
      onWindow: ({
        windowSet: { endMs, flows, startMs, windows },
      }: {
        windowSet: Parameters<NonNullable<typeof brain.onWindow>>[0]["windowSet"];
      }) => {
        const tails = flows.map(({ latency }) => flowTailSeconds(latency, 0.95) / (model.objectiveMs / 1e3));
        const patterns = watch.window({
          startMs,
          endMs,
          windows,
          severity: tails.length === 0 ? undefined : Math.max(...tails),
        });
        shown.push(new Set(patterns.map(({ kind }) => kind)));
        return Promise.resolve();
      },
    };
  };
  await run({ obstacle, contender: { ...hpa, start: look }, actuators: "replicas", seed });
  return shown;
}

describe("simulated", () => {
  it.each([
    ["retry-storm", "retry-storm"],
    ["retry-storm", "scaling-lag"],
    ["noisy-neighbour", "co-location"],
  ] as const)("%s shows a %s", async (obstacle, kind) => {
    const shown = await kindsOn(obstacle, 7);
    expect(shown.filter((kinds) => kinds.has(kind)).length).toBeGreaterThanOrEqual(2);
  });

  it("calm windows show a failure pattern in at most 2 %", async () => {
    const shown = [...(await kindsOn("steady", 7)), ...(await kindsOn("fan-out", 8))];
    expect(shown.filter((kinds) => kinds.size > 0).length).toBeLessThanOrEqual(0.02 * shown.length);
  });
});
