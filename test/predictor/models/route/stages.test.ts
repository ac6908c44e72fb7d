import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { call, emptySet, flowOf } from "./random-application.ts";
import { randomShare, randomStages, stagedTail } from "./staged-flows.ts";
import type { StageFacts } from "./staged-flows.ts";

/** Of an exponential time where nothing takes any. */
const meanOverTail = (time: { readonly meanSeconds: number; readonly p95Seconds: number }): number =>
  time.p95Seconds > 0 ? time.meanSeconds / time.p95Seconds : 1 / Math.log(20);

type Draw = (rng: Rng) => number;

const logNormal =
  (median: number, deviation: number): Draw =>
  (rng) =>
    median * Math.exp(deviation * standardNormal(rng));
/** `long` in this share of calls, `short` in the others. */
const either =
  (short: number, long: number, share: number): Draw =>
  (rng) =>
    rng() < share ? long : short;
const longest = (times: number, draw: Draw, rng: Rng): number => {
  let most = 0;
  for (let index = 0; index < times; index += 1) most = Math.max(most, draw(rng));
  return most;
};

const DRAWS = 60_000;

function measured(draw: Draw): { meanSeconds: number; p95Seconds: number } {
  const rng = seededRng(11);
  const times = Float64Array.from({ length: DRAWS }, () => draw(rng)).sort();
  return {
    meanSeconds: times.reduce((sum, time) => sum + time, 0) / DRAWS,
    p95Seconds: times[Math.floor(0.95 * DRAWS)]!,
  };
}

/** Predicted over simulated, less 1, of tail and mean, from the measured own times of the services. */
function errors(
  own: readonly Draw[],
  stages: readonly StageFacts[],
  whole: Draw,
): { tail: number; mean: number } {
  const services = own.map((draw) => measured(draw));
  const tail = stagedTail(
    own.length,
    stages,
    services.map(({ p95Seconds }) => p95Seconds),
    services.map((each) => meanOverTail(each)),
  );
  const truth = measured(whole);
  return { tail: tail.tailSeconds / truth.p95Seconds - 1, mean: tail.meanSeconds / truth.meanSeconds - 1 };
}

const inRow = (draws: readonly Draw[]): StageFacts[] =>
  draws.slice(1).map((_, index) => ({ calls: { [index + 1]: 1 } }));
const sum =
  (draws: readonly Draw[]): Draw =>
  (rng) =>
    draws.reduce((total, draw) => total + draw(rng), 0);

describe("a fan-out", () => {
  it.each([2, 5, 10, 20])(
    "to %i calls of one callee takes as long as the longest of them, within 4 %%",
    (times) => {
      for (const deviation of [0.4, 0.8]) {
        const entry = logNormal(0.002, 0.5);
        const callee = logNormal(0.01, deviation);
        const { mean, tail } = errors(
          [entry, callee],
          [{ calls: { 1: times } }],
          (rng) => entry(rng) + longest(times, callee, rng),
        );
        expect(Math.abs(tail)).toBeLessThan(0.05);
        expect(Math.abs(mean)).toBeLessThan(0.015);
      }
    },
  );

  it("is worked by hand for two calls: mean e^(s/2)·2·Φ(σ/√2) medians", () => {
    // σ = 0.5: mean over tail e^(0.125 − 0.82243) = 0.49789, and the longer of two 1.2762 means.
    const share = Math.exp(0.125 - 0.5 * 1.644_853_627);
    const tail = stagedTail(2, [{ calls: { 1: 2 } }], [0, 1], [0.5, share]);
    expect(tail.meanSeconds / share).toBeCloseTo(1.276_3, 3);
  });

  it("in a pool of workers takes less than in steps with barriers, and far more than all at once", () => {
    const callee = logNormal(0.01, 0.6);
    const pool: Draw = (rng) => {
      const free = [0, 0, 0, 0];
      for (let index = 0; index < 20; index += 1) {
        free.sort((a, b) => a - b);
        free[0]! += callee(rng);
      }
      return Math.max(...free);
    };
    const { tail } = errors([() => 0, callee], [{ steps: 5.1, calls: { 1: 20 } }], pool);
    expect(Math.abs(tail)).toBeLessThan(0.25);
  });
});

