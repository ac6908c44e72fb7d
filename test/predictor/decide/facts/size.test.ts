import { containerSize, roundedUp } from "@tradewind/predictor/decide/facts/size.ts";
import { describe, expect, it } from "vitest";

describe("roundedUp", () => {
  it.each([
    { value: 0.3, step: 0.1, multiple: 0.3 },
    { value: 0.31, step: 0.1, multiple: 0.4 },
    { value: 10 * 0.1, step: 0.1, multiple: 1 },
    { value: 0, step: 0.1, multiple: 0 },
  ])("makes $value a multiple of $step: $multiple", ({ multiple, step, value }) => {
    expect(roundedUp(value, step)).toBeCloseTo(multiple, 12);
  });
});

describe("containerSize", () => {
  it("is the mean over the containers, of limits before requests", () => {
    const containers = [
      { id: "a", cpuLimitCores: 1, cpuRequestCores: 0.2, memoryLimitBytes: 3e8 },
      { id: "b", cpuRequestCores: 0.5, memoryRequestBytes: 1e8 },
    ];
    expect(containerSize({ containers })).toEqual({ cpuCores: 0.75, memoryBytes: 2e8 });
  });

  it("takes a request of zero for none", () => {
    const zero = { cpuRequestCores: 0, memoryRequestBytes: 0 };
    expect(containerSize({ containers: [{ id: "a", ...zero }] })).toBeUndefined();
    const limited = { id: "b", ...zero, cpuLimitCores: 1, memoryLimitBytes: 1e8 };
    expect(containerSize({ containers: [{ id: "a", ...zero }, limited] })).toEqual({
      cpuCores: 1,
      memoryBytes: 1e8,
    });
  });

  it("is unknown where no CPU is allocated, and has no memory where none is", () => {
    expect(containerSize({ containers: [{ id: "a", memoryLimitBytes: 1e8 }] })).toBeUndefined();
    expect(containerSize({ containers: [{ id: "a", cpuLimitCores: 1 }] })).toEqual({
      cpuCores: 1,
      memoryBytes: 0,
    });
  });
});
