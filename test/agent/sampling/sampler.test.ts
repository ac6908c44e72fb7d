import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { Sampler } from "../../../agent/sampling/sampler.ts";
import { CHANNEL, NONE } from "../../../agent/sampling/signal.ts";
import type { SignalId, SignalOptions } from "../../../agent/sampling/signal.ts";

const CPU = { kind: "counter", tolerance: 0.05, channels: CHANNEL.cpu } as const;

/** Runs one counter for `seconds`; `rate` per second; returns the seconds in which it was read. */
function follow(
  sampler: Sampler,
  id: SignalId,
  seconds: number,
  rate: (second: number) => number,
  alarm: (second: number) => number = () => 0,
): number[] {
  const read: number[] = [];
  let total = 0;
  for (let second = 0; second < seconds; second += 1) {
    const nowMs = second * 1e3;
    if (alarm(second) !== 0) sampler.wake(CHANNEL.cpu, nowMs, alarm(second));
    while (sampler.nextDue(nowMs, 500) !== NONE) {
      read.push(second);
      sampler.observe(id, total, nowMs);
    }
    total += rate(second);
  }
  return read;
}

function alone(options: Partial<SignalOptions> = {}, seed = 1): { sampler: Sampler; id: SignalId } {
  const sampler = new Sampler({ rng: seededRng(seed), capacity: 1 });
  return { sampler, id: sampler.add({ ...CPU, ...options }, 0) };
}

describe("a steady signal", () => {
  it("is read ever less often, up to its longest interval", () => {
    const { sampler, id } = alone();
    const read = follow(sampler, id, 3600, () => 0.2);
    const gaps = read.slice(1).map((second, index) => second - (read[index] ?? 0));
    expect(gaps.slice(0, 2)).toEqual([1, 1]);
    expect(Math.max(...gaps)).toBeGreaterThan(50);
    expect(read.length).toBeLessThan(110);
    expect(sampler.state(id)).toMatchObject({
      intervalSeconds: 60,
      missesTotal: 0,
    });
    expect(sampler.state(id)?.rate).toBeCloseTo(0.2, 9);
  });

  it("is jittered, by no more than a tenth", () => {
    const { sampler, id } = alone();
    const read = follow(sampler, id, 7200, () => 0.2).filter((second) => second > 3600);
    const gaps = new Set(read.slice(1).map((second, index) => second - (read[index] ?? 0)));
    expect(gaps.size).toBeGreaterThan(2);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(53);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(61);
  });
});

describe("a tolerance that moves", () => {
  const wave = (second: number): number => 0.1 + (second % 40 < 20 ? 0.02 : 0);

  it("asks for as many readings as movements of that size need", () => {
    const { sampler, id } = alone();
    const wide = follow(sampler, id, 1200, wave).length;
    const narrow = alone();
    narrow.sampler.tolerate(narrow.id, 0.005);
    const read = follow(narrow.sampler, narrow.id, 1200, wave).length;
    expect([wide < 120, read > 4 * wide]).toEqual([true, true]);
    expect(sampler.state(id)?.missesTotal).toBe(0);
    expect(narrow.sampler.state(narrow.id)?.missesTotal).toBeGreaterThan(20);
  });

  it("starts with the intervals of a signal added with it", () => {
    const { sampler, id } = alone();
    sampler.tolerate(id, 0.005);
    const added = alone({ tolerance: 0.005 });
    expect(follow(sampler, id, 600, () => 0.2)).toEqual(follow(added.sampler, added.id, 600, () => 0.2));
  });

  it("is left as it was by an unknown signal and by what no tolerance can be", () => {
    const { sampler, id } = alone();
    const before = sampler.state(id);
    for (const wrong of [Number.NaN, 0, -1, Infinity]) sampler.tolerate(id, wrong);
    sampler.tolerate(id + 1, 0.5);
    expect(sampler.state(id)).toEqual(before);
  });
});

