import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lengthMs, without } from "@tradewind/predictor/sources/backfill/intervals.ts";
import { Pace } from "@tradewind/predictor/sources/backfill/pace.ts";
import { backfillTiers, BackfillPlan, gridOf } from "@tradewind/predictor/sources/backfill/plan.ts";
import type { Chunk } from "@tradewind/predictor/sources/backfill/plan.ts";

const DAY_MS = 86_400_000;
const NOW_MS = 1_800_000_123_456;

function taken(plan: BackfillPlan, windows: number): Chunk[] {
  const chunks: Chunk[] = [];
  for (let chunk = plan.take(windows); chunk !== undefined; chunk = plan.take(windows)) chunks.push(chunk);
  return chunks;
}

describe("without", () => {
  it.each([
    ["nothing", [], [[0, 100]]],
    [
      "the middle",
      [[40, 60]],
      [
        [0, 40],
        [60, 100],
      ],
    ],
    [
      "both ends and more",
      [
        [-5, 10],
        [90, 200],
      ],
      [[10, 90]],
    ],
    [
      "overlapping parts",
      [
        [10, 40],
        [30, 50],
        [20, 25],
      ],
      [
        [0, 10],
        [50, 100],
      ],
    ],
    ["everything", [[0, 100]], []],
    ["a part turned around", [[60, 40]], [[0, 100]]],
  ])("takes away %s", (_name, parts, left) => {
    const stretch = ([startMs, endMs]: number[]) => ({ startMs: startMs!, endMs: endMs! });
    expect(without([{ startMs: 0, endMs: 100 }], parts.map(stretch))).toEqual(left.map(stretch));
  });
});

describe("BackfillPlan", () => {
  it("reads the newest first, minutes while the store keeps them, then five minutes", () => {
    const chunks = taken(new BackfillPlan(NOW_MS, 7, backfillTiers(15, 2), []), 1_000);
    expect(chunks[0]?.stepMs).toBe(60_000);
    expect(chunks.at(-1)?.stepMs).toBe(300_000);
    for (let index = 1; index < chunks.length; index += 1)
      expect(chunks[index]?.endMs).toBe(chunks[index - 1]?.startMs);
    expect(lengthMs(chunks)).toBe(7 * DAY_MS);
    expect(lengthMs(chunks.filter(({ stepMs }) => stepMs === 60_000))).toBe(2 * DAY_MS);
    expect(gridOf(chunks[0]!)).toMatchObject({ stepMs: 60_000, count: 1_000 });
  });

  it("covers each time exactly once, whatever is known and however it is cut", () => {
    const known = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 1, max: 60 })), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(known, fc.integer({ min: 1, max: 700 }), (parts, windows) => {
        const from = Math.floor(NOW_MS / 300_000) * 300_000 - 2 * DAY_MS;
        const done = parts.map(([at, length]) => ({
          startMs: from + at * 300_000,
          endMs: from + (at + length) * 300_000,
        }));
        const plan = new BackfillPlan(NOW_MS, 2, backfillTiers(15, 1), done);
        const chunks = taken(plan, windows);
        expect(plan.leftMs).toBe(0);
        const whole = { startMs: from, endMs: from + 2 * DAY_MS };
        expect(without([whole], [...done, ...chunks])).toEqual([]);
        expect(lengthMs(chunks)).toBe(lengthMs(without([whole], done)));
      }),
    );
  });

  it("hands a chunk that was given back out again", () => {
    const plan = new BackfillPlan(NOW_MS, 1, backfillTiers(15, 2), []);
    const first = plan.take(10)!;
    plan.giveBack(first);
    expect(plan.take(10)).toEqual(first);
  });
});

describe("Pace", () => {
  it("asks for more while answers come quickly, never for more samples than allowed", () => {
    const pace = new Pace({ maxSamplesPerQuery: 100_000, slowSeconds: 5 });
    const first = pace.windows;
    for (let turn = 0; turn < 30; turn += 1) pace.answered(pace.windows, 500 * pace.windows, 0.1);
    expect(pace.windows).toBeGreaterThan(first);
    expect(pace.windows).toBe(200);
  });

  it("asks for half after a slow answer and after a refusal, and then waits longer each time", () => {
    const pace = new Pace({ maxSamplesPerQuery: 1e9, slowSeconds: 5 });
    pace.answered(60, 60, 9);
    expect(pace.windows).toBe(30);
    expect([pace.refused(undefined), pace.refused(undefined), pace.refused(undefined)]).toEqual([
      1_000, 2_000, 4_000,
    ]);
    expect(pace.windows).toBe(5);
    expect(pace.refused(120_000)).toBe(120_000);
    pace.answered(5, 5, 0.1);
    expect(pace.refusalsInARow).toBe(0);
  });
});
