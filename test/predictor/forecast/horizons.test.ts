import { emptyForesight } from "@tradewind/predictor/forecast/foresight.ts";
import { horizonSteps, LoadHorizons } from "@tradewind/predictor/forecast/horizons.ts";
import { withLoad } from "@tradewind/predictor/forecast/load-series.ts";
import { describe, expect, it } from "vitest";

const MINUTE_MS = 60_000;
const load = (at: number): number => 60 - 40 * Math.cos((2 * Math.PI * at) / 30);
const steps = (from: number, to: number) => ({
  stepSeconds: 60,
  endMs: to * MINUTE_MS,
  steps: Array.from({ length: to - from }, (_, at) => load(from + at)),
});

describe("forecasts 5 to 25 minutes ahead", () => {
  it("are the same whether steps came one by one or all at once", () => {
    const flat = (count: number) => ({
      stepSeconds: 60,
      endMs: count * MINUTE_MS,
      steps: Array.from({ length: count }, (_, at) => 50 + (at % 3)),
    });
    const [slow, fast] = [new LoadHorizons(), new LoadHorizons()];
    let made = slow.after(flat(1));
    for (let count = 2; count <= 15; count += 1) made = slow.after(flat(count));
    expect(made).toEqual(fast.after(flat(15)));
    expect(slow.after(flat(15))).toEqual(made);
  });

  it("go on where old steps are not kept any more", () => {
    const horizons = new LoadHorizons();
    horizons.after(steps(0, 120));
    const [first] = horizons.after(steps(5, 125));
    expect(first?.errors?.origins).toBe(120);
    expect(first?.middle).toBeCloseTo(load(129), 0);
  });

  it("begin again where steps before the first, after a gap, or of another length come", () => {
    const origins = (horizons: LoadHorizons, of: ReturnType<typeof steps>) =>
      horizons.after(of)[0]?.errors?.origins;
    const horizons = new LoadHorizons();
    expect(origins(horizons, steps(100, 150))).toBe(45);
    expect(origins(horizons, steps(50, 150))).toBe(95);
    expect(origins(horizons, steps(400, 420))).toBe(15);
    expect(origins(horizons, { ...steps(400, 420), stepSeconds: 300 })).toBe(19);
  });

  it("are made of whole minutes, whichever quarter of one was the last", () => {
    const stepsAfter = (quarters: number) => {
      const [first, ...others] = emptyForesight();
      let { series } = first!;
      for (let at = 0; at < quarters; at += 1) {
        const startMs = MINUTE_MS + 15_000 * at;
        const one = { startMs, endMs: startMs + 15_000, perSecond: Math.floor(at / 4) };
        series = withLoad(series, one);
      }
      const { endMs, steps: known } = horizonSteps([{ ...first!, series }, ...others]);
      return { endMs, steps: known.filter((each) => each !== null) };
    };
    for (const quarters of [8, 9, 10, 11])
      expect(stepsAfter(quarters)).toEqual({ endMs: 3 * MINUTE_MS, steps: [0, 1] });
    expect(stepsAfter(12).steps).toEqual([0, 1, 2]);
  });
});
