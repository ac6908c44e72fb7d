import type { Window } from "@tradewind/core/contract/window.ts";
import {
  emptyIncidents,
  IncidentState,
  withWindow,
} from "@tradewind/predictor/answers/reason/incident-log.ts";
import type { KeptIncident, LoggedWindow } from "@tradewind/predictor/answers/reason/incident-log.ts";
import { nearest, signsOf, similarity } from "@tradewind/predictor/answers/reason/precedents.ts";
import { precedentInWords } from "@tradewind/predictor/answers/reason/words.ts";
import { describe, expect, it } from "vitest";

const STEP_MS = 15_000;
const HOUR_MS = 3_600_000;

const incident = (atHours: number, signs: KeptIncident["signs"]): KeptIncident => ({
  onsetMs: atHours * HOUR_MS,
  endMs: atHours * HOUR_MS + 300_000,
  worstRatio: 2,
  patterns: [],
  changes: [],
  ended: "neither",
  signs,
});

describe("similarity", () => {
  it("is half of one and the cosine: worked examples", () => {
    expect(similarity({ a: 1 }, { a: 0.2 })).toBe(1);
    expect(similarity({ a: 1 }, { b: 1 })).toBe(0.5);
    expect(similarity({ a: 1 }, { a: -1 })).toBe(0);
    // (3 * 4 + 4 * 3) / 25 = 0.96.
    expect(similarity({ a: 0.3, b: 0.4 }, { a: 0.4, b: 0.3 })).toBeCloseTo(0.98, 9);
    expect(similarity({}, { a: 1 })).toBe(0);
  });
});

describe("what is unusual in a sketch", () => {
  it("is its signals that are high or low by their spreads, the load left out", () => {
    const signal = (name: string, z: number, bin: "low" | "medium" | "high") => ({
      signal: name,
      value: 1,
      z,
      bin,
    });
    const signals = [
      signal("throttledRatio", 25, "high"),
      signal("cpuUtilisation", 0, "high"),
      signal("memoryRatio", -4, "low"),
      signal("errorRatio", 1, "medium"),
      signal("requestRate", 9, "high"),
    ] as Parameters<typeof signsOf>[0]["services"][number]["signals"];
    expect(signsOf({ services: [{ id: 1, name: "geo", signals }] })).toEqual({
      "geo throttledRatio": 1,
      "geo memoryRatio": -0.4,
      "geo cpuUtilisation": 0.2,
    });
  });
});

describe("the nearest past incidents", () => {
  const now = { "geo throttledRatio": 1, "geo selfTimeP95": 0.5 };

  it("are the most alike, two hours apart, and over before the present one", () => {
    const past = [
      incident(1, { "geo throttledRatio": 0.9 }),
      incident(10, now),
      incident(11, now),
      incident(20, { "cart memoryRatio": 1 }),
      incident(30, now),
    ];
    const { known, nearest: found } = nearest(past, now, 29 * HOUR_MS);
    expect(known).toBe(4);
    expect(found.map(({ onsetMs }) => onsetMs / HOUR_MS)).toEqual([11, 1]);
    expect(found[0]).not.toHaveProperty("signs");
  });

  it("are none where nothing was alike", () => {
    expect(nearest([incident(1, { "cart memoryRatio": 1 })], now, HOUR_MS * 9)).toEqual({
      known: 1,
      nearest: [],
    });
  });
});

const geo = (replicasReady: number, cpuLimitCores = 0.5): Window => ({
  namespace: "shop",
  service: "geo",
  startMs: 0,
  endMs: 1,
  replicasReady,
  callees: [],
  containers: [{ id: "geo-0", cpuLimitCores }],
});

const told: LoggedWindow["told"] = {
  cause: { service: "geo", type: "C" },
  patterns: ["limits"],
  signs: { "geo throttledRatio": 1 },
};

