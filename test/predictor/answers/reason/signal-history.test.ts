import type { ContainerWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { onsetOf } from "@tradewind/predictor/answers/reason/onset.ts";
import { SignalHistory } from "@tradewind/predictor/answers/reason/signal-history.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";
import { describe, expect, it } from "vitest";

const STEP_MS = 15_000;
const NONE = new Map<string, number>();

const container = (extra: Partial<ContainerWindow> = {}): ContainerWindow => ({ id: "cart-0", ...extra });

function window(at: number, extra: Partial<Window> = {}): Window {
  return {
    namespace: "shop",
    service: "cart",
    startMs: at * STEP_MS,
    endMs: (at + 1) * STEP_MS,
    requestsPerSecond: 20,
    callees: [],
    containers: [],
    ...extra,
  };
}

const set = (at: number, ...windows: Window[]): WindowSet => ({
  startMs: at * STEP_MS,
  endMs: (at + 1) * STEP_MS,
  windows,
  flows: [],
});

function seriesOf(history: SignalHistory, signal: SignalName, service = "cart"): Series | undefined {
  const found = history.incident("web", NONE)?.candidates.find(({ name }) => name === service);
  return found?.series.find((each) => each.signal === signal);
}

/** `well` windows at 80 % of the objective, then `missed` ones at 150 %. */
function after(
  well: number,
  missed: number,
  of: (at: number, isMissed: boolean) => Partial<Window>,
): SignalHistory {
  const history = new SignalHistory();
  for (let at = 0; at < well + missed; at += 1) {
    const isMissed = at >= well;
    history.add(set(at, window(at, of(at, isMissed))), isMissed ? 1.5 : 0.8, "shop");
  }
  return history;
}

describe("the onset", () => {
  it.each([
    ["of a step", [0.5, 0.5, 0.5, 0.5, 3, 3], 4],
    ["of a step with a gap", [0.5, 0.5, Number.NaN, 0.5, 3, 3], 4],
    ["of a rise is up to two windows before the first miss", [0.2, 0.2, 0.2, 0.8, 0.9, 0.95, 1.5], 4],
    ["of one missed window", [0.5, 0.5, 0.5, 0.5, 5], 4],
    [
      "is that of this incident: five windows that met the objective ended the one before",
      [3, 3, 0.5, 0.5, 0.5, 0.5, 0.5, 3],
      7,
    ],
    ["while the objective is met is the last window", [0.2, 0.2, 0.9], 2],
    ["of one window is that", [7], 0],
    ["of none is 0", [], 0],
  ])("%s", (_name, severities, at) => {
    expect(onsetOf(severities)).toBe(at);
  });

  it("is no longer ago than 20 windows", () => {
    const severities = Array.from({ length: 40 }, (_, at) => (at < 5 ? 0.5 : 3));
    expect(onsetOf(severities)).toBe(20);
  });
});

describe("what windows say of a service", () => {
  it("is split where the latency rose: usual values before, present ones since", () => {
    const history = after(30, 3, (_at, isMissed) => ({ errorRatio: isMissed ? 0.25 : 0.125 }));
    const errors = seriesOf(history, "errorRatio");
    expect(Array.from(errors!.normal)).toEqual(Array.from({ length: 30 }, () => 0.125));
    expect(Array.from(errors!.now)).toEqual([0.25, 0.25, 0.25]);
    expect(history.incident("web", NONE)).toMatchObject({
      isMissed: true,
      onsetMs: 31 * STEP_MS,
      pastWindows: 30,
    });
  });

  it("has no value where nothing was measured, never 0", () => {
    const history = after(30, 1, () => ({}));
    expect(seriesOf(history, "errorRatio")).toBeUndefined();
    expect(seriesOf(history, "cpuUtilisation")).toBeUndefined();
    expect(Array.from(seriesOf(history, "requestRate")!.now)).toEqual([20]);
  });

  it("is what its worst container shows", () => {
    const containers = [
      container({ cpuUsageCores: 0.25, cpuLimitCores: 1, cpuThrottledRatio: 0 }),
      container({ cpuUsageCores: 0.5, cpuLimitCores: 1, cpuThrottledRatio: 0.75, oomKills: 2 }),
    ];
    const history = after(0, 1, () => ({ containers }));
    expect(Array.from(seriesOf(history, "cpuUtilisation")!.now)).toEqual([0.5]);
    expect(Array.from(seriesOf(history, "throttledRatio")!.now)).toEqual([0.75]);
    expect(Array.from(seriesOf(history, "oomKills")!.now)).toEqual([2]);
  });

  it("is a new version from the window on in which another revision runs, by the share of its pods", () => {
    const revision = (at: number): Partial<Window> =>
      at < 30 ? { revision: "a" } : { revision: "b", newestRevisionShare: 0.5 };
    const history = after(30, 2, revision);
    expect(Array.from(seriesOf(history, "newVersion")!.now)).toEqual([0.5, 0.5]);
    expect(Math.max(...Array.from(seriesOf(history, "newVersion")!.normal))).toBe(0);
  });

  it("holds the network time of calls", () => {
    const callees = (isMissed: boolean): Partial<Window> => ({
      callees: [
        { callee: "db", callsPerSecond: 40, parallelRatio: 0, transitSeconds: isMissed ? 0.5 : 0.25 },
      ],
    });
    const history = after(30, 1, (_at, isMissed) => callees(isMissed));
    const [call] = history.incident("web", NONE)!.calls;
    expect(call).toMatchObject({ caller: "cart", callee: "db", perRequest: 2 });
    expect(Array.from(call!.transit!.now)).toEqual([0.5]);
  });

  it("keeps the windows in which the objective was met through a long incident", () => {
    const history = after(100, 300, () => ({ errorRatio: 0 }));
    expect(history.incident("web", NONE)!.pastWindows).toBeGreaterThanOrEqual(100);
  });

  it("leaves out services of other namespaces, and those that are gone", () => {
    const history = new SignalHistory();
    history.add(
      set(0, window(0, { service: "gone" }), window(0, { namespace: "other", service: "alien" })),
      0.5,
      "shop",
    );
    history.add(set(1, window(1)), 1.5, "shop");
    expect(history.incident("web", NONE)!.candidates.map(({ name }) => name)).toEqual(["cart"]);
  });
});

describe("what is remembered of names", () => {
  const calling = (...callees: string[]): Partial<Window> => ({
    callees: callees.map((callee) => ({ callee, callsPerSecond: 20, parallelRatio: 0 })),
  });

  it("has no call that nobody made within ten minutes, such as one that a deploy took away", () => {
    const history = new SignalHistory();
    for (let at = 0; at < 60; at += 1)
      history.add(set(at, window(at, calling("price", ...(at < 10 ? ["stock"] : [])))), 0.8, "shop");
    expect(history.incident("web", NONE)?.calls.map(({ callee }) => callee)).toEqual(["price"]);
  });

  it("goes on with new services after ten thousand names that came once, and keeps what it knows of the others", () => {
    const history = new SignalHistory();
    let at = 0;
    const next = (...names: string[]): void => {
      const errorRatio = 0.125;
      const windows = ["cart", ...names].map((service) =>
        window(at, { service, errorRatio, ...calling("price") }),
      );
      history.add(set(at, ...windows), 0.8, "shop");
      at += 1;
    };
    for (let number = 0; number < 10; number += 1)
      next(...Array.from({ length: 1_001 }, (_, each) => `preview-${number}-${each}`));
    for (let number = 0; number < 200; number += 1) next();
    next("checkout");
    const incident = history.incident("web", NONE)!;
    expect(incident.candidates.map(({ name }) => name)).toEqual(["cart", "checkout"]);
    const errors = seriesOf(history, "errorRatio");
    expect([...Array.from(errors!.normal), ...Array.from(errors!.now)]).toEqual(
      Array.from({ length: 160 }, () => 0.125),
    );
    expect(incident.calls.map(({ caller, callee }) => `${caller}>${callee}`)).toEqual([
      "cart>price",
      "checkout>price",
    ]);
  });
});
