import { seededRng } from "@tradewind/core/values/rng.ts";
import { seasonOf } from "@tradewind/predictor/forecast/season.ts";
import { describe, expect, it } from "vitest";

const of = (length: number, load: (at: number) => number | null): (number | null)[] =>
  Array.from({ length }, (_, at) => load(at));
const wave = (at: number, period: number): number => 60 - 40 * Math.cos((2 * Math.PI * at) / period);

describe("the season of a load", () => {
  it("is found once it has been seen twice", () => {
    expect(seasonOf(of(79, (at) => wave(at, 40)))).toBeUndefined();
    expect(seasonOf(of(80, (at) => wave(at, 40)))).toBe(40);
  });

  it("is the shortest one and no multiple of it", () => {
    expect(seasonOf(of(400, (at) => wave(at, 40)))).toBe(40);
  });

  it("is the week where its days differ, and the day where they do not", () => {
    const free = (at: number): boolean => Math.floor(at / 48) % 7 >= 5;
    expect(seasonOf(of(1_008, (at) => (free(at) ? 20 : wave(at, 48))))).toBe(336);
    expect(seasonOf(of(1_008, (at) => wave(at, 48)))).toBe(48);
  });

  it("is found across a gap", () => {
    expect(seasonOf(of(200, (at) => (at > 50 && at < 70 ? null : wave(at, 40))))).toBe(40);
  });

  it("is found for short bursts that come regularly", () => {
    expect(seasonOf(of(500, (at) => (at % 120 < 10 ? 100 : 20)))).toBe(120);
  });

  it("does not exist in chance of which few steps are known, and is found in a load of which every second is", () => {
    for (const share of [0.01, 0.02, 0.05, 0.2]) {
      for (let seed = 1; seed <= 16; seed += 1) {
        const rng = seededRng(seed);
        const chance = of(720, () => (rng() < share ? 1 + 19 * rng() : null));
        expect(seasonOf(chance), `${share} known, seed ${seed}`).toBeUndefined();
      }
    }
    const rng = seededRng(1);
    expect(seasonOf(of(720, (at) => (rng() < 0.5 ? (at % 120 < 10 ? 100 : 20) : null)))).toBe(120);
  });

  it("does not exist in a steady load, a ramp or chance", () => {
    expect(seasonOf(of(300, () => 40))).toBeUndefined();
    expect(seasonOf(of(300, (at) => at))).toBeUndefined();
    for (let seed = 1; seed <= 30; seed += 1) {
      const rng = seededRng(seed);
      for (const length of [30, 100, 400]) expect(seasonOf(of(length, () => rng()))).toBeUndefined();
    }
  });
});
