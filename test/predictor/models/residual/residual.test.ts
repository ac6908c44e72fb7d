import { TradewindError } from "@tradewind/core/values/errors.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { emptyProfile, predictOwnTime, track } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { OwnTime, ProfileState } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { INPUT_COUNT } from "@tradewind/predictor/models/residual/inputs.ts";
import { Network, parameterCount } from "@tradewind/predictor/models/residual/network.ts";
import { BOUND, ServedResidual } from "@tradewind/predictor/models/residual/residual.ts";
import { readResidual, writeResidual } from "@tradewind/predictor/models/residual/residual-model.ts";
import type { ResidualModel } from "@tradewind/predictor/models/residual/residual-model.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pressedWindows, randomResidual } from "./pressed-service.ts";

const STATE = pressedWindows(30).reduce(
  (state, { observation }) => track(state, observation),
  emptyProfile(),
);

interface Around {
  readonly memoryRatio: number;
  readonly interference: readonly number[];
}
const CALM: Around = { memoryRatio: 0.5, interference: [0, 0, 0, 0] };

function served(
  model: ResidualModel,
  cpuCores: number | undefined,
  loadPerContainer: number,
  around = CALM,
  state: ProfileState = STATE,
): OwnTime & { residual: number } {
  const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  const place = { cpuCores, loadPerContainer };
  predictOwnTime(state, place, 0.95, out);
  const residual = new ServedResidual(model, state, around, 0.95).apply(place, out);
  return { ...out, residual };
}

const seeds = fc.integer({ min: 1, max: 1e6 });
const cores = fc.double({ min: 0.05, max: 16, noNaN: true });
const loads = fc.double({ min: 0.01, max: 400, noNaN: true });

describe("the network of a residual", () => {
  it("adds up what its units make of the inputs: worked by hand", () => {
    // One input, two units: 0.5 tanh(2 x + 1) + 0.25 tanh(-x).
    const network = new Network({ inputs: 1, units: 2 }, Float64Array.of(2, -1, 1, 0, 0.5, 0.25));
    expect(network.output([0.5])).toBeCloseTo(0.5 * Math.tanh(2) - 0.25 * Math.tanh(0.5), 12);
    const slope = 0.5 * 2 * (1 - Math.tanh(2) ** 2) - 0.25 * (1 - Math.tanh(0.5) ** 2);
    expect(network.slope(0)).toBeCloseTo(slope, 12);
  });

  it("has the gradient of finite differences", () => {
    const rng = seededRng(4);
    const shape = { inputs: 3, units: 4 };
    const parameters = Float64Array.from({ length: parameterCount(shape) }, () => 2 * rng() - 1);
    const input = [0.2, 0.9, 0.5];
    const network = new Network(shape, parameters);
    network.output(input);
    const gradient = new Float64Array(parameters.length);
    network.addGradient(input, 3, gradient);
    for (const [i, found] of gradient.entries()) {
      const moved = (by: number): number =>
        new Network(shape, parameters.with(i, (parameters[i] ?? 0) + by)).output(input);
      expect(found).toBeCloseTo((3 * (moved(1e-6) - moved(-1e-6))) / 2e-6, 6);
    }
  });
});

