import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { sumBoundsChild, zeroBoundsChild } from "../../../agent/sampling/pruning.ts";
import { Sampler } from "../../../agent/sampling/sampler.ts";
import { CHANNEL, NONE } from "../../../agent/sampling/signal.ts";

describe("sumBoundsChild", () => {
  it.each([
    { held: 0, increase: 0.4, seconds: 10, proven: true, why: "nothing can have moved by more" },
    { held: 0.02, increase: 0.6, seconds: 10, proven: true, why: "0 and 0.06 are both within 0.05 of 0.02" },
    { held: 0.02, increase: 0.8, seconds: 10, proven: false, why: "it may have risen to 0.08" },
    { held: 0.3, increase: 3, seconds: 10, proven: false, why: "it may have fallen to 0" },
    { held: 0, increase: -1, seconds: 10, proven: false, why: "the parent started over" },
    { held: 0, increase: 0, seconds: 0, proven: false, why: "no time went by" },
    { held: Number.NaN, increase: 0, seconds: 10, proven: false, why: "nothing is held" },
    { held: 0, increase: Number.NaN, seconds: 10, proven: false, why: "the parent is not known" },
  ])("$proven when $why", ({ held, increase, seconds, proven }) => {
    expect(sumBoundsChild(held, increase, seconds, 0.05)).toBe(proven);
  });
});

describe("zeroBoundsChild", () => {
  it("proves a child still only by a parent that stood still", () => {
    expect(zeroBoundsChild(0, 0, 0.05)).toBe(true);
    expect(zeroBoundsChild(0, 1e-9, 0.05)).toBe(false);
    expect(zeroBoundsChild(0.2, 0, 0.05)).toBe(false);
    expect(zeroBoundsChild(0, Number.NaN, 0.05)).toBe(false);
  });
});

describe("pruning by the sampler", () => {
  const TOLERANCE = 0.05;

  /** Children of one pod that mostly idle; runs a while and checks every proof against the truth. */
  function run(
    seed: number,
    children: number,
    activity: number,
  ): { pruned: number; reads: number; largest: number } {
    const rng = seededRng(seed);
    const sampler = new Sampler({ capacity: 1 });
    const signal = { kind: "counter", tolerance: TOLERANCE, channels: CHANNEL.cpu } as const;
    const parent = sampler.add(signal, 0);
    const ids = Array.from({ length: children }, () => sampler.add({ ...signal, parent, pruning: "sum" }, 0));
    const history: number[][] = ids.map(() => [0]);
    const confirmed = new Map<number, number>();
    let reads = 0;
    let largest = 0;
    for (let second = 1; second <= 900; second += 1) {
      for (const [index, past] of history.entries()) {
        const busy = rng() < activity ? rng() : index === 0 ? 0.02 : 0;
        past.push((past.at(-1) ?? 0) + busy);
      }
      const nowMs = second * 1e3;
      for (let id = sampler.nextDue(nowMs); id !== NONE; id = sampler.nextDue(nowMs)) {
        const of = (at: number): number => history[at]?.[second] ?? 0;
        sampler.observe(
          id,
          id === parent ? ids.reduce((sum, _, at) => sum + of(at), 0) : of(ids.indexOf(id)),
          nowMs,
        );
        reads += 1;
      }
      for (const [index, id] of ids.entries()) {
        const { confirmedMs = 0, lastSampleMs = 0, rate = Number.NaN } = sampler.state(id) ?? {};
        const from = confirmed.get(id) ?? 0;
        confirmed.set(id, confirmedMs);
        if (confirmedMs === lastSampleMs || confirmedMs === from) continue;
        const past = history[index] ?? [];
        const gained = (past[confirmedMs / 1e3] ?? 0) - (past[from / 1e3] ?? 0);
        largest = Math.max(largest, Math.abs(gained / ((confirmedMs - from) / 1e3) - rate));
      }
    }
    return {
      pruned: ids.reduce((sum, id) => sum + (sampler.state(id)?.prunedTotal ?? 0), 0),
      reads,
      largest,
    };
  }

  it("never hides a movement above the tolerance of counters that sum up", () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 6 }),
        fc.constantFrom(0, 0.002, 0.02, 0.5),
        (seed, children, activity) => {
          expect(run(seed, children, activity).largest).toBeLessThanOrEqual(TOLERANCE + 1e-9);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("leaves idle children unread", () => {
    const { pruned, reads } = run(3, 6, 0);
    expect(pruned).toBeGreaterThan(30);
    // 161 without a parent.
    expect(reads).toBeLessThan(155);
  });

  it("reads every child of a calm parent at least once in its longest interval", () => {
    const sampler = new Sampler();
    const signal = { kind: "counter", tolerance: TOLERANCE } as const;
    const parent = sampler.add(signal, 0);
    const children = [0.02, 0, 0.01].map((rate) => ({
      rate,
      id: sampler.add({ ...signal, parent, pruning: "sum" }, 0),
      readAt: [] as number[],
    }));
    const sum = children.reduce((all, { rate }) => all + rate, 0);
    for (let second = 0; second <= 3600; second += 1) {
      const nowMs = second * 1e3;
      for (let id = sampler.nextDue(nowMs); id !== NONE; id = sampler.nextDue(nowMs)) {
        const child = children.find((each) => each.id === id);
        child?.readAt.push(second);
        sampler.observe(id, second * (child?.rate ?? sum), nowMs);
      }
    }
    for (const { id, readAt } of children) {
      const gaps = [...readAt.slice(1), 3600].map((second, index) => second - (readAt[index] ?? 0));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(60);
      expect(sampler.state(id)?.prunedTotal).toBeGreaterThan(0);
    }
  });

  it("leaves a child unread for as long as pressure that stands still proves it", () => {
    const sampler = new Sampler();
    const signal = { kind: "counter", tolerance: TOLERANCE } as const;
    const parent = sampler.add(signal, 0);
    const child = sampler.add({ ...signal, parent, pruning: "zero" }, 0);
    for (let second = 0; second <= 3600; second += 1) {
      const nowMs = second * 1e3;
      for (let id = sampler.nextDue(nowMs); id !== NONE; id = sampler.nextDue(nowMs)) {
        sampler.observe(id, 7, nowMs);
      }
    }
    expect(sampler.state(child)?.samplesTotal).toBeLessThan(5);
  });

  it("reads a due parent before its children", () => {
    const sampler = new Sampler();
    const parent = sampler.add({ kind: "counter", tolerance: 1 }, 50);
    const child = sampler.add({ kind: "counter", tolerance: 1, parent, pruning: "sum" }, 0);
    expect([sampler.nextDue(100), sampler.nextDue(100)]).toEqual([parent, child]);
  });

  it("does not believe a parent that started over in between", () => {
    const sampler = new Sampler();
    const parent = sampler.add({ kind: "counter", tolerance: 0.05, maxSeconds: 1 }, 0);
    const child = sampler.add({ kind: "counter", tolerance: 0.05, maxSeconds: 1, parent, pruning: "sum" }, 0);
    for (let second = 0; second < 4; second += 1) {
      sampler.observe(parent, 1000, second * 1e3);
      sampler.observe(child, 500, second * 1e3);
    }
    sampler.observe(parent, 2, 4000);
    sampler.observe(parent, 1000, 5000);
    expect([sampler.nextDue(5000), sampler.state(child)?.prunedTotal]).toEqual([child, 0]);
  });
});
