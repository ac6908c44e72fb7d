import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { Workload, WorkloadList } from "@tradewind/core/contract/workload.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import type { DecidingOptions } from "@tradewind/predictor/run/application/deciding.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/run/application/gathering.ts";
import { pastLoadOf } from "@tradewind/predictor/run/application/past-load.ts";
import type { Gathered } from "@tradewind/predictor/sources/combine-windows.ts";
import { application, flow, START_MS, window, WINDOW_MS, windowSet } from "../../measurements.ts";
import { deciding } from "./deciding-here.ts";

/** Replicas of `frontend` in a namespace, all on node `one`, each of which requests half a core. */
const frontend = (namespace: string, replicas: number): Workload => ({
  namespace,
  kind: "Deployment",
  name: "frontend",
  service: "frontend",
  replicasWanted: replicas,
  replicasReady: replicas,
  pods: Array.from({ length: replicas }, (_, at) => ({
    uid: `${namespace}-${at}`,
    name: `frontend-${at}`,
    node: "one",
    ready: true,
    startedAtMs: START_MS - 600_000,
    containers: [{ id: `${namespace}-${at}`, name: "main", cpuRequestCores: 0.5 }],
  })),
});

it.each([
  ["shop", "demo"],
  ["demo", "shop"],
])(
  "a service of the same name in another namespace takes room on its node and nothing else: %s, %s",
  (...order) => {
    const list: WorkloadList = {
      schema: WORKLOADS_SCHEMA,
      observedAtMs: START_MS,
      workloads: order.map((namespace) => frontend(namespace, namespace === "shop" ? 2 : 3)),
      nodes: [{ name: "one", schedulable: true, cpuCores: 4, memoryBytes: 16e9 }],
    };
    const use = { node: "one", cpuUsageCores: 0.3, memoryWorkingSetBytes: 1e6 };
    const { close, published, sets } = deciding({
      workloads: () => list,
      rates: { over: () => new Map(["shop-0", "shop-1", "demo-0"].map((id) => [id, use])) },
    });
    close(0);
    const [window, ...others] = sets[0]!.windows;
    expect(others).toEqual([]);
    expect(window).toMatchObject({
      namespace: "shop",
      service: "frontend",
      replicasReady: 2,
      replicasWanted: 2,
      nodeRoomCores: 4 - 5 * 0.5,
    });
    expect(window!.containers.map(({ id }) => id)).toEqual(["shop-0", "shop-1"]);
    expect(published.plan()?.wishes.map(({ service }) => service)).toEqual(["frontend"]);
  },
);

it("pods of other applications, whose workloads it is not shown, take room on its nodes", () => {
  const own: WorkloadList = {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: START_MS,
    workloads: [frontend("shop", 2)],
    nodes: [{ name: "one", schedulable: true, cpuCores: 4, memoryBytes: 16e9 }],
  };
  const all = { ...own, workloads: [...own.workloads, frontend("demo", 3)] };
  const { close, sets } = deciding({ workloads: () => own, onNodes: () => all });
  close(0);
  expect(sets[0]!.windows).toMatchObject([{ replicasReady: 2, nodeRoomCores: 4 - 5 * 0.5 }]);
});

describe("what somebody scales between two windows", () => {
  const list = (replicas: number, held: Partial<Workload> = {}): WorkloadList => ({
    schema: WORKLOADS_SCHEMA,
    observedAtMs: START_MS,
    workloads: [{ ...frontend("shop", replicas), ...held }],
  });
  const wanted = ({ published }: ReturnType<typeof deciding>) =>
    published.plan()?.wishes.map(({ observed }) => observed.replicasWanted);
  const made = (mode: "act" | "observe", held: Partial<Workload> = {}) => {
    const own = application({ name: "shop", namespace: "shop", mode });
    const one = deciding({ application: () => own, workloads: () => list(4, held) });
    one.close(0);
    return one;
  };

  it("is answered at once in mode observe, by a plan of its own", () => {
    const one = made("observe");
    const { sequence } = one.published.plan()!;
    one.deciding.scaled(list(10).workloads);
    expect(wanted(one)).toEqual([10]);
    expect(one.published.plan()?.sequence).toBe(sequence + 1);
    one.deciding.scaled(list(10).workloads);
    expect(one.published.plan()?.sequence).toBe(sequence + 1);
  });

  it("waits for the next window in mode act, which changes the number itself", () => {
    const one = made("act");
    one.deciding.scaled(list(10).workloads);
    expect(wanted(one)).toEqual([4]);
  });

  it("is answered in mode act too where the autoscaler is held still, and when that begins and ends", () => {
    const one = made("act");
    const paused = { minReplicas: 4, maxReplicas: 4, scalingPaused: true } as const;
    const held = () => one.published.plan()?.wishes[0]?.observed.scalingPaused;
    one.deciding.scaled(list(4, paused).workloads);
    expect(held()).toBe(true);
    one.deciding.scaled(list(7, { ...paused, minReplicas: 7, maxReplicas: 7 }).workloads);
    expect(wanted(one)).toEqual([7]);
    one.deciding.scaled(list(7, { minReplicas: 1, maxReplicas: 9 }).workloads);
    expect(held()).toBeUndefined();
  });

  it("is answered in mode act too where a person pauses the service", () => {
    const own = application({ name: "shop", namespace: "shop", mode: "act" });
    const one = deciding({
      application: () => own,
      workloads: () => list(4),
      overrides: () => [{ service: "frontend", kind: "pause" }],
    });
    one.close(0);
    one.deciding.scaled(list(7).workloads);
    expect(wanted(one)).toEqual([7]);
    expect(one.published.plan()?.wishes[0]?.allocation.replicas).toBe(7);
  });

  it("of a service of the same name in another namespace is nobody's here", () => {
    const one = made("observe");
    one.deciding.scaled([frontend("demo", 9)]);
    expect(wanted(one)).toEqual([4]);
  });
});