/** After windows with these latencies over the objective; `then` says what else is true of each. */
function log(
  severities: readonly (number | undefined)[],
  then: (at: number) => Partial<LoggedWindow> = () => ({}),
): IncidentState {
  let state = emptyIncidents("shop", "market");
  for (const [at, severity] of severities.entries()) {
    const times = { startMs: at * STEP_MS, endMs: (at + 1) * STEP_MS };
    const isTold = severity !== undefined && severity > 1;
    state = withWindow(state, {
      ...times,
      severity,
      load: 40,
      windows: [geo(2)],
      ...(isTold && { told }),
      ...then(at),
    });
  }
  expect(IncidentState.parse(state)).toEqual(state);
  return state;
}

const MET = [0.5, 0.5, 0.5, 0.5, 0.5];

describe("the log of incidents", () => {
  it("keeps what was missed, why, how badly, and when it was over", () => {
    const { incidents, open } = log([0.5, 1.5, 3, 2, ...MET]);
    expect(open).toBeUndefined();
    expect(incidents).toEqual([
      {
        onsetMs: STEP_MS,
        endMs: 4 * STEP_MS,
        worstRatio: 3,
        ...told,
        changes: [],
        ended: "neither",
      },
    ]);
  });

  it("is still open until five windows in a row have met the objective", () => {
    expect(log([1.5, 3, 2, 0.5, 0.5, 0.5, 0.5]).open).toBeDefined();
    expect(log([1.5, 0.5, 0.5, 2, 0.5, 0.5, 1.2, ...MET]).incidents).toHaveLength(1);
  });

  it("takes windows that nobody knows the latency of for nothing", () => {
    expect(log([1.5, 3, 2, ...MET.map(() => undefined)]).open).toBeDefined();
  });

  it("forgets what lasted two windows", () => {
    expect(log([1.5, 1.5, ...MET])).toEqual(emptyIncidents("shop", "market"));
  });

  it.each([
    ["growth", (at: number) => ({ windows: [geo(at < 5 ? 2 : 4)] })],
    ["growth", (at: number) => ({ windows: [geo(2, at < 5 ? 0.5 : 1)] })],
    ["load", (at: number) => ({ windows: [geo(at < 5 ? 2 : 4)], load: at < 5 ? 40 : 30 })],
    ["neither", (at: number) => ({ windows: [geo(at < 5 ? 4 : 2)] })],
  ])("says that it ended by %s", (ended, then) => {
    expect(log([2, 2, 2, ...MET], then).incidents).toMatchObject([{ ended }]);
  });

  it("keeps the newest two hundred", () => {
    const { incidents } = log(Array.from({ length: 205 }, () => [2, 2, 2, ...MET]).flat());
    expect(incidents).toHaveLength(200);
    expect(incidents[0]!.onsetMs).toBe(5 * 8 * STEP_MS);
  });
});

describe("a precedent in words", () => {
  it("names what was the cause, how bad it was, and what was larger at the end", () => {
    const [kept] = log([2, 2, 2, ...MET], (at) => ({ windows: [geo(at < 5 ? 2 : 4)] })).incidents;
    const words = precedentInWords({ ...kept!, similarity: 0.93 });
    expect(words).toBe(
      "1970-01-01T00:00:00.000Z for 45 s, 93 % alike: 'geo', CPU, 2.0 times the objective; ended with 'geo' 2 → 4 replicas, at the same load",
    );
  });
});

it("two misses with days of silence in between are two incidents, and nothing is claimed of what ended the first (one-incident-of-days)", () => {
  let state = emptyIncidents("shop", "shop");
  let atMs = 1_000_000;
  const add = (severity: number | undefined): void => {
    state = withWindow(state, {
      startMs: atMs,
      endMs: atMs + 15_000,
      severity,
      load: 10,
      windows: [],
      told: undefined,
    });
    atMs += 15_000;
  };
  for (let at = 0; at < 4; at += 1) add(1.5);
  const endMs = atMs;
  for (let at = 0; at < 40; at += 1) add(undefined);
  expect(state.open).toBeUndefined();
  expect(state.incidents).toMatchObject([{ onsetMs: 1_000_000, endMs }]);
  atMs += 3 * 86_400_000;
  for (let at = 0; at < 4; at += 1) add(1.1);
  for (let at = 0; at < 5; at += 1) add(0.5);
  expect(state.incidents).toHaveLength(2);
});
