import { describe, expect, it } from "vitest";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import { startControlPath } from "@tradewind/simulator/control/control-path.ts";
import { Schedule } from "@tradewind/simulator/control/schedule.ts";
import type { ExternalTrigger, ScaledObject, Trigger } from "@tradewind/simulator/control/triggers.ts";
import { quantity } from "@tradewind/simulator/control/triggers.ts";
import type { Advice } from "@tradewind/simulator/control/vpa/recommender.ts";
import type { UpdateMode } from "@tradewind/simulator/control/vpa/updater.ts";
import { NO_FAULTS } from "@tradewind/simulator/world.ts";
import type { Plant } from "@tradewind/simulator/world.ts";
import { scriptedPlant, ScriptedWorld, START_MS } from "./scripted-world.ts";

const object = (triggers: readonly Trigger[], overrides: Partial<ScaledObject> = {}): ScaledObject => ({
  minReplicaCount: 1,
  maxReplicaCount: 100,
  pollingIntervalSeconds: 30,
  cooldownSeconds: 300,
  behavior: KUBERNETES_DEFAULT_BEHAVIOR,
  triggers,
  ...overrides,
});
const external = (
  read: (atSeconds: number) => number | undefined,
  other: Partial<ExternalTrigger> = {},
): ExternalTrigger => ({
  kind: "external",
  metricType: "AverageValue",
  target: 1,
  isFromScaler: true,
  read: (nowMs) => read((nowMs - START_MS) / 1e3),
  isActive: (nowMs) => {
    const value = read((nowMs - START_MS) / 1e3);
    return value === undefined ? undefined : value > 0;
  },
  ...other,
});

interface Setting {
  readonly world: ScriptedWorld;
  readonly object?: ScaledObject;
  readonly plant?: Partial<Plant>;
  readonly advice?: (nowMs: number) => Advice | undefined;
  readonly updateMode?: UpdateMode;
}

async function run({ advice, object: scaled, plant, updateMode, world }: Setting, seconds: number) {
  const schedule = new Schedule();
  startControlPath({
    world,
    plant: scriptedPlant(world, plant),
    schedule,
    seed: 1,
    scaledObjectOf: () => scaled,
    adviceOf: advice && ((_service, nowMs) => advice(nowMs)),
    updateMode,
  });
  while (schedule.nextMs <= START_MS + seconds * 1e3) {
    world.advanceTo(schedule.nextMs);
    await schedule.runNext();
  }
  return world.changes;
}
const numbers = (changes: ScriptedWorld["changes"]) => changes.map(({ replicas }) => replicas);

describe("the HPA between a number and the Deployment", () => {
  it("syncs every 15 s: from 2 to 20 by 6 and 12, one step a sync", async () => {
    const world = new ScriptedWorld(2, 0, () => 0);
    const changes = await run({ world, object: object([external(() => 20)]) }, 60);
    expect(numbers(changes)).toEqual([6, 12, 20]);
    expect(changes[1]!.atSeconds - changes[0]!.atSeconds).toBeCloseTo(15, 6);
    expect(changes[2]!.atSeconds - changes[1]!.atSeconds).toBeCloseTo(15, 6);
  });

  it("scales down 300 s after the last higher number", async () => {
    const world = new ScriptedWorld(8, 0, () => 0);
    const changes = await run({ world, object: object([external((at) => (at < 100 ? 8 : 3))]) }, 600);
    expect(numbers(changes)).toEqual([3]);
    expect(changes[0]!.atSeconds).toBeGreaterThanOrEqual(385);
    expect(changes[0]!.atSeconds).toBeLessThanOrEqual(415);
  });

  it("takes the largest of several triggers, and does not scale down while one cannot be read", async () => {
    const triggers = [external((at) => (at < 60 ? 6 : 2)), external((at) => (at < 60 ? 2 : undefined))];
    const world = new ScriptedWorld(2, 0, () => 0);
    expect(numbers(await run({ world, object: object(triggers) }, 900))).toEqual([6]);
  });

  it("keeps all replicas while the scaler answers UNAVAILABLE, and goes on where it ends", async () => {
    const scalerDown = [{ startSeconds: 30, endSeconds: 600 }];
    const world = new ScriptedWorld(5, 0, () => 0);
    const changes = await run(
      { world, object: object([external(() => 1)]), plant: { faults: { ...NO_FAULTS, scalerDown } } },
      700,
    );
    expect(changes.map(({ replicas }) => replicas)).toEqual([1]);
    expect(changes[0]!.atSeconds).toBeGreaterThanOrEqual(600);
  });

  it("reads a metrics server also while the scaler is down", async () => {
    const scalerDown = [{ startSeconds: 0, endSeconds: 600 }];
    const world = new ScriptedWorld(2, 0, () => 0);
    const trigger = external(() => 4, { isFromScaler: false });
    const plant = { faults: { ...NO_FAULTS, scalerDown } };
    expect(numbers(await run({ world, object: object([trigger]), plant }, 60))).toEqual([4]);
  });

  it("turns NaN into 0 as KEDA does, which takes a service down to its minimum", async () => {
    expect(quantity(Number.NaN)).toBe(0);
    expect(quantity(-3)).toBe(0);
    expect(quantity(1.23456)).toBe(1.235);
    const world = new ScriptedWorld(9, 0, () => 0);
    const changes = await run({ world, object: object([external(() => Number.NaN)]) }, 600);
    expect(numbers(changes)).toEqual([1]);
  });
});