describe("a jump", () => {
  it("that a guard announces is read at once and settled a second later", () => {
    const { sampler, id } = alone();
    const read = follow(
      sampler,
      id,
      1300,
      (second) => (second < 1200 ? 0.1 : 0.9),
      (second) => (second === 1201 ? 0.8 : 0),
    );
    expect(read.filter((second) => second > 1200 && second < 1204)).toEqual([1201, 1202]);
    expect(sampler.state(id)?.rate).toBeCloseTo(0.9, 9);
  });

  it("that no guard announces is found at the next reading and settled a second later", () => {
    const { sampler, id } = alone();
    const read = follow(sampler, id, 1300, (second) => (second < 1200 ? 0.1 : 0.9));
    const [first = 0, second] = read.filter((each) => each > 1200);
    expect([first < 1270, second]).toEqual([true, first + 1]);
    expect(sampler.state(id)?.rate).toBeCloseTo(0.9, 9);
  });

  it("found late shortens the intervals for a while", () => {
    const steps = (second: number): number => (Math.floor(second / 400) % 2 === 0 ? 0.1 : 0.9);
    const blind = alone();
    const announced = alone();
    const unseen = follow(blind.sampler, blind.id, 8000, steps).length;
    const seen = follow(announced.sampler, announced.id, 8000, steps, (second) =>
      second > 1 && steps(second - 1) !== steps(second - 2) ? 0.8 : 0,
    ).length;
    expect(unseen).toBeGreaterThan(2 * seen);
  });

  it("that comes regularly is met awake without a guard's help", () => {
    const burst = (second: number): number => (second % 60 < 8 ? 0.9 : 0.1);
    const { sampler, id } = alone();
    const isOnset = (second: number): boolean => second > 1 && burst(second - 1) !== burst(second - 2);
    const read = new Set(
      follow(sampler, id, 7200, burst, (second) => (second < 1800 && isOnset(second) ? 0.8 : 0)),
    );
    const onsets = Array.from({ length: 80 }, (_, index) => 2400 + 60 * index).filter(
      (second) => second < 7140,
    );
    expect(onsets.every((second) => read.has(second) && read.has(second + 1))).toBe(true);
    expect(read.size / 7200).toBeLessThan(0.35);
  });

  it("of a neighbour costs one reading, not two", () => {
    const { sampler, id } = alone();
    const read = follow(
      sampler,
      id,
      1300,
      () => 0.1,
      (second) => (second === 1205 ? 1 : 0),
    );
    expect(read.filter((second) => second >= 1204 && second < 1208)).toEqual([1205]);
  });
});

describe("noise", () => {
  it("above the tolerance raises the tolerance in force instead of pinning the signal to its shortest interval", () => {
    const rng = seededRng(8);
    const { sampler, id } = alone();
    const read = follow(sampler, id, 20_000, () => 1 + 0.15 * standardNormal(rng));
    const state = sampler.state(id);
    expect(state?.toleranceInForce).toBeGreaterThan(0.06);
    expect(read.length).toBeLessThan(8000);
  });
});

describe("a gauge", () => {
  it("is held by its level", () => {
    const { sampler, id } = alone({ kind: "gauge", tolerance: 10 });
    let read = 0;
    for (let second = 0; second < 1000; second += 1) {
      while (sampler.nextDue(second * 1e3, 500) !== NONE) {
        sampler.observe(id, second < 900 ? 500 : 800, second * 1e3);
        read += 1;
      }
    }
    expect(sampler.state(id)).toMatchObject({ rate: 800, missesTotal: 1 });
    expect(read).toBeLessThan(80);
  });
});

