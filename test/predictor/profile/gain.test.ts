import { INPUT_COUNT } from "@tradewind/predictor/profile/inputs.ts";
import {
  capacityExchangeRate,
  fungibleUnits,
  horizontalGainSeconds,
  verticalGainSeconds,
} from "@tradewind/predictor/profile/gain.ts";
import { PriorProfile } from "@tradewind/predictor/profile/prior-profile.ts";
import { describe, expect, it } from "vitest";

const gradient = new Float64Array(INPUT_COUNT);
// -0.05 s per core, -1e-11 s per byte, 0.001 s per request per second
gradient.set([-0.05, -1e-11, 0.001]);

describe("vertical gain (Grad Eq. 2)", () => {
  it("0.2 cores shared by 4 containers at -50 ms per core saves 2.5 ms", () => {
    expect(verticalGainSeconds(gradient, { cpuCores: 0.2, memoryBytes: 0 }, 4)).toBeCloseTo(-0.0025, 12);
  });
  it("100 MB for one container at -10 ns per kB saves 1 ms", () => {
    expect(verticalGainSeconds(gradient, { cpuCores: 0, memoryBytes: 1e8 }, 1)).toBeCloseTo(-0.001, 12);
  });
});

describe("horizontal gain (Grad Eq. 3)", () => {
  it("one container more for 120 requests a second on 2 takes each from 60 to 40: saves 20 ms", () => {
    expect(horizontalGainSeconds(gradient, 120, 2, 1.5, 1.5)).toBeCloseTo(-0.02, 12);
  });
  it("taking back the last container is no move", () => {
    expect(horizontalGainSeconds(gradient, 120, 1, -1.5, 1.5)).toBe(0);
  });
});

it("2,000 cores and 8,000 GB make 2 cores worth 8 GB (Grad §IV-B)", () => {
  const rate = capacityExchangeRate(2_000, 8e12);
  expect(fungibleUnits({ cpuCores: 2, memoryBytes: 0 }, rate)).toBeCloseTo(2, 12);
  expect(fungibleUnits({ cpuCores: 0, memoryBytes: 8e9 }, rate)).toBeCloseTo(2, 12);
});

it("both come near the true change for a small step", () => {
  const profile = new PriorProfile({ cpuSecondsPerRequest: 0.004, baseSeconds: 0.012 });
  const at = (cores: number, load: number, out?: Float64Array): number =>
    profile.evaluate(Float64Array.of(cores, 0, load, 0, 0, 0, 0, Number.NaN, Number.NaN), out);
  const slopes = new Float64Array(INPUT_COUNT);
  const now = at(0.5, 60, slopes);
  const vertical = verticalGainSeconds(slopes, { cpuCores: 0.01, memoryBytes: 0 }, 10);
  expect(vertical / (at(0.501, 60) - now)).toBeCloseTo(1, 1);
  const horizontal = horizontalGainSeconds(slopes, 60_000, 1_000, 1, 1);
  expect(horizontal / (at(0.5, 60_000 / 1_001) - now)).toBeCloseTo(1, 1);
});
