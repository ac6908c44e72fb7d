import { describe, expect, it } from "vitest";
import { integralsOf, podCounts } from "./pods.ts";
import type { PodSample } from "./pods.ts";

const sample = (nowMs: number, frontend: number, backend = 1): PodSample => ({
  nowMs,
  pods: { frontend, backend },
  requestedCores: (frontend + backend) / 20,
});

const podSeconds = (...of: Parameters<typeof integralsOf>): number => integralsOf(...of).podSeconds;

describe("pod-seconds", () => {
  it("add up what each sample found until the next one", () => {
    // 2 pods for 3 s, 4 for 5 s, 3 for 2 s.
    const samples = [sample(10_000, 1), sample(13_000, 3), sample(18_000, 2)];
    expect(podSeconds(samples, 10_000, 20_000)).toBe(6 + 20 + 6);
  });

  it("hold the last count over a sample that is missing", () => {
    const complete = [0, 1, 2, 3].map((second) => sample(1_000 * second, 2));
    expect(podSeconds(complete.toSpliced(2, 1), 0, 4_000)).toBe(podSeconds(complete, 0, 4_000));
  });

  it("count the run only: its first moments as the first sample, nothing after its end", () => {
    expect(podSeconds([sample(10_400, 1), sample(19_000, 2), sample(21_000, 6)], 10_000, 20_000)).toBe(
      2 * 9 + 3 * 1,
    );
  });
});

describe("core-seconds", () => {
  it("follow what pods request, whose number may stay", () => {
    const samples = [
      { ...sample(10_000, 1), requestedCores: 0.1 },
      { ...sample(13_000, 1), requestedCores: 0.4 },
    ];
    // 0.1 of a core for 3 s, then 0.4 for 7 s, in two pods all the time.
    const { coreSeconds, podSeconds: ofPods } = integralsOf(samples, 10_000, 20_000);
    expect(ofPods).toBe(20);
    expect(coreSeconds).toBeCloseTo(3.1, 9);
  });
});

describe("the number of pods", () => {
  it("is told by its changes, from the start of the run", () => {
    const samples = [sample(10_010, 1), sample(11_010, 1), sample(62_000, 3), sample(63_000, 3)];
    expect(podCounts(samples, 10_000, ["frontend", "backend"])).toEqual({
      frontend: [
        { atSeconds: 0, pods: 1 },
        { atSeconds: 52, pods: 3 },
      ],
      backend: [{ atSeconds: 0, pods: 1 }],
    });
  });

  it("is zero of a component without any", () => {
    expect(podCounts([sample(0, 1)], 0, ["customer"])).toEqual({ customer: [{ atSeconds: 0, pods: 0 }] });
  });
});
