import { describe, expect, it } from "vitest";
import { fitHistory } from "@tradewind/simulator/backtest/fitted.ts";
import { splitHistory } from "@tradewind/simulator/backtest/history.ts";
import { HistoryWorld } from "@tradewind/simulator/backtest/history-world.ts";
import { APPLICATION, recording } from "./recording.ts";

describe("the window of a replay", () => {
  it("has the CPU use, the latencies and the rates of its own interval, not those of the interval after it", () => {
    const sets = recording(80);
    const { later } = splitHistory(sets, 0.5);
    const fitted = fitHistory(sets, APPLICATION, later[0]!.startMs);
    const world = new HistoryWorld({
      application: APPLICATION,
      fitted,
      validation: [],
      sets: later,
      podStartSeconds: 30,
      seed: 1,
    });
    for (const recorded of later.slice(0, -1)) {
      world.advanceTo(recorded.endMs);
      const { flows, windows } = world.windowSet(recorded.startMs, recorded.endMs);
      const before = recorded.windows[0]!;
      const shown = windows[0]!;
      expect(shown.requestsPerSecond).toBe(before.requestsPerSecond);
      // The same sizes as were recorded: what differs is the error of the fitted model.
      const use = shown.containers[0]!.cpuUsageCores! / before.containers[0]!.cpuUsageCores!;
      expect(Math.abs(use - 1)).toBeLessThan(0.02);
      const ratio = flows[0]!.latency.p95Seconds / recorded.flows[0]!.latency.p95Seconds;
      expect(Math.abs(Math.log(ratio))).toBeLessThan(0.15);
    }
  });
});