describe("stages that follow each other", () => {
  it.each([2, 3, 4])("%i of as many parallel calls add up, each by its longest call, within 3 %%", (size) => {
    for (const deviation of [0.4, 0.8]) {
      const callees = Array.from({ length: size * size }, (_, index) =>
        logNormal(0.005 * (1 + (index % 3)), deviation),
      );
      const stages = Array.from({ length: size }, (_, stage) => ({
        calls: Object.fromEntries(
          callees.slice(0, size).map((_draw, index) => [stage * size + index + 1, 1]),
        ),
      }));
      const { mean, tail } = errors([() => 0, ...callees], stages, (rng) =>
        stages.reduce(
          (total, { calls }) =>
            total +
            Object.keys(calls).reduce((most, callee) => Math.max(most, callees[Number(callee) - 1]!(rng)), 0),
          0,
        ),
      );
      expect(Math.abs(tail)).toBeLessThan(0.03);
      expect(Math.abs(mean)).toBeLessThan(0.01);
    }
  });

  it("take the row of two calls beside a third for what it is as often as it ends last", () => {
    const third = logNormal(0.02, 0.6);
    const one = logNormal(0.01, 0.6);
    const rng = seededRng(3);
    let longer = 0;
    for (let index = 0; index < 20_000; index += 1) longer += one(rng) + one(rng) > third(rng) ? 1 : 0;
    const stages = [{ steps: 1 + longer / 20_000, calls: { 1: 1, 2: 1, 3: 1 } }];
    const { tail } = errors([() => 0, one, one, third], stages, (draw) =>
      Math.max(third(draw), one(draw) + one(draw)),
    );
    expect(Math.abs(tail)).toBeLessThan(0.03);
  });
});

describe("times of two kinds of calls", () => {
  it.each([
    { what: "1 ms, 60 ms in 10 %", draw: either(0.001, 0.06, 0.1), times: 1, within: 0.01 },
    { what: "1 ms, 60 ms in 10 %", draw: either(0.001, 0.06, 0.1), times: 3, within: 0.15 },
    { what: "4 ms, 94 ms in 8 %", draw: either(0.004, 0.094, 0.08), times: 1, within: 0.01 },
    { what: "4 ms, 94 ms in 8 %", draw: either(0.004, 0.094, 0.08), times: 3, within: 0.15 },
    { what: "4 ms, 94 ms in 3 %", draw: either(0.004, 0.094, 0.03), times: 1, within: 0.01 },
    { what: "4 ms, 94 ms in 3 %", draw: either(0.004, 0.094, 0.03), times: 5, within: 0.15 },
  ])("$what, $times in a row: the mean is kept, the tail is within $within", ({ draw, times, within }) => {
    const draws = Array.from({ length: times }, () => draw);
    const { mean, tail } = errors(draws, inRow(draws), sum(draws));
    expect(Math.abs(mean)).toBeLessThan(0.02);
    expect(Math.abs(tail)).toBeLessThan(within);
  });

  it("add a spike's mean to the flow's, and its deviation only where it is on more than one request in twenty", () => {
    const spiky = { meanSeconds: 0.006_7, p95Seconds: 0.004 };
    const own = [0.004, 0.01];
    const shares = [meanOverTail(spiky), 0.4];
    const once = stagedTail(2, [{ calls: { 1: 1 } }], own, shares);
    const without = stagedTail(2, [{ calls: { 1: 1 } }], own, [1, 0.4]);
    expect(once.meanSeconds).toBeCloseTo(0.006_7 + 0.004, 12);
    expect(once.tailSeconds).toBeCloseTo(without.tailSeconds, 12);
    const thrice = stagedTail(
      2,
      [{ perRequest: 3, calls: { 1: 1 } }],
      [0.01, 0.004],
      [0.4, meanOverTail(spiky)],
    );
    expect(thrice.meanSeconds).toBeCloseTo(0.004 + 3 * 0.006_7, 12);
    expect(thrice.tailSeconds).toBeGreaterThan(0.04);
  });
});

