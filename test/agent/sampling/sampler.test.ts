import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Terms } from "../../../agent/sampling/learn.ts";
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
  alarm: (second: number) => boolean = () => false,
): number[] {
  const read: number[] = [];
  let total = 0;
  for (let second = 0; second < seconds; second += 1) {
    const nowMs = second * 1e3;
    if (alarm(second)) sampler.wake(CHANNEL.cpu, nowMs);
    while (sampler.nextDue(nowMs, 500) !== NONE) {
      read.push(second);
      sampler.observe(id, total, nowMs);
    }
    total += rate(second);
  }
  return read;
}

/** Moments are at the last second of every 15 s. */
function alone(options: Partial<SignalOptions> = {}): { sampler: Sampler; id: SignalId } {
  const sampler = new Sampler({ capacity: 1 });
  sampler.align(-1e3);
  return { sampler, id: sampler.add({ ...CPU, ...options }, 0) };
}

function gapsOf(read: readonly number[]): number[] {
  return read.slice(1).map((second, index) => second - (read[index] ?? 0));
}

describe("a steady signal", () => {
  it("is read in the last second of windows, and of ever fewer of them", () => {
    const { sampler, id } = alone();
    const read = follow(sampler, id, 3600, () => 0.2);
    expect(read.slice(0, 5)).toEqual([0, 1, 14, 29, 44]);
    expect(read.slice(2).every((second) => second % 15 === 14)).toBe(true);
    expect(Math.max(...gapsOf(read))).toBe(60);
    expect(read.length).toBeLessThan(75);
    expect(sampler.state(id)).toMatchObject({ intervalSeconds: 60, missesTotal: 0 });
    expect(sampler.state(id)?.rate).toBeCloseTo(0.2, 9);
  });

  it("is read by the windows that it is told of, from the next reading on", () => {
    const sampler = new Sampler({ capacity: 1, terms: { windowSeconds: 5 } });
    const id = sampler.add({ ...CPU, maxSeconds: 5 }, 0);
    sampler.align(3_000);
    expect(follow(sampler, id, 60, () => 0.2).slice(2, 6)).toEqual([3, 8, 13, 18]);
    sampler.align(61_000);
    sampler.observe(id, 12.2, 61_000);
    expect(sampler.state(id)?.dueMs).toBe(66_000);
  });
});

describe("a tolerance that moves", () => {
  const wave = (second: number): number => 0.1 + (second % 40 < 20 ? 0.02 : 0);

  it("asks for a reading of every window where movements of that size matter", () => {
    const { sampler, id } = alone();
    const wide = follow(sampler, id, 1200, wave).length;
    const narrow = alone();
    narrow.sampler.tolerate(narrow.id, 0.005);
    const read = follow(narrow.sampler, narrow.id, 1200, wave).length;
    expect([wide < 40, read > 75]).toEqual([true, true]);
    expect(sampler.state(id)?.missesTotal).toBe(0);
    expect(narrow.sampler.state(narrow.id)?.missesTotal).toBeGreaterThan(20);
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
      (second) => (second < 1205 ? 0.1 : 0.9),
      (second) => second === 1206,
    );
    expect(read.filter((second) => second > 1205 && second < 1214)).toEqual([1206, 1207]);
    expect(sampler.state(id)?.rate).toBeCloseTo(0.9, 9);
  });

  it("that no guard announces is found at the next reading and settled a second later", () => {
    const { sampler, id } = alone();
    const read = follow(sampler, id, 1300, (second) => (second < 1200 ? 0.1 : 0.9));
    const [first = 0, second] = read.filter((each) => each > 1200);
    expect([first < 1270, second]).toEqual([true, first + 1]);
    expect(sampler.state(id)?.rate).toBeCloseTo(0.9, 9);
  });

  it("found late leaves fewer windows unread for a while", () => {
    const steps = (second: number): number => (Math.floor(second / 400) % 2 === 0 ? 0.1 : 0.9);
    const blind = alone();
    const calm = alone();
    const unseen = follow(blind.sampler, blind.id, 8000, steps).length;
    const steady = follow(calm.sampler, calm.id, 8000, () => 0.1).length;
    expect(unseen).toBeGreaterThan(2 * steady);
    expect(blind.sampler.state(blind.id)?.intervalSeconds).toBeLessThan(60);
  });

  it("just before a window ends still leaves a reading at its end", () => {
    const { sampler, id } = alone();
    const read = follow(
      sampler,
      id,
      1300,
      (second) => (second < 1211 ? 0.1 : 0.9),
      (second) => second === 1212,
    );
    expect(read.filter((second) => second > 1210 && second < 1216)).toEqual([1212, 1213, 1214]);
  });

  it("of a neighbour costs one reading, not two", () => {
    const { sampler, id } = alone();
    const read = follow(
      sampler,
      id,
      1300,
      () => 0.1,
      (second) => second === 1205,
    );
    expect(read.filter((second) => second >= 1204 && second < 1208)).toEqual([1205]);
  });
});

