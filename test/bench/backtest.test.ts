import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import { BACKTEST_CONTENDERS } from "@tradewind/simulator/backtest/contenders.ts";
import { DIURNAL_WEEK, diurnalWeek } from "@tradewind/simulator/course/obstacles/diurnal-week.ts";
import { benchmark } from "../../bench/backtest/main.ts";

const scratch = mkdtempSync(join(tmpdir(), "tradewind-week-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Report {
  readonly windows: number;
  readonly routes: readonly { readonly all: { readonly intervals: number } }[];
  readonly recorded: { readonly requests: number };
  readonly policies: readonly Readonly<Record<"replayed" | "simulated", { readonly costPerHour: number }>>[];
}

describe("a backtest of a simulated week", () => {
  it("is the same week whatever a day takes", () => {
    const slow = diurnalWeek(900).model;
    for (const day of [0.1, 0.5, 2.7, 5.5, 8.9]) {
      expect(slow.load(900 * day)).toBeCloseTo(DIURNAL_WEEK.model.load(240 * day), 9);
    }
    expect(slow.seconds / 900).toBe(DIURNAL_WEEK.model.seconds / 240);
  });

  it("reads all windows back from the store, and puts a simulation beside every replay", async () => {
    const state = join(scratch, "week");
    const values = { state };
    const report = (await benchmark.run({
      seed: 1,
      quick: true,
      progress: () => undefined,
      values,
    })) as unknown as Report;
    expect(report.windows).toBe(71);
    // By time half of 71 windows is 35 and a half.
    expect(report.routes[0]!.all.intervals).toBe(36);
    expect(report.recorded.requests).toBeGreaterThan(10_000);
    expect(report.policies).toHaveLength(BACKTEST_CONTENDERS.length);
    for (const { replayed, simulated } of report.policies) {
      expect(replayed.costPerHour).toBeGreaterThan(0);
      expect(simulated.costPerHour).toBeGreaterThan(0);
    }
    expect(existsSync(join(state, "history.sqlite"))).toBe(true);
    expect((await readApplication(join(state, "application.yaml"))).entry).toBe("front");
  }, 180_000);
});
