import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ContainerRates } from "@tradewind/predictor/sources/container-rates.ts";
import type { MeasurementDrop } from "@tradewind/predictor/sources/container-rates.ts";
import { atOnce, snapshot } from "./snapshots.ts";
import type { ContainerFacts } from "./snapshots.ts";

const T = 1_750_000_000_000;
/** The agent's clock is hours behind ours. */
const AGENT = T - 10_000_000;

function rates(maxContainers = 10): { rates: ContainerRates; drops: MeasurementDrop[] } {
  const drops: MeasurementDrop[] = [];
  return {
    drops,
    rates: new ContainerRates({ keepSeconds: 40, maxContainers, onDrop: (reason) => drops.push(reason) }),
  };
}

/** A reading `seconds` after T. */
function at(seconds: number, cpu: ContainerFacts["cpu"], more: Partial<ContainerFacts> = {}): ContainerFacts {
  return { id: "c1", sampledAtMs: AGENT + seconds * 1e3, ...(cpu && { cpu }), ...more };
}

describe("use of a container over a window", () => {
  it("is the rise of the counter between the window's ends, read between readings, on our clock", () => {
    const { rates: sut } = rates();
    // 0.5 cores until second 10, 1.5 cores after; readings do not fall on the window's ends.
    for (const [seconds, used] of [
      [-3, 0],
      [2, 2.5],
      [7, 5],
      [10, 6.5],
      [14, 12.5],
      [18, 18.5],
    ] as const) {
      sut.record("a", snapshot([at(seconds, { usageSecondsTotal: used })]), atOnce(T + seconds * 1e3));
    }
    // From 1.5 at second 0 to 14 at second 15.
    expect(sut.over(T, T + 15_000).get("c1")?.cpuUsageCores).toBeCloseTo((14 - 1.5) / 15, 9);
  });

  it("has the bytes that it read from disks and wrote, each second", () => {
    const { rates: sut } = rates();
    for (const seconds of [0, 5, 10, 15]) {
      const io = { readBytesTotal: 1e6 * seconds, writtenBytesTotal: 7e6 + 2e6 * seconds };
      sut.record("a", snapshot([at(seconds, {}, { io })]), atOnce(T + seconds * 1e3));
    }
    expect(sut.over(T, T + 15_000).get("c1")?.diskBytesPerSecond).toBeCloseTo(3e6, 3);
  });

  it("takes the age that the agent states into account", () => {
    const { rates: sut } = rates();
    for (const seconds of [0, 5, 10, 15]) {
      const facts = at(seconds, { usageSecondsTotal: seconds }, { ageSeconds: 4 });
      sut.record("a", snapshot([facts]), atOnce(T + seconds * 1e3 + 4_000));
    }
    expect(sut.over(T, T + 15_000).get("c1")?.cpuUsageCores).toBeCloseTo(1, 9);
    expect(sut.over(T + 16_000, T + 31_000).get("c1")).toBeUndefined();
  });

  it("does not depend on how long the agent's answers take, nor on which way takes the time", () => {
    const way = fc.integer({ min: 0, max: 1_000 });
    fc.assert(
      fc.property(fc.array(fc.tuple(way, way), { minLength: 12, maxLength: 12 }), (ways) => {
        const { rates: sut } = rates();
        for (const [index, [thereMs, backMs]] of ways.entries()) {
          const readMs = T + (index - 2) * 2_000;
          const facts = at(2 * (index - 2), { usageSecondsTotal: index });
          sut.record("a", snapshot([facts]), { askedAtMs: readMs - thereMs, answeredAtMs: readMs + backMs });
        }
        expect(sut.over(T + 12_000, T + 14_000).get("c1")?.cpuUsageCores).toBeCloseTo(0.5, 9);
      }),
    );
  });

  it("counts throttled periods over all periods", () => {
    const { rates: sut } = rates();
    for (const seconds of [0, 5, 10, 14]) {
      const cpu = { periodsTotal: seconds * 10, throttledPeriodsTotal: seconds * 3 };
      sut.record("a", snapshot([at(seconds, cpu)]), atOnce(T + seconds * 1e3));
    }
    expect(sut.over(T, T + 15_000).get("c1")?.cpuThrottledRatio).toBeCloseTo(0.3, 9);
  });

  it("falls back to the agent's own last mean when readings cover too little, else is absent", () => {
    const { rates: sut } = rates();
    sut.record("a", snapshot([at(12, { usageSecondsTotal: 5, usageCores: 0.7 })]), atOnce(T + 12_000));
    sut.record("b", snapshot([at(12, { usageSecondsTotal: 5 }, { id: "c2" })]), atOnce(T + 12_000));
    const uses = sut.over(T, T + 15_000);
    expect(uses.get("c1")?.cpuUsageCores).toBe(0.7);
    expect(uses.get("c2")).toMatchObject({ memoryWorkingSetBytes: 50e6 });
    expect(uses.get("c2")).not.toHaveProperty("cpuUsageCores");
  });

  it("forms no rate across a counter that went back", () => {
    const { rates: sut, drops } = rates();
    for (const [seconds, used] of [
      [0, 100],
      [5, 105],
      [10, 1],
      [14, 3],
    ] as const) {
      sut.record("a", snapshot([at(seconds, { usageSecondsTotal: used })]), atOnce(T + seconds * 1e3));
    }
    expect(drops).toEqual(["reset"]);
    expect(sut.over(T, T + 15_000).get("c1")?.cpuUsageCores).toBeCloseTo(0.5, 9);
    expect(sut.over(T + 8_000, T + 16_000).get("c1")?.cpuUsageCores).toBeCloseTo(0.5, 9);
  });

  it("forms no rate across a restart of the agent", () => {
    const { rates: sut } = rates();
    for (const [seconds, started] of [
      [0, 1],
      [7, 1],
      [8, 2],
      [14, 2],
    ] as const) {
      const facts = at(seconds, { usageSecondsTotal: 10 * seconds });
      sut.record("a", snapshot([facts], { agentStartedAtMs: started }), atOnce(T + seconds * 1e3));
    }
    expect(sut.over(T, T + 15_000).get("c1")).not.toHaveProperty("cpuUsageCores");
  });

  it.each([
    ["back", 100],
    ["forward", -100],
  ])("forms no rate across a step of our own clock %s", (_direction, offset) => {
    const { rates: sut, drops } = rates();
    sut.record("a", snapshot([at(0, { usageSecondsTotal: 0 })]), atOnce(T + offset * 1e3));
    sut.record("a", snapshot([at(1, { usageSecondsTotal: 1 })]), atOnce(T + 1_000));
    sut.record("a", snapshot([at(14, { usageSecondsTotal: 14 })]), atOnce(T + 14_000));
    expect(drops).toEqual(["reset"]);
    expect(sut.over(T, T + 15_000).get("c1")?.cpuUsageCores).toBeCloseTo(1, 9);
  });

  it("drops a use that the node cannot have", () => {
    const { rates: sut, drops } = rates();
    for (const seconds of [0, 14]) {
      sut.record(
        "a",
        snapshot([at(seconds, { usageSecondsTotal: 1_000 * seconds })]),
        atOnce(T + seconds * 1e3),
      );
    }
    expect(sut.over(T, T + 15_000).get("c1")).not.toHaveProperty("cpuUsageCores");
    expect(drops).toEqual(["implausible"]);
  });

  it("counts each kill for lack of memory in the one window in which it was read", () => {
    const { rates: known } = rates();
    const kills: (number | undefined)[] = [];
    for (const [seconds, oomKillsTotal] of [
      [-1, 3],
      [6, 3],
      [14, 5],
      [21, 5],
      [29, 6],
      [44, 6],
    ] as const) {
      known.record("a", snapshot([at(seconds, {}, { oomKillsTotal })]), atOnce(T + seconds * 1e3));
      const startMs = T + 15e3 * Math.floor(seconds / 15);
      if (seconds % 15 === 14) kills.push(known.over(startMs, startMs + 15e3).get("c1")?.oomKills);
    }
    expect(kills).toEqual([2, 1, 0]);
  });

  it("knows of no kills where the counter was not read before the window", () => {
    const { rates: known } = rates();
    known.record("a", snapshot([at(3, {}, { oomKillsTotal: 3 })]), atOnce(T + 3e3));
    known.record("a", snapshot([at(13, {}, { oomKillsTotal: 3 })]), atOnce(T + 13e3));
    expect(known.over(T, T + 15e3).get("c1")).not.toHaveProperty("oomKills");
  });

  it("is not confused by an agent that repeats its last sample", () => {
    const { rates: sut } = rates();
    for (let seconds = 0; seconds < 15; seconds += 1) {
      const frozen = at(0, { usageSecondsTotal: 3 }, { ageSeconds: seconds });
      sut.record("a", snapshot([frozen]), atOnce(T + seconds * 1e3));
    }
    expect(sut.over(T, T + 15_000).get("c1")).not.toHaveProperty("cpuUsageCores");
  });

  it("believes an agent that reads seldom because little changes, while its snapshots come", () => {
    const { rates: sut } = rates();
    sut.record(
      "a",
      snapshot([at(-20, { usageSecondsTotal: 0, periodsTotal: 0, throttledPeriodsTotal: 0 })]),
      atOnce(T - 20_000),
    );
    const held = { usageSecondsTotal: 2, periodsTotal: 200, throttledPeriodsTotal: 20 };
    for (let seconds = 0; seconds <= 45; seconds += 1) {
      sut.record("a", snapshot([at(0, held, { ageSeconds: seconds })]), atOnce(T + seconds * 1e3));
    }
    expect(sut.over(T + 15_000, T + 30_000).get("c1")?.cpuUsageCores).toBeCloseTo(0.1, 9);
    expect(sut.over(T + 30_000, T + 45_000).get("c1")?.cpuThrottledRatio).toBeCloseTo(0.1, 9);
    expect(sut.over(T + 80_000, T + 95_000).get("c1")).toBeUndefined();
  });

  it("reads a window without a reading of its own between the readings around it", () => {
    const { rates: sut } = rates();
    for (const [seconds, used] of [
      [-5, 0],
      [25, 3],
    ] as const) {
      sut.record("a", snapshot([at(seconds, { usageSecondsTotal: used })]), atOnce(T + seconds * 1e3));
    }
    expect(sut.over(T, T + 15_000).get("c1")?.cpuUsageCores).toBeCloseTo(0.1, 9);
  });

  it("averages interference over the window and keeps what is not supported absent", () => {
    const { rates: sut } = rates();
    for (const [seconds, value] of [
      [1, 0.2],
      [8, 0.4],
    ] as const) {
      sut.record("a", snapshot([at(seconds, {}, { cpuInterference: value })]), atOnce(T + seconds * 1e3));
    }
    const { interference } = sut.over(T, T + 15_000).get("c1")!;
    expect(interference?.cpu.value).toBeCloseTo(0.3, 9);
    expect(interference?.network).toEqual({ supported: false });
  });

  it("follows interference in a container that the agent itself read long ago", () => {
    const { rates: sut } = rates();
    let interferenceSeconds = 0;
    for (let seconds = -30; seconds <= 20; seconds += 1) {
      const value = seconds < 0 ? 0.05 : 0.8;
      interferenceSeconds += seconds <= 0 ? 0.05 : 0.8;
      const read = at(-20, {}, { cpuInterference: value, ageSeconds: seconds + 20, interferenceSeconds });
      sut.record(
        "a",
        snapshot([seconds < -20 ? at(seconds, {}, { interferenceSeconds }) : read]),
        atOnce(T + seconds * 1e3),
      );
    }
    const { interference } = sut.over(T, T + 15_000).get("c1")!;
    expect(interference?.cpu.value).toBeCloseTo(0.8, 6);
  });

  it("knows a container with and without the runtime's prefix", () => {
    const { rates: sut } = rates();
    sut.record("a", snapshot([at(14, { usageCores: 0.1 }, { id: "containerd://abc" })]), atOnce(T + 14_000));
    expect(sut.over(T, T + 15_000).has("abc")).toBe(true);
  });

  it("holds no more containers than allowed and forgets those that are gone", () => {
    const { rates: sut, drops } = rates(2);
    const many = ["x", "y", "z"].map((id) => at(0, {}, { id }));
    sut.record("a", snapshot(many), atOnce(T));
    expect(sut.size).toBe(2);
    expect(drops).toEqual(["limit"]);
    sut.record("a", snapshot([]), atOnce(T + 60_000));
    expect(sut.size).toBe(0);
  });
});