describe("alarms of a guard", () => {
  const noisy = (rng: () => number) => (): number => Math.max(0, 0.5 + 0.15 * standardNormal(rng));
  const alarm = (second: number): boolean => second % 15 === 7;

  it("read a signal at once, however seldom it jumped with them before", () => {
    const { sampler, id } = alone();
    const read = follow(sampler, id, 20_000, noisy(seededRng(8)), alarm);
    const announced = read.filter((second) => second > 10_000 && second % 15 === 7);
    expect(announced).toHaveLength(Math.floor(10_000 / 15));
  });

  it("that are rare leave a calm signal's other windows unread", () => {
    const { sampler, id } = alone();
    const rare = (second: number): boolean => second % 200 === 7;
    const read = follow(sampler, id, 40_000, () => 0.2, rare).filter((second) => second > 30_000);
    expect(read.filter((second) => second % 200 === 7).length).toBe(50);
    expect(Math.max(...gapsOf(read))).toBe(60);
  });
});

describe("noise", () => {
  it("above the tolerance leaves one reading a window: it does not last as long as a window", () => {
    const rng = seededRng(8);
    const { sampler, id } = alone();
    const read = follow(sampler, id, 20_000, () => 1 + 0.15 * standardNormal(rng));
    expect(read.length).toBeLessThan(20_000 / 15 + 200);
    expect(read.filter((second) => second % 15 === 14).length).toBe(Math.floor(20_000 / 15));
  });
});

it("a signal that wanders by more than the tolerance in a minute is not left unread for looking calm by chance", () => {
  const unread = (terms: Partial<Terms>): number => {
    const gaps = Array.from({ length: 30 }, (_, seed) => {
      const rng = seededRng(seed);
      const sampler = new Sampler({ capacity: 1, terms });
      sampler.align(-1e3);
      let rate = 1;
      return gapsOf(
        follow(sampler, sampler.add(CPU, 0), 600, () => {
          rate += 0.008 * standardNormal(rng);
          return rate;
        }),
      );
    }).flat();
    return gaps.filter((gap) => gap > 15).length / gaps.length;
  };
  expect(unread({})).toBeLessThan(0.01);
  expect(unread({ holdErrors: 0 })).toBeGreaterThan(0.02);
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
    expect(read).toBeLessThan(40);
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
            if (isRelative) sampler.wake(CHANNEL.cpu, nowMs);
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

  it("stays the size of what lives through any churn", () => {
    const sampler = new Sampler({ capacity: 1 });
    const rng = seededRng(5);
    const pods: SignalId[][] = [];
    for (let step = 0; step < 3000; step += 1) {
      if (pods.length < 20 || rng() < 0.5) {
        pods.push([1, 2, 3, 4].map(() => sampler.add(CPU, step * 100)));
      } else {
        const [order = []] = pods.splice(Math.floor(rng() * pods.length), 1);
        for (const id of rng() < 0.5 ? order : order.toReversed()) sampler.remove(id);
      }
      if (pods.length > 40) for (const id of pods.splice(0, 30).flat()) sampler.remove(id);
      sampler.wake(CHANNEL.cpu, step * 100);
      for (let id = sampler.nextDue(step * 100); id !== NONE; id = sampler.nextDue(step * 100)) {
        sampler.observe(id, step, step * 100);
      }
      expect(sampler.totals().signals).toBe(pods.length * 4);
    }
    expect(Math.max(...pods.flat())).toBeLessThan(200);
  });

  it("refuses options out of range", () => {
    const sampler = new Sampler();
    const add = (options: Partial<SignalOptions>) => () => sampler.add({ ...CPU, ...options }, 0);
    expect(add({ tolerance: 0 })).toThrow(/tolerance/);
    expect(add({ maxSeconds: 0.5 })).toThrow(/maxSeconds 0.5 is below minSeconds 1/);
    expect(add({ costSeconds: -1 })).toThrow(/costSeconds/);
    expect(() => new Sampler({ costBudgetRatio: 0 })).toThrow(/costBudgetRatio/);
    expect(() => new Sampler({ terms: { windowSeconds: 0 } })).toThrow(/windowSeconds/);
  });
});

