import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import {
  accuracyOf,
  isOutdone,
  levelAfter,
  LevelMemory,
  mostUnlike,
  networkShare,
} from "@tradewind/predictor/models/level/level-memory.ts";
import { askModels, MixedShape } from "@tradewind/predictor/models/level/mixed-shape.ts";
import type { NetworkOfService } from "@tradewind/predictor/models/level/mixed-shape.ts";
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
  const load = Math.log(HERE.loadPerContainer);
  for (const each of seconds) {
    const models = askModels(state.profile, { network, state }, HERE, percentile);
    level = levelAfter(level, {
      percentile,
      cpuCores: 1,
      load,
      time: Math.log(each),
      models,
      earlier: undefined,
      isBlind: false,
    });
  }
  if (level === undefined) throw new Error("a level needs a window");
  return level;
}

const network = shippedNetwork();
const state = stateAfter(network, 30, 5);
const known: NetworkOfService = { network, state };
const THERE = { cpuCores: 1, loadPerContainer: 60 };

/** What a service remembers whose windows came to and fro between two loads, and took what this says, s. */
function levelBetween(secondsAt: (place: typeof HERE) => number, windows: number): LevelMemory {
  let level: LevelMemory | undefined;
  for (let index = 0; index < windows; index += 1) {
    const place = index % 2 === 0 ? HERE : THERE;
    const load = Math.log(place.loadPerContainer);
    const unlike = level && mostUnlike(level, { cpuCores: 1, load });
    const before = unlike && {
      cpuCores: unlike.cpuCores,
      loadPerContainer: Math.exp(unlike.load),
    };
    level = levelAfter(level, {
      percentile: 0.95,
      cpuCores: 1,
      load,
      time: Math.log(secondsAt(place)),
      models: askModels(state.profile, known, place, 0.95),
      earlier: before && { ...unlike, models: askModels(state.profile, known, before, 0.95) },
      isBlind: false,
    });
  }
  if (level === undefined) throw new Error("a level needs a window");
  return level;
}
/** A level under whose record the network has half a say. */
const HALF = { ...levelOf(known, [0.2]), changes: [1, 1, 9] };

function curveAt(place: typeof HERE, percentile: LevelMemory["percentile"] = 0.95): OwnTime {
  const time = emptyTime();
  predictOwnTime(state.profile, place, percentile, time);
  return time;
}

function mixed(
  percentile: LevelMemory["percentile"],
  place: typeof HERE,
  of: NetworkOfService | undefined,
  level: LevelMemory | undefined,
  isTailAlone = false,
): OwnTime {
  const time = curveAt(place, percentile);
  new MixedShape(state.profile, percentile, { network: of, level, here: HERE }).apply(
    place,
    time,
    isTailAlone,
  );
  return time;
}

