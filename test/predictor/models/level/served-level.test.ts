import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import {
  accuracyOf,
  isOutdone,
  levelAfter,
  LevelMemory,
} from "@tradewind/predictor/models/level/level-memory.ts";
import { askModels, ServedLevel } from "@tradewind/predictor/models/level/served-level.ts";
import type { NetworkOfService } from "@tradewind/predictor/models/level/served-level.ts";
import { LatencyNetwork } from "@tradewind/predictor/models/network/latency-network.ts";
import type { NetworkState } from "@tradewind/predictor/models/network/latency-network.ts";
import {
  networkMemory,
  NetworkMemory,
  networkState,
} from "@tradewind/predictor/models/network/network-memory.ts";
import { WEIGHT_COUNT } from "@tradewind/predictor/models/network/shape.ts";
import { shippedNetwork } from "@tradewind/predictor/models/network/shipped.ts";
import { predictOwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { OwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { stateAfter } from "../network/windows.ts";

const HERE = { cpuCores: 1, loadPerContainer: 30 };
const emptyTime = (): OwnTime => ({
  meanSeconds: 0,
  tailSeconds: 0,
  sigma: 0,
  tailByCores: 0,
  tailByLoad: 0,
});

/** A level of windows that took as long as one of these, s, at the load where it runs. */
function levelOf(
  { network, state }: NetworkOfService,
  seconds: readonly number[],
  percentile: LevelMemory["percentile"] = 0.95,
): LevelMemory {
  let level: LevelMemory | undefined;
  for (const each of seconds) {
    const models = askModels(state.profile, { network, state }, HERE, percentile);
    level = levelAfter(level, {
      percentile,
      load: Math.log(HERE.loadPerContainer),
      time: Math.log(each),
      models,
    });
  }
  if (level === undefined) throw new Error("a level needs a window");
  return level;
}

function served(
  percentile: LevelMemory["percentile"],
  place: typeof HERE,
  known: NetworkOfService | undefined,
  { level, state }: { readonly level: LevelMemory | undefined; readonly state: NetworkState },
  isTailAlone = false,
): OwnTime {
  const time = emptyTime();
  predictOwnTime(state.profile, place, percentile, time);
  new ServedLevel(state.profile, percentile, { network: known, level, here: HERE }).apply(
    place,
    time,
    isTailAlone,
  );
  return time;
}

const network = shippedNetwork();
const state = stateAfter(network, 30, 5);
const known: NetworkOfService = { network, state };

describe("the self time that decisions are made with", () => {
  it("is what the last windows measured, where a service runs as they did", () => {
    const level = levelOf(known, [0.2, 0.21, 0.2, 0.2, 0.19, 0.2, 0.2, 0.2]);
    expect(served(0.95, HERE, known, { level, state }).tailSeconds).toBeCloseTo(0.2, 2);
  });

  it("moves from there by the geometric mean of what curve and network say of the two places", () => {
    const level = levelOf(known, [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]);
    const there = { cpuCores: 1.5, loadPerContainer: 45 };
    const [from, to] = [HERE, there].map((place) => askModels(state.profile, known, place, 0.95));
    const ratio =
      served(0.95, there, known, { level, state }).tailSeconds /
      served(0.95, HERE, known, { level, state }).tailSeconds;
    const byModels = ((to?.curve ?? 0) - (from?.curve ?? 0) + (to?.network ?? 0) - (from?.network ?? 0)) / 2;
    expect(Math.log(ratio)).toBeCloseTo(byModels, 9);
    expect(Math.abs((to?.curve ?? 0) - (to?.network ?? 0))).toBeGreaterThan(1e-3);
  });

  it("has the slopes of its own differences, down with cores and up with load, at every percentile", () => {
    const rng = seededRng(8);
    for (const percentile of [0.5, 0.95, 0.99] as const) {
      const level = levelOf(known, [0.1, 0.12, 0.11], percentile);
      for (let i = 0; i < 200; i += 1) {
        const place = { cpuCores: 0.3 * 10 ** rng(), loadPerContainer: 2 + 60 * rng() };
        const { tailByCores, tailByLoad, tailSeconds } = served(percentile, place, known, { level, state });
        expect(tailByCores).toBeLessThanOrEqual(0);
        expect(tailByLoad).toBeGreaterThanOrEqual(0);
        const at = (cores: number, load: number): number =>
          served(percentile, { cpuCores: cores, loadPerContainer: load }, known, { level, state }, true)
            .tailSeconds;
        const step = 1e-5;
        const byCores =
          (at(place.cpuCores * (1 + step), place.loadPerContainer) -
            at(place.cpuCores * (1 - step), place.loadPerContainer)) /
          (2 * step);
        const byLoad =
          (at(place.cpuCores, place.loadPerContainer * (1 + step)) -
            at(place.cpuCores, place.loadPerContainer * (1 - step))) /
          (2 * step);
        expect(Math.abs(byCores - tailByCores * place.cpuCores)).toBeLessThan(
          2e-5 * Math.max(1, tailSeconds),
        );
        expect(Math.abs(byLoad - tailByLoad * place.loadPerContainer)).toBeLessThan(
          2e-5 * Math.max(1, tailSeconds),
        );
      }
    }
  });

  it("is surer near the place where it runs than far from it", () => {
    const level = levelOf(known, [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]);
    const at = (cpuCores: number): number =>
      served(0.95, { ...HERE, cpuCores }, known, { level, state }).sigma;
    expect(at(1.2)).toBeGreaterThan(at(1));
    expect(at(3)).toBeGreaterThan(at(1.2));
  });

  it("is that of the curve's shape where a network says no number", () => {
    const broken = { network: new LatencyNetwork(new Float64Array(WEIGHT_COUNT).fill(Number.NaN)), state };
    const level = levelOf(known, [0.2, 0.2, 0.2]);
    const there = { cpuCores: 2, loadPerContainer: 40 };
    const time = served(0.95, there, broken, { level, state });
    const alone = served(0.95, there, undefined, { level, state });
    expect(time.tailSeconds).toBeCloseTo(alone.tailSeconds, 12);
    expect(time.tailByCores).toBeCloseTo(alone.tailByCores, 12);
  });

  it("is what the models say before any window was measured", () => {
    const time = served(0.95, HERE, undefined, { level: undefined, state });
    const curve = emptyTime();
    predictOwnTime(state.profile, HERE, 0.95, curve);
    expect(time.tailSeconds).toBeCloseTo(curve.tailSeconds, 12);
  });
});

describe("what is kept of a service between windows", () => {
  it("answers the same after it was written and read", () => {
    const memory = networkMemory("a", 30, state);
    const kept = NetworkMemory.parse(JSON.parse(JSON.stringify(memory)));
    const [before, after] = [memory, kept].map((each) => networkState(each, "a", state.profile));
    expect(after).toEqual(before);
    expect(networkMemory("a", 30, after as NetworkState)).toEqual(memory);
    const level = levelOf(known, [0.2, 0.3]);
    expect(LevelMemory.parse(JSON.parse(JSON.stringify(level)))).toEqual(level);
  });

  it("is nothing where another network made it, or a part of it is lost", () => {
    const memory = networkMemory("a", 30, state);
    expect(networkState(memory, "b", state.profile)).toBeUndefined();
    expect(
      networkState({ ...memory, state: memory.state.slice(0, 100) }, "a", state.profile),
    ).toBeUndefined();
    const spoilt = `${"AADAf".padEnd(16, "A")}${memory.state.slice(16)}`;
    expect(() => networkState({ ...memory, state: spoilt }, "a", state.profile)).not.toThrow();
  });
});

describe("how well a service is known", () => {
  it("is nothing before a window was expected", () => {
    expect(accuracyOf(undefined)).toBeUndefined();
    const first = levelAfter(undefined, { percentile: 0.95, load: 3, time: -2, models: undefined });
    expect(accuracyOf(first)).toBeUndefined();
  });

  it("names the expert that is followed, and says when the models do worse than a rule of one line", () => {
    const accuracy = accuracyOf(
      levelOf(
        known,
        Array.from({ length: 40 }, () => 2),
      ),
    );
    expect(["lastValue", "median", "kernel", "logLinear"]).toContain(accuracy?.expert);
    expect(accuracy?.error).toBeLessThan(0.2);
    expect(accuracy?.modelError).toBeGreaterThan(0.5);
    expect(accuracy && isOutdone(accuracy)).toBe(true);
  });

  it("begins anew when it is of another percentile", () => {
    const before = levelOf(known, [0.2, 0.2, 0.2]);
    const after = levelAfter(before, {
      percentile: 0.99,
      load: 3,
      time: -1,
      models: { curve: -1, network: -1 },
    });
    expect(after.windows).toBe(1);
    expect(after.percentile).toBe(0.99);
  });
});