describe("the load of the past", () => {
  /** Requests per second of users, and all to the entry as its spans and as metrics count them. */
  const [users, bySpans, byMetrics] = [20, 60, 100];
  const live = (at: number, calls: number): WindowSet => {
    const startMs = START_MS + at * WINDOW_MS;
    const entry = window(
      { service: "frontend", replicas: 4, rate: bySpans, ownSeconds: 0.02, podUsageCores: 0.4 },
      startMs,
    );
    const latency = { ...flow(["frontend"], 0.06).latency, count: calls };
    return windowSet(
      [{ ...entry, namespace: "shop" }],
      [flow(["frontend"], 0.06, { latency, requestsPerSecond: users })],
    );
  };
  const metrics = (at: number): Gathered => {
    const startMs = START_MS + at * WINDOW_MS;
    const entry = { ...window({ service: "frontend", rate: byMetrics }, startMs), namespace: "shop" };
    return { ...NOTHING_GATHERED, sets: [windowSet([entry])] };
  };
  /** An hour of windows before the first one, all with the same number of requests. */
  const past = (by: "spans" | "metrics", perSecond: number) =>
    Array.from({ length: 240 }, (_, index) => {
      const startMs = START_MS + (index - 240) * WINDOW_MS;
      const known = { service: "frontend", rate: perSecond };
      return pastLoadOf(window(by === "spans" ? { ...known, ownSeconds: 0.02 } : known, startMs))!;
    });
  function course(calls: number) {
    let now = live(0, calls);
    const builder: unknown = {
      build: () => now,
      totals: () => ({ drops: {}, spansAccepted: 0 }),
      doubts: () => [],
    };
    const made = deciding({ builder: builder as DecidingOptions["builder"] });
    const close = (at: number, gathered: Gathered = NOTHING_GATHERED): (number | null)[] => {
      now = live(at, calls);
      made.close(at, gathered);
      return made.states.at(-1)?.cost?.outlook.foresight[0]?.series.values ?? [];
    };
    return { close, deciding: made.deciding };
  }

  it("that spans counted is that of users' routes by their share of the requests to the entry service now", () => {
    const { close, deciding: made } = course(300);
    made.learnPast(past("spans", 2 * bySpans));
    close(0);
    const values = close(1);
    expect(values).toHaveLength(242);
    expect(new Set(values.slice(0, 240))).toEqual(new Set([2 * users]));
    expect(values.slice(240)).toEqual([users, users]);
  });

  it("that metrics counted is compared with what they count now, and is not used until they do", () => {
    const { close, deciding: made } = course(300);
    made.learnPast(past("metrics", 2 * byMetrics));
    for (const at of [0, 1, 2]) expect(close(at)).toHaveLength(at + 1);
    const values = close(3, metrics(3));
    expect(values).toHaveLength(244);
    expect(new Set(values.slice(0, 240))).toEqual(new Set([2 * users]));
  });

  it("is not used before a hundred requests have shown the share of users", () => {
    const { close, deciding: made } = course(40);
    made.learnPast(past("spans", bySpans));
    expect([0, 1, 2, 3].map((at) => close(at).length)).toEqual([1, 2, 243, 244]);
  });
});

it("plans a window for what has come since, so that it does not take back what a surge was given (surge-taken-back)", () => {
  const ratios: (number | undefined)[] = [];
  const { close } = deciding({
    archive: { add: (_hash, inputs) => void ratios.push(inputs.surgeRatio) },
    surgeSince: ({ endMs }) => (endMs === START_MS + 2 * WINDOW_MS ? 2.84 : undefined),
  });
  for (const at of [0, 1, 2]) close(at);
  expect(ratios).toEqual([undefined, 2.84, undefined]);
});