describe("the self time that decisions are made with", () => {
  it("is what the curve says, where a service runs as it did", () => {
    expect(mixed(0.95, HERE, known, HALF).tailSeconds).toBeCloseTo(curveAt(HERE).tailSeconds, 12);
  });

  it("moves from there by the geometric mean of curve and network where both said changes alike well", () => {
    const there = { cpuCores: 1.5, loadPerContainer: 45 };
    const [from, to] = [HERE, there].map((place) => askModels(state.profile, known, place, 0.95));
    const ratio = mixed(0.95, there, known, HALF).tailSeconds / mixed(0.95, HERE, known, HALF).tailSeconds;
    const byModels = ((to?.curve ?? 0) - (from?.curve ?? 0) + (to?.network ?? 0) - (from?.network ?? 0)) / 2;
    expect(Math.log(ratio)).toBeCloseTo(byModels, 9);
    expect(Math.abs((to?.curve ?? 0) - (to?.network ?? 0))).toBeGreaterThan(1e-3);
  });

  it("moves by the network alone where the network alone said what changes came to", () => {
    const level = levelBetween((place) => Math.exp(askModels(state.profile, known, place, 0.95).network), 12);
    expect(networkShare(level)).toBeCloseTo(1, 6);
    const ratio = mixed(0.95, THERE, known, level).tailSeconds / mixed(0.95, HERE, known, level).tailSeconds;
    const [from, to] = [HERE, THERE].map((place) => askModels(state.profile, known, place, 0.95).network);
    expect(Math.log(ratio)).toBeCloseTo((to ?? 0) - (from ?? 0), 6);
  });

  it("moves by the curve alone where the curve said what changes came to", () => {
    const level = levelBetween((place) => curveAt(place).tailSeconds, 12);
    expect(networkShare(level)).toBeCloseTo(0, 6);
    expect(mixed(0.95, THERE, known, level).tailSeconds).toBeCloseTo(curveAt(THERE).tailSeconds, 6);
  });

  it("is the curve's before four changes of load or size were seen", () => {
    const bySteps = (windows: number) =>
      levelBetween((place) => Math.exp(askModels(state.profile, known, place, 0.95).network), windows);
    expect(networkShare(bySteps(4))).toBe(0);
    expect(networkShare(bySteps(6))).toBeGreaterThan(0.9);
    const steady = levelOf(known, [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]);
    expect(mixed(0.95, THERE, known, steady)).toEqual(curveAt(THERE));
    expect(mixed(0.95, THERE, known, undefined)).toEqual(curveAt(THERE));
  });

  it("is the curve's once requests take more CPU than their spans last", () => {
    const known = levelBetween(
      (place) => Math.exp(askModels(state.profile, { network, state }, place, 0.95).network),
      12,
    );
    const blind = levelAfter(known, {
      percentile: 0.95,
      cpuCores: 1,
      load: Math.log(HERE.loadPerContainer),
      time: -2,
      models: undefined,
      earlier: undefined,
      isBlind: true,
    });
    expect(networkShare(known)).toBeGreaterThan(0.9);
    expect(networkShare(blind)).toBe(0);
  });

  it("has the slopes of its own differences, down with cores and up with load, at every percentile", () => {
    const rng = seededRng(8);
    for (const percentile of [0.5, 0.95, 0.99] as const) {
      const level = { ...HALF, percentile };
      for (let i = 0; i < 200; i += 1) {
        const place = { cpuCores: 0.3 * 10 ** rng(), loadPerContainer: 2 + 60 * rng() };
        const { tailByCores, tailByLoad, tailSeconds } = mixed(percentile, place, known, level);
        expect(tailByCores).toBeLessThanOrEqual(0);
        expect(tailByLoad).toBeGreaterThanOrEqual(0);
        const at = (cores: number, load: number): number =>
          mixed(percentile, { cpuCores: cores, loadPerContainer: load }, known, level, true).tailSeconds;
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

  it("is the curve's where a network says no number", () => {
    const broken = { network: new LatencyNetwork(new Float64Array(WEIGHT_COUNT).fill(Number.NaN)), state };
    const there = { cpuCores: 2, loadPerContainer: 40 };
    expect(mixed(0.95, there, broken, HALF)).toEqual(curveAt(there));
  });
});

describe("the earlier window that a window is compared with", () => {
  const levelAt = (places: readonly (readonly [load: number, cores: number | undefined])[]) =>
    places.reduce<LevelMemory | undefined>(
      (level, [load, cpuCores]) =>
        levelAfter(level, {
          percentile: 0.95,
          cpuCores,
          load: Math.log(load),
          time: -2,
          models: undefined,
          earlier: undefined,
          isBlind: false,
        }),
      undefined,
    ) as LevelMemory;

  it("is that whose load and size together were least like its own", () => {
    const level = levelAt([
      [10, 1],
      [20, 1],
      [20, 4],
      [22, 1],
    ]);
    const unlike = mostUnlike(level, { cpuCores: 1, load: Math.log(20) });
    expect(unlike?.cpuCores).toBeCloseTo(4, 5);
    expect(Math.exp(unlike?.load ?? 0)).toBeCloseTo(20, 4);
  });

  it("is none where nothing changed by 15 % or more, and never one whose limit came or went", () => {
    const level = levelAt([
      [20, 1],
      [22, 1.02],
      [80, undefined],
    ]);
    expect(mostUnlike(level, { cpuCores: 1, load: Math.log(21) })).toBeUndefined();
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
    const first = levelAfter(undefined, {
      percentile: 0.95,
      cpuCores: 1,
      load: 3,
      time: -2,
      models: undefined,
      earlier: undefined,
      isBlind: false,
    });
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
      cpuCores: 1,
      load: 3,
      time: -1,
      earlier: undefined,
      isBlind: false,
      models: { curve: -1, network: -1 },
    });
    expect(after.windows).toBe(1);
    expect(after.percentile).toBe(0.99);
  });
});