describe("the cost budget", () => {
  it("holds what is planned to it, and says whose tolerance it raised", () => {
    const sampler = new Sampler({ costBudgetRatio: 0.0002 });
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
      expect(sampler.totals().plannedCostRatio).toBeLessThanOrEqual(0.0002);
    }
    expect(spent / 540).toBeLessThan(0.00024);
    expect(sampler.totals().stretchedSignals).toBe(200);
    expect(sampler.state(ids[0] ?? NONE)?.toleranceInForce).toBeGreaterThan(0.05);
  });

  /** A guard that is read every second, and 20 containers that were read three times, at the last moment of a window. */
  function guarded(): { sampler: Sampler; guard: SignalId; containers: SignalId[] } {
    const sampler = new Sampler();
    sampler.align(-1e3);
    const guard = sampler.add({ kind: "counter", tolerance: 0.1, minSeconds: 1, maxSeconds: 1 }, 0);
    const containers = Array.from({ length: 20 }, () => sampler.add(CPU, 0));
    for (const second of [0, 14, 29])
      for (const id of containers) sampler.observe(id, second * 0.1, second * 1e3);
    return { sampler, guard, containers };
  }

  it("is not spent by one read of a guard that is held up for 100 ms: containers keep their interval and hear alarms", () => {
    const { sampler, guard, containers } = guarded();
    sampler.observe(guard, 1, 29_000, 0.1);
    sampler.rebalance();
    expect(sampler.state(guard)?.costSecondsTotal).toBe(0.1);
    expect(sampler.totals().stretchedSignals).toBe(0);
    for (const id of containers) sampler.observe(id, 4.4, 44_000);
    for (const id of containers) expect(sampler.state(id)?.intervalSeconds).toBe(15);
    sampler.wake(CHANNEL.cpu, 44_500);
    for (const id of containers) expect(sampler.state(id)?.dueMs).toBeLessThanOrEqual(46_500);
  });

  it("of which guards cost more than all leaves half of it to the others, who still hear alarms", () => {
    const { sampler, guard, containers } = guarded();
    for (let second = 0; second < 29; second += 1) sampler.observe(guard, second, second * 1e3, 0.02);
    sampler.rebalance();
    const guards = sampler.totals().plannedCostRatio;
    expect(guards).toBeGreaterThan(3 * 0.005);
    expect(sampler.totals().stretchedSignals).toBe(0);
    for (const id of containers)
      for (let second = 30; second < 44; second += 1) sampler.observe(id, second * 0.1, second * 1e3, 0.004);
    sampler.rebalance();
    expect(sampler.totals().stretchedSignals).toBe(20);
    expect(sampler.totals().plannedCostRatio - guards).toBeLessThanOrEqual(0.0025);
    sampler.wake(CHANNEL.cpu, 44_000);
    for (const id of containers) expect(sampler.state(id)?.dueMs).toBeLessThanOrEqual(45_000);
  });

  it("learns a cost that lasts, however far from what was guessed", () => {
    const sampler = new Sampler();
    const id = sampler.add({ ...CPU, maxSeconds: 15 }, 0);
    for (let second = 0; second < 60; second += 1) sampler.observe(id, second, second * 1e3, 0.1);
    expect(sampler.totals().plannedCostRatio).toBeGreaterThan(0.09 / 15);
  });

  it("raises nothing while the reads fit", () => {
    const { sampler, id } = alone();
    follow(sampler, id, 100, () => 0.1);
    sampler.rebalance();
    expect(sampler.totals()).toMatchObject({ signals: 1, stretchedSignals: 0 });
  });
});

describe("a signal that a reader asks for", () => {
  it("is read at least so often until the time is over, and as before afterwards", () => {
    const { id, sampler } = alone();
    follow(sampler, id, 600, () => 0.2);
    const [fromMs, untilMs] = [600e3, 720e3];
    expect(sampler.hasten(id, 2, untilMs, fromMs)).toBe(true);
    const read: number[] = [];
    for (let second = 600; second < 1_200; second += 1)
      while (sampler.nextDue(1e3 * second, 500) !== NONE) {
        read.push(second);
        sampler.observe(id, 0.2 * second, 1e3 * second);
      }
    const gaps = (from: number, to: number) => gapsOf(read.filter((second) => second >= from && second < to));
    expect(Math.max(...gaps(602, 720))).toBe(2);
    expect(Math.min(...gaps(800, 1_200))).toBeGreaterThanOrEqual(15);
  });

  it("is read no more often than its shortest interval, nor where what is asked for is no time", () => {
    const { id, sampler } = alone({ minSeconds: 5 });
    follow(sampler, id, 600, () => 0.2);
    for (const seconds of [0, -1, Number.NaN]) expect(sampler.hasten(id, seconds, 9e5, 6e5)).toBe(false);
    expect(sampler.hasten(id, 1, Number.NaN, 6e5)).toBe(false);
    sampler.hasten(id, 1, 9e5, 6e5);
    expect(sampler.state(id)?.intervalSeconds).toBe(5);
    expect(sampler.hasten(id, 1, 9.1e5, 6.1e5)).toBe(false);
    expect(sampler.hasten(id + 7, 1, 9e5, 6e5)).toBe(false);
  });

  it("costs no more with all others than the budget", () => {
    const sampler = new Sampler({ capacity: 100, costBudgetRatio: 0.001 });
    const ids = Array.from({ length: 100 }, () => sampler.add({ ...CPU, costSeconds: 1e-4 }, 0));
    for (const id of ids) for (const second of [0, 15, 30]) sampler.observe(id, second, 1e3 * second, 1e-4);
    for (const id of ids.slice(0, 50)) sampler.hasten(id, 1, 90e3, 31e3);
    sampler.rebalance();
    const { costBudgetRatio, plannedCostRatio } = sampler.totals();
    expect(plannedCostRatio).toBeLessThanOrEqual(1.02 * costBudgetRatio);
  });
});
