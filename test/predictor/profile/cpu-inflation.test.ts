import fc from "fast-check";
import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { inflationAt, learnInflation } from "@tradewind/predictor/profile/cpu-inflation.ts";
import type { InflatedCost } from "@tradewind/predictor/profile/cpu-inflation.ts";
import { describe, expect, it } from "vitest";

const absent = Number.NaN;

/** Windows of a service whose requests take `cost(cpu, bandwidth)` CPU seconds, measured to within 5 %. */
function windows(
  count: number,
  cost: (cpu: number, bandwidth: number, at: number) => number,
  seed = 1,
): InflatedCost[] {
  const rng = seededRng(seed);
  return Array.from({ length: count }, (_, at) => {
    const [cpu, bandwidth] = [0.8 * rng(), 0.8 * rng()];
    return {
      cpuSecondsPerRequest: cost(cpu, bandwidth, at) * Math.exp(0.05 * standardNormal(rng)),
      interference: [cpu, absent, bandwidth, absent],
    };
  });
}

describe("inflation of CPU seconds", () => {
  it("is learnt by component, and is 1 at the median interference", () => {
    const inflation = learnInflation(
      windows(600, (cpu, bandwidth) => 0.01 * Math.exp(0.8 * cpu) * (1 + bandwidth ** 2)),
    );
    const factor = (cpu: number, bandwidth: number): number =>
      inflationAt(inflation!, [cpu, absent, bandwidth, absent]);
    expect(factor(inflation!.reference[0]!, inflation!.reference[2]!)).toBe(1);
    expect(factor(0.8, 0.4) / factor(0.1, 0.4)).toBeCloseTo(Math.exp(0.8 * 0.7), 1);
    expect(factor(0.4, 0.8) / factor(0.4, 0.1)).toBeCloseTo(1.64 / 1.01, 1);
  });

  it("does not take a deploy for interference", () => {
    const inflation = learnInflation(windows(600, (_cpu, _bandwidth, at) => (at < 320 ? 0.01 : 0.03)));
    expect(inflationAt(inflation!, [0.8, absent, 0.8, absent])).toBeCloseTo(1, 1);
  });

  it("never says that interference makes requests cheaper", () => {
    const inflation = learnInflation(windows(300, (cpu) => 0.01 * Math.exp(-cpu)));
    expect([...inflation!.linear, ...inflation!.quadratic].every((slope) => slope >= 0)).toBe(true);
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (a, b) => {
          const at = (cpu: number): number => inflationAt(inflation!, [cpu, absent, 0.2, absent]);
          expect(at(Math.max(a, b))).toBeGreaterThanOrEqual(at(Math.min(a, b)));
        },
      ),
    );
  });

  it("says nothing of a component that was never measured, or is absent now", () => {
    const inflation = learnInflation(windows(300, (cpu) => 0.01 * (1 + cpu)));
    const { reference } = inflation!;
    expect(inflationAt(inflation!, [reference[0]!, 1, reference[2]!, 1])).toBe(1);
    expect(inflationAt(inflation!, [absent, absent, absent, absent])).toBe(1);
  });

  it("believes no more than a factor of four", () => {
    const steep = { reference: [0, 0, 0, 0], linear: [50, 0, 0, 0], quadratic: [0, 0, 0, 0] };
    expect(inflationAt(steep, [1, absent, absent, absent])).toBe(4);
  });

  it("needs forty windows", () => {
    expect(learnInflation(windows(39, () => 0.01))).toBeUndefined();
  });

  it("stays near 1 where interference hardly varied", () => {
    const calm = windows(200, () => 0.01).map((each, i) => ({
      ...each,
      interference: [0.1 + 0.002 * (i % 2), absent, 0.1, absent],
    }));
    expect(inflationAt(learnInflation(calm)!, [0.8, absent, 0.8, absent])).toBeCloseTo(1, 1);
  });
});
