import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FlowCall } from "@tradewind/core/contract/window.ts";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { compileFlow, serviceIndex } from "../../../../predictor/models/route/call-graph.ts";
import { FlowTail } from "../../../../predictor/models/route/flow-tail.ts";
import { call, emptySet, flowOf, randomCalls } from "./random-application.ts";

function tailOf(count: number, calls: readonly FlowCall[], tails: readonly number[], share = 0.4): FlowTail {
  const index = serviceIndex(Array.from({ length: count }, (_, service) => `s${service}`));
  const graph = compileFlow(flowOf(calls), emptySet, index)!;
  return new FlowTail(graph, Float64Array.from(tails), new Float64Array(count).fill(share));
}

describe("FlowTail", () => {
  it("gives back the own tail of a flow of one service", () => {
    expect(tailOf(1, [], [0.2]).tailSeconds).toBeCloseTo(0.2, 12);
  });

  it("adds means and variances of stages that follow each other", () => {
    // Mean 0.4 of the tail: ln(tail/mean) = 0.9163 = 1.6449 σ − σ²/2, σ = 0.71053; deviation 0.4·√(e^0.50485 − 1) = 0.32416 of it.
    // Own tails 0.1 and 0.3: mean 0.16, deviation 0.32416·√(0.1² + 0.3²) = 0.10251; σ² = ln(1 + 0.10251²/0.16²) = 0.34392.
    const tail = tailOf(2, [call("s0", "s1")], [0.1, 0.3]).tailSeconds;
    expect(tail).toBeCloseTo(0.16 * Math.exp(1.6449 * Math.sqrt(0.34392) - 0.34392 / 2), 4);
  });

  it("counts a call made twice as two means and two variances", () => {
    const tail = tailOf(2, [call("s0", "s1", 2)], [0, 0.3]).tailSeconds;
    // Mean 0.24, variance 2·(0.32416·0.3)² = 0.018914: σ² = ln(1 + 0.018914/0.0576) = 0.28395.
    expect(tail).toBeCloseTo(0.24 * Math.exp(1.6449 * Math.sqrt(0.28395) - 0.28395 / 2), 4);
  });

  it("gives a call made half the time the variance of the toss", () => {
    const tail = tailOf(2, [call("s0", "s1", 0.5)], [0, 1], 1).tailSeconds;
    // Mean 0.5, standard deviation 0.5: σ² = ln 2.
    expect(tail).toBeCloseTo(0.5 * Math.exp(1.644_853_626_951 * Math.sqrt(Math.LN2) - Math.LN2 / 2), 9);
  });

  it("takes the longer of two certain parallel calls, not their sum", () => {
    const calls = [call("s0", "s1", 1, 1), call("s0", "s2", 1, 1)];
    expect(tailOf(3, calls, [0.1, 0.5, 0.2], 1).tailSeconds).toBeCloseTo(0.6, 8);
  });

  it.each([
    {
      what: "five stages that follow each other",
      parallel: 0,
      tails: [0.5, 0.4, 0.45, 0.1, 0.2],
      share: 0.4,
    },
    { what: "stages of which one takes most of the time", parallel: 0, tails: [1, 0.1, 0.1], share: 0.35 },
    { what: "three parallel calls", parallel: 1, tails: [0.5, 0.4, 0.45], share: 0.6 },
  ])("comes within three percent of a simulation of $what", ({ parallel, share, tails }) => {
    const calls = tails.map((_tail, callee) => call("s0", `s${callee + 1}`, 1, parallel));
    const rng = seededRng(5);
    // Log-normal: tail over mean is e^(1.6449σ − σ²/2).
    const sigma = 1.644_853_626_951 - Math.sqrt(1.644_853_626_951 ** 2 + 2 * Math.log(share));
    const combine = (times: readonly number[]): number =>
      parallel === 1 ? Math.max(...times) : times.reduce((sum, time) => sum + time, 0);
    const samples = Array.from({ length: 200_000 }, () =>
      combine(tails.map((tail) => tail * Math.exp(sigma * (standardNormal(rng) - 1.644_853_626_951)))),
    ).sort((a, b) => a - b);
    const simulated = samples[Math.floor(0.95 * samples.length)]!;
    const predicted = tailOf(tails.length + 1, calls, [0, ...tails], share).tailSeconds;
    expect(Math.abs(predicted / simulated - 1)).toBeLessThan(0.03);
  });

  it("has the gradient of its value, by central differences on random graphs", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 12 }), (seed, count) => {
        const rng = seededRng(seed);
        const calls = randomCalls(count, rng);
        const tails = Array.from({ length: count }, () => 0.01 + rng());
        const tail = tailOf(count, calls, tails);
        const gradient = new Float64Array(count);
        tail.addGradient(1, gradient);
        for (let service = 0; service < count; service += 1) {
          const step = 1e-6;
          const up = tail.tailIf(service, tails[service]! + step);
          const down = tail.tailIf(service, tails[service]! - step);
          expect(gradient[service]).toBeCloseTo((up - down) / (2 * step), 5);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("comes to the same value by increments as at once, from the same start", () => {
    const rng = seededRng(9);
    const calls = randomCalls(30, rng);
    const tails = Array.from({ length: 30 }, () => rng());
    const tail = tailOf(30, calls, tails);
    const direct = tailOf(30, calls, tails);
    for (let change = 0; change < 200; change += 1) {
      const service = Math.floor(rng() * 30);
      tails[service] = rng();
      tail.setOwnTail(service, tails[service]);
    }
    for (const [service, seconds] of tails.entries()) direct.setOwnTail(service, seconds);
    expect(tail.tailSeconds).toBeCloseTo(direct.tailSeconds, 12);
  });

  it("leaves the state as it was after asking what if", () => {
    const tail = tailOf(3, [call("s0", "s1"), call("s1", "s2")], [0.1, 0.2, 0.3]);
    const before = tail.tailSeconds;
    expect(tail.tailIf(2, 1)).toBeGreaterThan(before);
    expect(tail.tailSeconds).toBe(before);
  });

  it("is after a trial that was taken back what it was, bit for bit, and goes on as if it had never been", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 25 }), (seed, count) => {
        const rng = seededRng(seed);
        const calls = randomCalls(count, rng);
        const tails = Array.from({ length: count }, () => 0.01 + rng());
        const [tried, untouched] = [tailOf(count, calls, tails), tailOf(count, calls, tails)];
        const gradientOf = (tail: FlowTail): Float64Array => {
          const gradient = new Float64Array(count);
          tail.addGradient(1, gradient);
          return gradient;
        };
        for (let step = 0; step < 8; step += 1) {
          const before = (rng() < 0.5 ? tried : untouched).tailSeconds;
          const service = Math.floor(rng() * count);
          tried.trySet(service, 3 * rng());
          if (rng() < 0.5) gradientOf(tried);
          const during = tried.tailSeconds;
          tried.undo();
          expect(tried.tailSeconds).toBe(before);
          expect(gradientOf(tried)).toEqual(gradientOf(untouched));
          expect(during).toBeGreaterThan(0);
          const seconds = 0.01 + rng();
          for (const each of [tried, untouched]) each.setOwnTail(service, seconds);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("does not fall where an own tail rises, a rare long call among short ones included", () => {
    const calls = [call("s0", "s1", 0.02), call("s0", "s2")];
    let before = 0;
    for (let seconds = 0.001; seconds < 100; seconds *= 1.5) {
      const now = tailOf(3, calls, [0.01, seconds, 0.02]).tailSeconds;
      expect(now).toBeGreaterThanOrEqual(before);
      before = now;
    }
  });

  it("is finite and not negative for own tails of zero", () => {
    const tail = tailOf(3, [call("s0", "s1", 1, 1), call("s0", "s2", 1, 1)], [0, 0, 0]);
    const gradient = new Float64Array(3);
    tail.addGradient(1, gradient);
    expect(tail.tailSeconds).toBe(0);
    expect([...gradient].every(Number.isFinite)).toBe(true);
  });
});