describe("a tracked profile with a residual", () => {
  it("never rises with cores and never falls with load, whatever was learnt", () => {
    fc.assert(
      fc.property(
        seeds,
        cores,
        loads,
        fc.double({ min: 1.0001, max: 8, noNaN: true }),
        (seed, at, load, more) => {
          const model = randomResidual(seededRng(seed));
          const { tailByCores, tailByLoad, tailSeconds } = served(model, at, load);
          const slack = 1e-9 * tailSeconds;
          expect(tailByCores).toBeLessThanOrEqual(slack);
          expect(tailByLoad).toBeGreaterThanOrEqual(-slack);
          expect(served(model, more * at, load).tailSeconds).toBeLessThanOrEqual(tailSeconds + slack);
          expect(served(model, at, more * load).tailSeconds).toBeGreaterThanOrEqual(tailSeconds - slack);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("has the slopes of finite differences", () => {
    let compared = 0;
    const rng = seededRng(9);
    for (let run = 0; run < 500; run += 1) {
      const model = randomResidual(rng);
      const [at, load] = [0.2 + 4 * rng(), 1 + 80 * rng()];
      const { tailByCores, tailByLoad, tailSeconds } = served(model, at, load);
      const byCores = (by: number): number => (served(model, at + by, load).tailSeconds - tailSeconds) / by;
      const byLoad = (by: number): number => (served(model, at, load + by).tailSeconds - tailSeconds) / by;
      // The table of the queue has kinks, and a range has edges: there both sides differ, and any slope between them is one.
      for (const [slope, of] of [
        [tailByCores, byCores],
        [tailByLoad, byLoad],
      ] as const) {
        const [below, above] = [of(-1e-6), of(1e-6)];
        if (Math.abs(below - above) > 1e-4 * Math.abs(above) + 1e-7) continue;
        compared += 1;
        expect(Math.abs(slope - above)).toBeLessThan(1e-3 * Math.abs(above) + 1e-7);
      }
    }
    expect(compared).toBeGreaterThan(800);
  });

  it("stays within a factor of four and finite for numbers that nobody measured before", () => {
    const hostile = fc.oneof(
      fc.constantFrom(0, Number.MIN_VALUE, 1e-9, 1e9, Number.NaN),
      fc.double({ min: 0, max: 10, noNaN: true }),
    );
    fc.assert(
      fc.property(
        seeds,
        fc.option(cores, { nil: undefined }),
        fc.oneof(loads, fc.constantFrom(0, 1e-12, 1e7)),
        hostile,
        fc.array(hostile, { minLength: 4, maxLength: 4 }),
        (seed, at, load, memoryRatio, interference) => {
          const found = served(randomResidual(seededRng(seed)), at, load, { memoryRatio, interference });
          for (const each of Object.values(found)) expect(Number.isFinite(each)).toBe(true);
          expect(Math.abs(found.residual)).toBeLessThanOrEqual(BOUND);
          expect(found.tailSeconds).toBeGreaterThan(0);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("never falls with memory or interference where either was seen", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 0, max: 4 }), (seed, input) => {
        const model = randomResidual(seededRng(seed));
        const span = model.spans[3 + input]!;
        const around = (value: number): Around => ({
          memoryRatio: input === 0 ? value : 0.5,
          interference: [0, 1, 2, 3].map((i) => (input === i + 1 ? value : 0.2)),
        });
        const [low, high] = [span.low, span.high].map((value) => served(model, 1, 40, around(value)));
        expect(high!.residual).toBeGreaterThanOrEqual(low!.residual - 1e-12);
      }),
    );
  });

  it("forgets an excess that it saw only under pressure where there is none", () => {
    const model = randomResidual(seededRng(2));
    const parameters = new Float64Array(model.parameters.length);
    // One unit that is always on: its bias is 5, it adds 1.
    parameters[INPUT_COUNT * model.units] = 5;
    parameters[(INPUT_COUNT + 1) * model.units] = 1;
    const all = { low: -20, usual: 0, high: 20 };
    const spans = model.spans.map((_, i) => (i === 3 ? { low: 0.9, usual: 0.92, high: 0.95 } : all));
    const always: ResidualModel = { ...model, curve: 0, spans, parameters };
    const seen = served(always, 1, 40, { ...CALM, memoryRatio: 0.9 }).residual;
    expect(seen).toBeGreaterThan(0.5);
    expect(served(always, 1, 40, { ...CALM, memoryRatio: 0.4 }).residual).toBeLessThan(1e-4);
    expect(served(always, 1, 40, { ...CALM, memoryRatio: 1.2 }).residual).toBeCloseTo(seen, 12);
  });

  it("is used by its weight: slopes too, and none at all leaves what is tracked", () => {
    const place = { cpuCores: 1, loadPerContainer: 40 };
    const narrow = randomResidual(seededRng(3));
    // All has been seen, so that nothing fades.
    const model = { ...narrow, spans: narrow.spans.map(() => ({ low: -20, usual: 0, high: 20 })) };
    const withWeight = (weight?: number): OwnTime & { readonly residual: number } => {
      const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
      predictOwnTime(STATE, place, 0.95, out);
      const use = weight === undefined ? {} : { weight };
      const residual = new ServedResidual(model, STATE, CALM, 0.95, use).apply(place, out);
      return { ...out, residual };
    };
    const [none, half, whole] = [withWeight(0), withWeight(0.5), withWeight(1)];
    expect(withWeight()).toEqual(whole);
    expect(Math.abs(whole.residual)).toBeGreaterThan(0.01);
    expect(half.residual).toBeCloseTo(whole.residual / 2, 12);
    expect(half.tailSeconds).toBeCloseTo(Math.sqrt(none.tailSeconds * whole.tailSeconds), 12);
    const logSlope = ({ tailByLoad, tailSeconds }: OwnTime): number => tailByLoad / tailSeconds;
    expect(logSlope(half)).toBeCloseTo((logSlope(none) + logSlope(whole)) / 2, 12);
    const tracked: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
    predictOwnTime(STATE, place, 0.95, tracked);
    expect(none).toMatchObject(tracked);
  });

  it("takes the residual's live error in place of the tracked profile's where that is smaller", () => {
    const model = randomResidual(seededRng(3));
    const sigmaWith = (variance: number): number => {
      const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
      const place = { cpuCores: 1, loadPerContainer: 40 };
      predictOwnTime(STATE, place, 0.95, out);
      new ServedResidual(model, STATE, CALM, 0.95, { variance }).apply(place, out);
      return out.sigma;
    };
    const tracked = sigmaWith(Infinity);
    const [, residual = 0] = STATE.residuals;
    expect(residual).toBeGreaterThan(0);
    expect(sigmaWith(0)).toBeCloseTo(Math.sqrt(tracked ** 2 - residual), 9);
    expect(sigmaWith(residual + 1)).toBe(tracked);
  });
});

describe("the file of a residual", () => {
  const text = writeResidual(randomResidual());

  it("gives back the same model", () => {
    expect(readResidual(text)).toEqual(randomResidual());
  });

  it.each<{ what: string; broken: () => string }>([
    { what: "is cut short", broken: () => text.slice(0, 300) },
    { what: "has a changed digit", broken: () => text.replace('"trainingRows":40', '"trainingRows":41') },
    { what: "is something else", broken: () => "GIF89a" },
    {
      what: "breaks the signs that it keeps",
      broken: () => {
        const model = randomResidual();
        return writeResidual({ ...model, parameters: model.parameters.map((each) => -each) });
      },
    },
    {
      what: "has a parameter that is no number",
      broken: () => writeResidual({ ...randomResidual(), parameters: new Float64Array(60).fill(Number.NaN) }),
    },
    { what: "is too short for its units", broken: () => writeResidual({ ...randomResidual(), units: 7 }) },
  ])("is refused where it $what", ({ broken }) => {
    expect(readResidual(broken())).toBeInstanceOf(TradewindError);
  });
});