describe("readings that cannot be used", () => {
  it("start a counter over when it was reset, without a rate across the reset", () => {
    const { sampler, id } = alone();
    sampler.observe(id, 100, 0);
    sampler.observe(id, 101, 1000);
    sampler.observe(id, 3, 2000);
    expect(sampler.state(id)).toMatchObject({ resetsTotal: 1, lastSampleMs: 2000 });
    expect(sampler.state(id)).not.toHaveProperty("rate");
    sampler.observe(id, 5, 3000);
    expect(sampler.state(id)?.rate).toBe(2);
  });

  it("are counted and leave the held rate alone", () => {
    const { sampler, id } = alone();
    sampler.observe(id, 100, 0);
    sampler.observe(id, 101, 1000);
    for (const value of [Number.NaN, Infinity, -Infinity, 1e300]) sampler.observe(id, value, 2000);
    sampler.observe(id, 102, 1000);
    sampler.observe(id, 102, Number.NaN);
    sampler.failed(id, 2000);
    expect(sampler.state(id)).toMatchObject({ rate: 1, rejectedTotal: 7, samplesTotal: 2 });
  });

  it("begin again when the clock steps back", () => {
    const { sampler, id } = alone();
    sampler.observe(id, 100, 50_000);
    sampler.observe(id, 101, 51_000);
    sampler.observe(id, 102, 1000);
    sampler.observe(id, 104, 2000);
    expect(sampler.state(id)).toMatchObject({ rate: 2, lastSampleMs: 2000 });
  });

  it("never drive an interval out of its bounds or a state to NaN", () => {
    const time = fc.oneof(fc.double(), fc.integer({ min: 0, max: 1e6 }), fc.constantFrom(0, 1000, 1001, 5e5));
    const value = fc.oneof(
      fc.double(),
      fc.integer({ min: 0, max: 1e4 }),
      fc.constantFrom(0, Infinity, Number.NaN),
    );
    const bounds = fc.constantFrom<[number, number]>([1, 60], [0.25, 0.25], [5, 5.1], [1e-3, 1e6]);
    const kind = fc.constantFrom("counter" as const, "gauge" as const);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(value, time, fc.boolean())),
        bounds,
        kind,
        (readings, [low, high], of) => {
          const { sampler, id } = alone({ kind: of, minSeconds: low, maxSeconds: high });
          let nowMs = 0;
          for (const [read, next, isRelative] of readings) {
            nowMs = isRelative ? nowMs + Math.abs(next) : next;
            if (isRelative) sampler.wake(CHANNEL.cpu, nowMs, read);
            const before = sampler.state(id)?.samplesTotal ?? 0;
            const due = sampler.observe(id, read, nowMs);
            const state = sampler.state(id);
            expect(state?.intervalSeconds).toBeGreaterThanOrEqual(low);
            expect(state?.intervalSeconds).toBeLessThanOrEqual(high);
            expect(Object.values(state ?? {})).toSatisfy((all: number[]) => all.every(Number.isFinite));
            const isTaken = state?.samplesTotal !== before;
            const slackMs = isTaken ? 1e-3 + Math.abs(nowMs) * 1e-12 : 0;
            const waits = isTaken ? due - nowMs : low * 1e3;
            expect(waits).toBeGreaterThanOrEqual(low * 1e3 - slackMs);
            expect(waits).toBeLessThanOrEqual(high * 1e3 + slackMs);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("signals coming and going", () => {
  it("hands a signal out again when it was never observed", () => {
    const { sampler, id } = alone();
    expect([sampler.nextDue(0), sampler.nextDue(0)]).toEqual([id, NONE]);
    expect(sampler.nextDue(1000)).toBe(id);
  });

  it("forgets removed ones and uses their place again, clean", () => {
    const { sampler, id } = alone();
    follow(sampler, id, 100, () => 3);
    sampler.remove(id);
    expect([sampler.has(id), sampler.state(id), sampler.nextDueMs()]).toEqual([false, undefined, Infinity]);
    expect(sampler.observe(id, 5, 200_000)).toBe(Infinity);
    const again = sampler.add(CPU, 200_000);
    expect(again).toBe(id);
    expect(sampler.state(again)).toMatchObject({ samplesTotal: 0, intervalSeconds: 1 });
  });

  it("stays the size of what lives through any churn of a tree", () => {
    const sampler = new Sampler({ rng: seededRng(4), capacity: 1 });
    const rng = seededRng(5);
    const pods: { parent: SignalId; children: SignalId[] }[] = [];
    for (let step = 0; step < 3000; step += 1) {
      if (pods.length < 20 || rng() < 0.5) {
        const parent = sampler.add(CPU, step * 100);
        const children = [1, 2, 3].map(() => sampler.add({ ...CPU, parent, pruning: "sum" }, step * 100));
        pods.push({ parent, children });
      } else {
        const [pod] = pods.splice(Math.floor(rng() * pods.length), 1);
        const order = [...(pod?.children ?? []), pod?.parent ?? NONE];
        for (const id of rng() < 0.5 ? order : order.toReversed()) sampler.remove(id);
      }
      if (pods.length > 40)
        for (const id of pods.splice(0, 30).flatMap((p) => p.children.concat(p.parent))) sampler.remove(id);
      sampler.wake(CHANNEL.cpu, step * 100, 1);
      for (let id = sampler.nextDue(step * 100); id !== NONE; id = sampler.nextDue(step * 100)) {
        sampler.observe(id, step, step * 100);
      }
      expect(sampler.totals().signals).toBe(pods.length * 4);
    }
    expect(Math.max(...pods.flatMap((p) => p.children.concat(p.parent)))).toBeLessThan(200);
  });

  it("refuses options out of range", () => {
    const sampler = new Sampler({ rng: seededRng(1) });
    const add = (options: Partial<SignalOptions>) => () => sampler.add({ ...CPU, ...options }, 0);
    expect(add({ tolerance: 0 })).toThrow(/tolerance/);
    expect(add({ maxSeconds: 0.5 })).toThrow(/maxSeconds 0.5 is below minSeconds 1/);
    expect(add({ missTarget: 0.9 })).toThrow(/missTarget/);
    expect(add({ costSeconds: -1 })).toThrow(/costSeconds/);
    expect(add({ parent: 77 })).toThrow(/add parents first/);
    expect(() => new Sampler({ rng: seededRng(1), costBudgetRatio: 0 })).toThrow(/costBudgetRatio/);
  });
});

describe("the cost budget", () => {
  it("holds what is planned to it, and says whose tolerance it raised", () => {
    const sampler = new Sampler({ rng: seededRng(1), costBudgetRatio: 0.001 });
    const rng = seededRng(2);
    const ids = Array.from({ length: 200 }, () => sampler.add(CPU, 0));
    const totals = ids.map(() => 0);
    let spent = 0;
    for (let second = 0; second < 600; second += 1) {
      for (const index of totals.keys())
        totals[index] = (totals[index] ?? 0) + Math.max(0, 1 + standardNormal(rng));
      for (
        let id = sampler.nextDue(second * 1e3, 500);
        id !== NONE;
        id = sampler.nextDue(second * 1e3, 500)
      ) {
        sampler.observe(id, totals[id] ?? 0, second * 1e3, 20e-6);
        if (second >= 60) spent += 20e-6;
      }
      sampler.rebalance();
      expect(sampler.totals().plannedCostRatio).toBeLessThanOrEqual(0.001);
    }
    expect(spent / 540).toBeLessThan(0.0012);
    expect(sampler.totals().stretchedSignals).toBe(200);
    expect(sampler.state(ids[0] ?? NONE)?.toleranceInForce).toBeGreaterThan(0.05);
  });

  it("raises nothing while the reads fit", () => {
    const { sampler, id } = alone();
    follow(sampler, id, 100, () => 0.1);
    sampler.rebalance();
    expect(sampler.totals()).toMatchObject({ signals: 1, stretchedSignals: 0 });
  });
});

it("gives the same reads for the same seed", () => {
  const run = (seed: number): number[] => {
    const rng = seededRng(3);
    const { sampler, id } = alone({}, seed);
    return follow(sampler, id, 3000, () => 0.5 + 0.05 * standardNormal(rng));
  };
  expect(run(1)).toEqual(run(1));
  expect(run(1)).not.toEqual(run(2));
});
