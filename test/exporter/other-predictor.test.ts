import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GRACE_SECONDS, OldExporter } from "./old-exporter.ts";

describe("plans of several predictors, which come and go", () => {
  it("take nothing away before one of them has been followed for the grace, whatever their clocks say", async () => {
    const count = fc.integer({ min: 1, max: 20 });
    const plan = fc.record({
      // Three predictors, one at a time for a few plans: one that restarts is another.
      predictor: fc.integer({ min: 0, max: 2 }),
      plans: fc.integer({ min: 1, max: 12 }),
      seconds: fc.integer({ min: 1, max: 60 }),
      replicas: count,
      wanted: count,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 2, maxLength: 8 }), async (courses) => {
        const exporter = new OldExporter();
        let followed: { predictor: number; sinceMs: number } | undefined;
        for (const { plans, predictor, replicas, seconds, wanted } of courses) {
          for (let index = 0; index < plans; index += 1) {
            exporter.nowMs += 1e3 * seconds;
            const before = exporter.served;
            await exporter.take(predictor, replicas, wanted);
            const { nowMs, served = 0 } = exporter;
            // Nothing is doubted of the only predictor that it has known.
            followed ??= { predictor, sinceMs: Number.NEGATIVE_INFINITY };
            if (followed.predictor !== predictor) followed = { predictor, sinceMs: nowMs };
            if (nowMs - followed.sinceMs >= 1e3 * GRACE_SECONDS) continue;
            expect(served).toBeGreaterThanOrEqual(Math.max(before ?? 0, wanted));
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it("give what they ask for once the grace is over", async () => {
    const exporter = new OldExporter();
    await exporter.take(1, 6, 6);
    exporter.nowMs += 15_000;
    await exporter.take(2, 4, 6);
    expect(exporter.served).toBe(6);
    exporter.nowMs += 1e3 * GRACE_SECONDS;
    await exporter.take(2, 4, 6);
    expect(exporter.served).toBe(4);
  });
});