describe("stages of a compiled flow", () => {
  const index = serviceIndex(["s0", "s1", "s2", "s3"]);

  it("leave what they do not account for to the calls of each pair", () => {
    const flow = {
      ...flowOf([call("s0", "s1", 3), call("s0", "s2", 1, 1), call("s0", "s3", 1, 1)]),
      stages: [{ caller: "s0", perRequest: 1, steps: 1, calls: [{ callee: "s1", calls: 2 }] }],
    };
    const graph = compileFlow(flow, emptySet, index)!;
    expect([...graph.perRequest]).toEqual([1, 1, 1]);
    expect([...graph.calls]).toEqual([2, 1, 1, 1]);
    expect([...graph.calleeStart]).toEqual([0, 1, 3, 4]);
  });

  it("are no toss where the same calls only overlap in another way each time", () => {
    const stage = (perRequest: number, ...callees: string[]) => ({
      caller: "s0",
      perRequest,
      steps: 1,
      calls: callees.map((callee) => ({ callee, calls: 1 })),
    });
    const flow = {
      ...flowOf([call("s0", "s1"), call("s0", "s2"), call("s0", "s3", 0.3)]),
      stages: [stage(0.6, "s1", "s2"), stage(0.4, "s1"), stage(0.4, "s2"), stage(0.3, "s3")],
    };
    const graph = compileFlow(flow, emptySet, index)!;
    expect([...graph.toss].map((toss) => Math.round(1e6 * toss) / 1e6)).toEqual([0, 0, 0, 0.21]);
  });

  it("leave out callees that would close a circle or that nobody knows", () => {
    const flow = {
      ...flowOf([call("s0", "s1"), call("s1", "s0")]),
      stages: [
        {
          caller: "s0",
          perRequest: 1,
          steps: 1,
          calls: [
            { callee: "s1", calls: 1 },
            { callee: "gone", calls: 1 },
          ],
        },
        { caller: "s1", perRequest: 1, steps: 1, calls: [{ callee: "s0", calls: 1 }] },
      ],
    };
    const graph = compileFlow(flow, emptySet, index)!;
    expect([...graph.serviceOf]).toEqual([1, 0]);
    expect([...graph.perRequest]).toEqual([1]);
  });
});

describe("flows of random stages", () => {
  const random = (seed: number, count: number) => {
    const rng = seededRng(seed);
    const stages = randomStages(count, rng);
    const tails = Array.from({ length: count }, () => Math.exp(3 * rng()) / 100);
    const shares = Array.from({ length: count }, () => randomShare(rng));
    return { tails, tail: stagedTail(count, stages, tails, shares) };
  };

  it("have the gradient of their value, by central differences", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 10 }), (seed, count) => {
        const { tail, tails } = random(seed, count);
        const gradient = new Float64Array(count);
        tail.addGradient(1, gradient);
        const scale = tail.tailSeconds / Math.max(...tails);
        for (let service = 0; service < count; service += 1) {
          const step = 1e-6 * tails[service]!;
          const up = tail.tailIf(service, tails[service]! + step);
          const down = tail.tailIf(service, tails[service]! - step);
          // On a kink, where another service becomes the longest, the two sides differ.
          fc.pre(Math.abs(up + down - 2 * tail.tailSeconds) < 1e-4 * step);
          expect(gradient[service]! / scale).toBeCloseTo((up - down) / (2 * step) / scale, 5);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("do not fall by over 2 % where an own tail rises from half to twice what it was, and hardly ever fall at all", () => {
    let falls = 0;
    let steps = 0;
    for (let seed = 1; seed <= 300; seed += 1) {
      const { tail, tails } = random(seed, 2 + (seed % 8));
      for (const [service, seconds] of tails.entries()) {
        let most = 0;
        for (let factor = 0.5; factor < 2; factor *= 1.1) {
          const now = tail.tailIf(service, factor * seconds);
          expect(now).toBeGreaterThan(0.98 * most);
          steps += 1;
          if (now < 0.999 * most) falls += 1;
          most = Math.max(most, now);
        }
      }
    }
    expect(falls / steps).toBeLessThan(0.005);
  });

  it("come to one value whichever way their own tails are set", () => {
    const one = random(5, 10).tail;
    const other = random(5, 10).tail;
    const rng = seededRng(1);
    const wanted = Array.from({ length: 10 }, () => rng());
    for (const [service, seconds] of wanted.entries()) one.setOwnTail(service, seconds);
    for (let change = 0; change < 100; change += 1) other.setOwnTail(Math.floor(10 * rng()), rng());
    for (const [service, seconds] of [...wanted.entries()].reverse()) other.setOwnTail(service, seconds);
    expect(other.tailSeconds).toBeCloseTo(one.tailSeconds, 12);
  });
});
