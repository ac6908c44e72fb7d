import fc from "fast-check";
import { expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { ContainerRates } from "@tradewind/predictor/sources/container-rates.ts";
import { totals } from "../../bench/sampling/trace.ts";
import { WINDOW_SECONDS, windowMeans } from "../../bench/sampling/windows.ts";
import { atOnce, snapshot } from "../predictor/sources/snapshots.ts";

const T = 1_750_000_000_000;
/** What is read this long after a window still counts (bench/sampling/windows.ts). */
const LATE_SECONDS = 3;

it("the benchmark's windows are those that the predictor works out of the same readings", () => {
  const gap = fc.constantFrom(1, 2, 3, 7, 14, 15, 16, 30);
  fc.assert(
    fc.property(fc.array(gap, { minLength: 4, maxLength: 12 }), fc.integer(), (gaps, seed) => {
      const rng = seededRng(seed);
      const times = gaps.map((_, index) => gaps.slice(0, index).reduce((sum, each) => sum + each, 0));
      const seconds = (times.at(-1) ?? 0) + 20;
      const total = totals(Float64Array.from({ length: seconds }, () => rng()));
      const { known } = windowMeans(total, times, WINDOW_SECONDS);
      for (const [window, mean] of known.entries()) {
        const start = window * WINDOW_SECONDS;
        const end = start + WINDOW_SECONDS;
        const rates = new ContainerRates({ keepSeconds: 600, maxContainers: 1, onDrop: () => undefined });
        const inTime = times.filter((at) => at <= end + LATE_SECONDS);
        for (const [index, at] of inTime.entries()) {
          const before = inTime[index - 1];
          const used = total[at] ?? 0;
          const usageCores = before === undefined ? undefined : (used - (total[before] ?? 0)) / (at - before);
          const cpu = { usageSecondsTotal: used, ...(usageCores !== undefined && { usageCores }) };
          rates.record("a", snapshot([{ id: "c", sampledAtMs: T + at * 1e3, cpu }]), atOnce(T + at * 1e3));
        }
        const newest = inTime.at(-1) ?? 0;
        // The agent goes on telling of the container while it is not read.
        if (newest < end) {
          const held = { id: "c", sampledAtMs: T + newest * 1e3, ageSeconds: end - newest };
          rates.record("a", snapshot([{ ...held, cpu: {} }]), atOnce(T + end * 1e3));
        }
        const predicted = rates.over(T + start * 1e3, T + end * 1e3).get("c")?.cpuUsageCores;
        expect(mean.toFixed(6)).toBe((predicted ?? Number.NaN).toFixed(6));
      }
    }),
    { numRuns: 100 },
  );
});
