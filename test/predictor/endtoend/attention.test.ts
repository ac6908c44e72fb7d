import fc from "fast-check";
import { seededRng } from "@tradewind/core/rng.ts";
import { AttentionResidual } from "@tradewind/predictor/endtoend/attention.ts";
import { attentionLayout } from "@tradewind/predictor/endtoend/attention-model.ts";
import { describe, expect, it } from "vitest";
import { randomResidual, randomTails } from "./random-residual.ts";

describe("AttentionResidual", () => {
  it("comes to what its formula gives by hand for one service", () => {
    // One service attends to itself alone: A = V. Width 1, hidden 1: r = 2 · tanh(3 · tanh(0.5 · v + 0.1) − 0.2).
    const shape = { services: 1, width: 1, hidden: 1 };
    const parameters = Float64Array.of(0.7, -0.3, 0.4, 0.9, 0.25, 0.75, 0.5, 0.1, 3, -0.2);
    expect(parameters).toHaveLength(attentionLayout(shape).length);
    const scale = { centre: Math.log(0.1), scale: 2, low: -10, high: 10 };
    const model = { ...randomResidual(1, seededRng(1)), ...shape, services: ["s0"], parameters };
    const residual = new AttentionResidual({ ...model, scales: [scale, scale], bound: 2 });
    // Largest 0.2 s, mean 0.15 s: features ln(1.5)/2 and ln(2)/2.
    const value = (0.25 * Math.log(1.5)) / 2 + (0.75 * Math.log(2)) / 2;
    const expected = 2 * Math.tanh(3 * Math.tanh(0.5 * value + 0.1) - 0.2);
    expect(residual.evaluate(Float64Array.of(0.2), Float64Array.of(0.75))).toBeCloseTo(expected, 12);
  });

  it("has the gradient of its value, by central differences", () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const rng = seededRng(seed);
      const count = 1 + (seed % 7);
      const residual = new AttentionResidual(randomResidual(count, rng));
      const tails = randomTails(count, rng);
      const shares = Float64Array.from({ length: count }, () => 0.9 + 0.1 * rng());
      residual.evaluate(tails, shares);
      const gradient = new Float64Array(count);
      residual.addGradient(2, gradient);
      for (let service = 0; service < count; service += 1) {
        const step = 1e-6 * tails[service]!;
        const at = (by: number): number =>
          residual.evaluate(
            tails.map((tail, i) => (i === service ? tail + by : tail)),
            shares,
          );
        const slope = (2 * (at(step) - at(-step))) / (2 * step);
        expect(Math.abs(gradient[service]! - slope) * tails[service]!).toBeLessThan(1e-7);
      }
    }
  });

  it("comes to the same by changing one service as from scratch, and leaves the evaluation as it was", () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const rng = seededRng(seed);
      const count = 1 + (seed % 9);
      const model = randomResidual(count, rng);
      // Every third has queries and keys so large that one service takes all attention.
      const sharp = seed % 3 === 0 ? 30 : 1;
      const parameters = model.parameters.map((value, i) => (i < 4 * model.width ? sharp * value : value));
      const residual = new AttentionResidual({ ...model, parameters });
      const tails = randomTails(count, rng);
      const shares = Float64Array.from({ length: count }, () => 0.9 + 0.1 * rng());
      residual.evaluate(tails, shares);
      const gradient = new Float64Array(count);
      residual.addGradient(1, gradient);
      for (let service = 0; service < count; service += 1) {
        const changed = tails.slice();
        changed[service] = randomTails(1, rng)[0]!;
        const afresh = new AttentionResidual({ ...model, parameters }).evaluate(changed, shares);
        expect(residual.evaluateIf(service, changed[service]!)).toBeCloseTo(afresh, 8);
      }
      const after = new Float64Array(count);
      residual.addGradient(1, after);
      expect(after).toEqual(gradient);
    }
  });

  it("stays within its bound and finite, slopes too, whatever the own tails are", () => {
    const wild = fc.oneof(
      fc.double(),
      fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -0, 5e-324, 1e308, -1),
    );
    fc.assert(
      fc.property(fc.array(wild, { minLength: 4, maxLength: 4 }), fc.integer({ max: 1e6 }), (tails, seed) => {
        const model = randomResidual(4, seededRng(seed));
        const residual = new AttentionResidual(model);
        const value = residual.evaluate(Float64Array.from(tails));
        expect(Math.abs(value)).toBeLessThanOrEqual(model.bound);
        for (const [service, tail] of tails.entries()) {
          expect(Math.abs(residual.evaluateIf((service + 1) % 4, tail))).toBeLessThanOrEqual(model.bound);
        }
        const gradient = new Float64Array(4);
        residual.addGradient(1, gradient);
        expect([...gradient].every(Number.isFinite)).toBe(true);
      }),
    );
  });

  it("holds what it never saw at the edge of what it did, with no slope there", () => {
    const residual = new AttentionResidual(randomResidual(2, seededRng(3)));
    const atEdge = residual.evaluate(Float64Array.of(1, 0.1));
    expect(residual.evaluate(Float64Array.of(50, 0.1))).toBeCloseTo(atEdge, 12);
    const gradient = new Float64Array(2);
    residual.addGradient(1, gradient);
    expect(gradient[0]).toBe(0);
    expect(gradient[1]).not.toBe(0);
  });

  it("takes an unknown own tail for a typical one", () => {
    const model = randomResidual(2, seededRng(4));
    const residual = new AttentionResidual(model);
    const unknown = residual.evaluate(Float64Array.of(0.05, Number.NaN));
    expect(Number.isFinite(unknown)).toBe(true);
    expect(unknown).toBe(residual.evaluate(Float64Array.of(0.05)));
  });
});
