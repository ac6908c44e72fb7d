import type { PatternKind } from "@tradewind/core/contract/pattern.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { emptyForesight, observe } from "@tradewind/predictor/forecast/foresight.ts";
import { levelShift } from "@tradewind/predictor/answers/patterns/level-shift.ts";
import { loadPatterns } from "@tradewind/predictor/answers/patterns/load-patterns.ts";
import { trendOf } from "@tradewind/predictor/answers/patterns/trend.ts";
import { describe, expect, it } from "vitest";
import { START_MS } from "../../measurements.ts";

const STEP_MS = 15_000;
const REACH = { reachMs: 195_000, holdMs: 300_000 };
const MINUTE = 4;
/** The start of a minute of the clock, which steps of a minute keep to. */
const FROM_MS = START_MS + STEP_MS;

/** Requests of a window by chance: a Poisson count, by its normal limit. */
const counted = (perSecond: number, rng: () => number): number => {
  const [a, b] = [rng(), rng()];
  const normal = Math.sqrt(-2 * Math.log(1 - a)) * Math.cos(2 * Math.PI * b);
  return Math.max(0, perSecond + Math.sqrt(perSecond / 15) * normal);
};

/** What is seen after each of so many windows of 15 s, from `from` on. */
function seen(
  windows: number,
  load: (window: number) => number,
  { from = windows - 1, seed = 1 }: { from?: number; seed?: number } = {},
): ReturnType<typeof loadPatterns>[] {
  const rng = seededRng(seed);
  let foresight = emptyForesight();
  const found: ReturnType<typeof loadPatterns>[] = [];
  for (let at = 0; at < windows; at += 1) {
    const startMs = FROM_MS + STEP_MS * at;
    const one = { startMs, endMs: startMs + STEP_MS, perSecond: counted(load(at), rng) };
    foresight = observe(foresight, one, REACH);
    if (at >= from) found.push(loadPatterns(foresight));
  }
  return found;
}

const kindsAfter = (windows: number, load: (window: number) => number): PatternKind[] =>
  (seen(windows, load)[0] ?? []).map(({ kind }) => kind);

describe("a level shift", () => {
  it("is found where the level changed, with its size", () => {
    const flat = Array.from({ length: 24 }, (_, at) => (at % 2 === 0 ? 0.01 : -0.01));
    const found = levelShift(
      flat.map((value, at) => value + (at >= 18 ? Math.log(2) : 0)),
      0.02,
    );
    expect(found).toMatchObject({ at: 18 });
    expect(found!.ratio).toBeCloseTo(2, 1);
    expect(found!.confidence).toBeGreaterThan(0.9);
    expect(levelShift(flat, 0.02)).toBeUndefined();
  });

  it("is no slope, and none that went back", () => {
    const ramp = Array.from({ length: 48 }, (_, at) => 0.05 * at);
    expect(levelShift(ramp, 0.02)).toBeUndefined();
    const peak = Array.from({ length: 48 }, (_, at) => (at >= 20 && at < 30 ? 1 : 0));
    expect(levelShift(peak, 0.02)).toBeUndefined();
  });

  it("of the load is named with the time that it began at", () => {
    const [found] = seen(40 * MINUTE, (at) => (at >= 30 * MINUTE ? 90 : 40));
    expect(found).toMatchObject([{ kind: "shift" }]);
    expect(Math.abs(found![0]!.sinceMs - FROM_MS - 30 * 60_000)).toBeLessThanOrEqual(60_000);
    expect(found![0]!.size).toBeCloseTo(2.25, 1);
  });
});

describe("a trend", () => {
  it("is the slope of most pairs: worked example", () => {
    const line = Array.from({ length: 24 }, (_, at) => 0.01 * at);
    // 23 steps of 0.01: e^0.23 - 1.
    expect(trendOf(line, 300)!.change).toBeCloseTo(0.2586, 3);
    expect(trendOf(line.slice(0, 11), 300)).toBeUndefined();
    expect(
      trendOf(
        line.map((value) => value / 100),
        300,
      ),
    ).toBeUndefined();
  });

  it("is no jump: both halves have to rise", () => {
    expect(
      trendOf(
        Array.from({ length: 24 }, (_, at) => (at < 12 ? 0 : 1)),
        60,
      ),
    ).toBeUndefined();
  });

  it("of the load is named with its size", () => {
    const [found] = seen(48 * MINUTE, (at) => 60 * (1 + at / (48 * MINUTE)));
    expect(found!.map(({ kind }) => kind)).toContain("trend");
    expect(found!.find(({ kind }) => kind === "trend")!.size).toBeGreaterThan(0.2);
  });
});

describe("a season", () => {
  const day = 20 * MINUTE;
  const wave = (at: number): number => 60 + 40 * Math.sin((2 * Math.PI * at) / day);

  it("is named once it has been seen three times, with its length and how much of the load it says", () => {
    expect(kindsAfter(2 * day, wave)).not.toContain("season");
    const [found] = seen(4 * day, wave);
    const season = found!.find(({ kind }) => kind === "season");
    expect(season!.words).toContain("every 20 minutes");
    expect(season!.size).toBeCloseTo(100 / 60, 0);
    expect(season!.confidence).toBeGreaterThan(0.9);
  });

  it("makes its own rises and falls none to speak of", () => {
    const found = seen(6 * day, wave, { from: 5 * day });
    const kinds = new Set(found.flat().map(({ kind }) => kind));
    expect([...kinds]).toEqual(["season"]);
  });
});

describe("an anomaly", () => {
  it("is a step that is like none of late", () => {
    const [found] = seen(30 * MINUTE, (at) => (at >= 29 * MINUTE ? 200 : 50));
    expect(found).toMatchObject([{ kind: "anomaly" }]);
    expect(found![0]!.size).toBeCloseTo(4, 0);
    expect(found![0]!.words).toContain("where 50");
  });
});

describe("calm load", () => {
  it.each(["shift", "trend", "season", "anomaly"] as const)(
    "shows a %s in at most 1 in 50 windows",
    (kind) => {
      const windows = Array.from({ length: 8 }, (_, seed) => seed).flatMap((seed) =>
        seen(90 * MINUTE, () => [3, 20, 60, 400][seed % 4]!, { from: 12 * MINUTE, seed }),
      );
      const found = windows.filter((patterns) => patterns.some((each) => each.kind === kind));
      expect(found.length / windows.length).toBeLessThanOrEqual(0.02);
    },
  );

  it("that is not known shows nothing", () => {
    expect(loadPatterns(emptyForesight())).toEqual([]);
    expect(seen(60 * MINUTE, () => 0)[0]).toEqual([]);
  });
});