describe("the HPA on CPU use", () => {
  it("works out a load of 3 cores at a target of 60 % as 5 pods, without overshoot while pods start", async () => {
    const world = new ScriptedWorld(2, 45, () => 3);
    const changes = await run({ world, object: object([{ kind: "cpu", targetPercent: 60 }]) }, 900);
    // Two pods show 100 %: ceil(1.66 · 2) = 4. While two start they count as idle: 50 % of 60 %, so nothing moves; then
    // 75 % of 60 %: ceil(1.25 · 4) = 5.
    expect(numbers(changes)).toEqual([4, 5]);
    // The second step waits for the pods to start and for one whole sample of theirs.
    expect(changes[1]!.atSeconds - changes[0]!.atSeconds).toBeGreaterThanOrEqual(60);
  });
});

describe("scale to zero", () => {
  it("never happens to an HPA on CPU alone, which no trigger could start again", async () => {
    const world = new ScriptedWorld(2, 0, () => 0);
    const onCpu = object([{ kind: "cpu", targetPercent: 60 }], { minReplicaCount: 0 });
    expect(numbers(await run({ world, object: onCpu }, 900))).toEqual([1]);
  });

  it("stops the last replica a cooldown after the traffic and starts one at the poll that sees it again", async () => {
    const world = new ScriptedWorld(1, 0, () => 0);
    const traffic = external((at) => (at < 100 || at >= 1_000 ? 1 : 0));
    const changes = await run({ world, object: object([traffic], { minReplicaCount: 0 }) }, 1_100);
    expect(numbers(changes)).toEqual([0, 1]);
    const [stopped, started] = changes;
    expect(stopped!.atSeconds).toBeGreaterThan(100 + 270);
    expect(stopped!.atSeconds).toBeLessThanOrEqual(100 + 330);
    expect(started!.atSeconds).toBeGreaterThanOrEqual(1_000);
    expect(started!.atSeconds).toBeLessThan(1_030);
  });
});

describe("the VPA's updater", () => {
  const bounds = (target: number) => ({ target, lowerBound: 0.95 * target, upperBound: 1.05 * target });

  it("resizes once, within a minute and the kubelet's 3 s, when a request lies outside the bounds", async () => {
    const world = new ScriptedWorld(2, 0, () => 0);
    await run({ world, advice: () => ({ cpuCores: bounds(2) }) }, 300);
    expect(world.resizes).toHaveLength(1);
    expect(world.resizes[0]).toMatchObject({ size: { cpuCores: 2 } });
    expect(world.resizes[0]!.atSeconds).toBeLessThanOrEqual(63);
  });

  it("evicts no pod of a service with a single replica, and those of a larger one", async () => {
    const [one, two] = [new ScriptedWorld(1, 0, () => 0), new ScriptedWorld(2, 0, () => 0)];
    const advice = () => ({ cpuCores: bounds(2) });
    await run({ world: one, advice, updateMode: "recreate" }, 300);
    await run({ world: two, advice, updateMode: "recreate" }, 300);
    expect(one.resizes).toEqual([]);
    expect(two.resizes).toMatchObject([{ size: { cpuCores: 2 }, how: "recreate" }]);
  });

  it("leaves requests inside the bounds alone", async () => {
    const world = new ScriptedWorld(2, 0, () => 0);
    await run({ world, advice: () => ({ cpuCores: bounds(1.04) }) }, 300);
    expect(world.resizes).toEqual([]);
  });

  it("caps the target at the bounds of the service", async () => {
    const world = new ScriptedWorld(2, 0, () => 0);
    await run({ world, advice: () => ({ cpuCores: bounds(50) }) }, 100);
    expect(world.resizes[0]?.size).toEqual({ cpuCores: 8 });
  });
});
