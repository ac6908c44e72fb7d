import { describe, expect, it } from "vitest";
import { emptyMaxMoments, maxOfNormals, normalCdf } from "../../../predictor/endtoend/normal.ts";

describe("normalCdf", () => {
  // Abramowitz and Stegun, table 26.1.
  it.each([
    [0, 0.5],
    [1, 0.841_344_746_068_543],
    [-1.96, 0.024_997_895_148_22],
    [3, 0.998_650_101_968_37],
    [-8, 6.220_960_574e-16],
    [40, 1],
  ])("at %d is %d", (x, value) => {
    expect(Math.abs(normalCdf(x) - value)).toBeLessThan(1e-12);
  });
});

describe("maxOfNormals", () => {
  it("gives 1/√π and 1 − 1/π for two standard normals", () => {
    const out = emptyMaxMoments();
    maxOfNormals(0, 1, 0, 1, out);
    expect(out.mean).toBeCloseTo(1 / Math.sqrt(Math.PI), 12);
    expect(out.variance).toBeCloseTo(1 - 1 / Math.PI, 12);
  });

  it("has the partial derivatives of its moments", () => {
    const at = [0.3, 0.2, 0.5, 0.1] as const;
    const step = 1e-6;
    const moments = (values: readonly number[]): [number, number] => {
      const out = emptyMaxMoments();
      maxOfNormals(values[0]!, values[1]!, values[2]!, values[3]!, out);
      return [out.mean, out.variance];
    };
    const out = emptyMaxMoments();
    maxOfNormals(...at, out);
    const expected = at.map((_, input) => {
      const [up, down] = [step, -step].map((d) => moments(at.map((v, i) => (i === input ? v + d : v))));
      return [(up![0] - down![0]) / (2 * step), (up![1] - down![1]) / (2 * step)];
    });
    expect(out.meanByMeanA).toBeCloseTo(expected[0]![0]!, 7);
    expect(out.varianceByMeanA).toBeCloseTo(expected[0]![1]!, 7);
    expect(out.meanByVarianceA).toBeCloseTo(expected[1]![0]!, 7);
    expect(out.varianceByVarianceA).toBeCloseTo(expected[1]![1]!, 7);
    expect(out.meanByMeanB).toBeCloseTo(expected[2]![0]!, 7);
    expect(out.varianceByMeanB).toBeCloseTo(expected[2]![1]!, 7);
    expect(out.varianceByVarianceB).toBeCloseTo(expected[3]![1]!, 7);
  });
});
