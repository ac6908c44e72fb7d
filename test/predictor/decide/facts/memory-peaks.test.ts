import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { memoryNeed, memoryPeaksAfter } from "@tradewind/predictor/decide/facts/memory-peaks.ts";
import type { MemoryPeak } from "@tradewind/predictor/decide/facts/state.ts";
import { describe, expect, it } from "vitest";
import { START_MS, window } from "../../measurements.ts";

const DAY_MS = 86_400_000;

/** A window so many days after the first one, in which each of two containers used so much. */
function using(megabytes: number | undefined, day = 0, more: Partial<ContainerWindow> = {}): Window {
  const measured = window({ service: "search", replicas: 2 }, START_MS + day * DAY_MS);
  const containers = measured.containers.map((each) => ({
    ...each,
    ...(megabytes !== undefined && { memoryWorkingSetBytes: megabytes * 1e6 }),
    memoryLimitBytes: 300e6,
    ...more,
  }));
  return { ...measured, containers };
}

const after = (windows: readonly Window[]): readonly MemoryPeak[] =>
  windows.reduce<readonly MemoryPeak[]>(memoryPeaksAfter, []);
const often = (each: Window): Window[] => Array.from({ length: 20 }, () => each);

describe("the memory that a container needs", () => {
  it("is 1.3 times its highest use of a day, whatever it uses later", () => {
    const peaks = after([using(200), ...often(using(100))]);
    expect(memoryNeed(peaks, 300e6, 1.3)).toBeCloseTo(260e6, 0);
  });

  it("follows a peak that came once a week, and forgets it after eight days with measurements", () => {
    const days = (count: number): Window[] =>
      Array.from({ length: count }, (_, day) => often(using(100, day + 1))).flat();
    const weekly = [...often(using(200))];
    expect(memoryNeed(after([...weekly, ...days(7)]), 300e6, 1.3)).toBeCloseTo(260e6, 0);
    expect(memoryNeed(after([...weekly, ...days(8)]), 300e6, 1.3)).toBeCloseTo(130e6, 0);
  });

  it("is 1.3 times 1.2 times the limit after a kill for lack of memory", () => {
    const peaks = after([...often(using(100)), using(undefined, 0, { oomKills: 1 })]);
    expect(memoryNeed(peaks, 300e6, 1.3)).toBeCloseTo(468e6, 0);
  });

  it("is never less than it has before 20 windows were seen", () => {
    expect(memoryNeed(after([using(100)]), 300e6, 1.3)).toBe(300e6);
    expect(memoryNeed(after([using(400)]), 300e6, 1.3)).toBeCloseTo(520e6, 0);
  });

  it("is not known where its use was never measured", () => {
    expect(memoryNeed(after([using(undefined)]), 300e6, 1.3)).toBeUndefined();
  });

  it("goes on with the same day after the clock was set back", () => {
    expect(after([using(100, 3), using(200, 1)])).toHaveLength(1);
  });
});
