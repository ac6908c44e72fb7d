import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import fc from "fast-check";
import {
  demandOf,
  emptyProfile,
  isCalibrated,
  predictOwnTime,
  ProfileState,
} from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { track } from "@tradewind/predictor/models/queue/track.ts";
import type { OwnTime, ProfileObservation } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { describe, expect, it } from "vitest";
import { quantileOf, SimulatedContainer, SimulatedService } from "./simulated-container.ts";
import type { Truth } from "./simulated-container.ts";

function predict(
  state: ProfileState,
  cpuCores: number | undefined,
  loadPerContainer: number,
  percentile: 0.5 | 0.95 | 0.99 = 0.95,
): OwnTime {
  const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  predictOwnTime(state, { cpuCores, loadPerContainer }, percentile, out);
  return out;
}

const ONE_CORE: Truth = {
  cores: 1,
  threads: 8,
  demandMs: 8,
  cv: 0.7,
  housekeepingCores: 0.02,
  baseMs: 5,
  baseCv: 0.5,
};

/** Windows of 15 s at loads that go up and down between the two. */
function windowsOf(truth: Truth, low: number, high: number, count = 40): ProfileObservation[] {
  const service = new SimulatedService(truth, 2, 3);
  return Array.from({ length: count }, (_, i) =>
    service.window(low + (high - low) * (0.5 - 0.5 * Math.cos(i / 3))),
  );
}

const tracked = (windows: readonly ProfileObservation[]): ProfileState =>
  windows.reduce(track, emptyProfile());

/** p95 of the simulator's processor, seconds. */
function truthAt(truth: Truth, cores: number, load: number): number {
  const container = new SimulatedContainer({ ...truth, cores }, 77);
  return quantileOf(container.run(load, 20_000 / load).latencies, 0.95) / 1e3;
}

describe("tracked profile", () => {
  it("is not believed before three windows with CPU use and three with latency", () => {
    const windows = windowsOf(ONE_CORE, 20, 50, 4);
    expect(isCalibrated(emptyProfile())).toBe(false);
    expect(isCalibrated(tracked(windows.slice(0, 2)))).toBe(false);
    expect(isCalibrated(tracked(windows.slice(0, 3)))).toBe(true);
    const withoutUse = windows.map((each) => ({ ...each, cpuUsageCores: undefined }));
    expect(isCalibrated(tracked(withoutUse))).toBe(false);
    expect(demandOf(tracked(withoutUse))).toBeUndefined();
  });

  it("is plain bounded data: the same after JSON, and the state before is left as it was", () => {
    const windows = windowsOf(ONE_CORE, 20, 50, 12);
    const state = tracked(windows.slice(0, 11));
    const text = JSON.stringify(state);
    expect(text.length).toBeLessThan(6_000);
    const read = ProfileState.parse(JSON.parse(text));
    const last = windows[11] as ProfileObservation;
    expect(track(read, last)).toEqual(track(state, last));
    expect(JSON.stringify(state)).toBe(text);
  });

  it("learns what a request and an idle container cost", () => {
    const found = demandOf(tracked(windowsOf(ONE_CORE, 5, 60)));
    expect(found?.cpuSecondsPerRequest).toBeGreaterThan(0.0075);
    expect(found?.cpuSecondsPerRequest).toBeLessThan(0.0085);
    expect(found?.housekeepingCores).toBeGreaterThan(0.01);
    expect(found?.housekeepingCores).toBeLessThan(0.04);
  });

  it("moves what a request takes of the CPU by no latency", () => {
    const windows = windowsOf(ONE_CORE, 20, 50, 30);
    const timed = (factor: number): ProfileObservation[] =>
      windows.map((each) => ({
        ...each,
        meanSeconds: factor * (each.meanSeconds ?? 0),
        p50Seconds: factor * (each.p50Seconds ?? 0),
        p95Seconds: factor * (each.p95Seconds ?? 0),
        p99Seconds: factor * (each.p99Seconds ?? 0),
      }));
    const [short, usual, long] = [0.1, 1, 10].map((factor) => demandOf(tracked(timed(factor))));
    for (const each of [short, long]) {
      expect(Math.log(each!.cpuSecondsPerRequest / usual!.cpuSecondsPerRequest)).toBeCloseTo(0, 1);
      expect(Math.log(each!.housekeepingCores / usual!.housekeepingCores)).toBeCloseTo(0, 0);
    }
  });

  it("keeps what a request takes through a flat calm in which spans show a seventh of it (podinfo)", () => {
    // 15.5 requests a second at 2.0 ms of CPU each and 2.9 millicores without any; spans of 0.3 ms.
    const calm: ProfileObservation = {
      atMs: 0,
      windowSeconds: 15,
      cpuCores: 0.08,
      cpuUsageCores: 0.0339,
      loadPerContainer: 15.5,
      calls: 232,
      meanSeconds: 0.000_4,
      p50Seconds: 0.000_2,
      p95Seconds: 0.000_8,
      p99Seconds: 0.003,
      throttledRatio: 0.03,
    };
    const after = tracked(Array.from({ length: 240 }, (_, at) => ({ ...calm, atMs: 15_000 * at })));
    expect(demandOf(after)?.cpuSecondsPerRequest).toBeGreaterThan(0.001_8);
    expect(demandOf(after)?.cpuSecondsPerRequest).toBeLessThan(0.002_2);
    expect(demandOf(after)?.housekeepingCores).toBeLessThan(0.006);
  });

  it("takes CPU that is read late for that of the load before, and CPU that has risen further than the load for what it is", () => {
    const before = tracked(windowsOf(ONE_CORE, 20, 20, 40));
    const use = (cpuUsageCores: number): number => {
      const next = { ...windowsOf(ONE_CORE, 80, 80, 1)[0]!, atMs: 700_000, cpuUsageCores };
      return demandOf(track(before, next))?.cpuSecondsPerRequest ?? 0;
    };
    // 0.02 cores and 8 ms a request: 0.18 at 20 a second, 0.66 at 80.
    expect(use(0.3)).toBeGreaterThan(0.007_5);
    expect(use(0.99)).toBeGreaterThan(0.01);
  });

  it("takes the use of a container of 80 millicores for its requests where it follows them up and down (small-limits, seed 94000)", () => {
    // 0.8 ms of CPU a request, and nothing without any.
    const loads = [
      13.2, 11.6, 16.6, 14.7, 18.0, 23.9, 25.1, 31.1, 30.9, 34.0, 41.0, 37.9, 42.4, 42.8, 51.6, 49.4, 47.8,
      48.0, 50.5, 49.2, 48.6, 49.0, 46.1, 39.8, 42.1, 37.0, 36.6, 30.6, 28.8, 24.6, 24.9, 21.8, 16.8, 13.3,
      13.3, 9.1, 10.0, 12.2, 11.3, 11.1, 12.3, 10.9,
    ];
    const millicores = [
      9.7, 9.8, 12.3, 14.3, 16.4, 17.1, 20.2, 23.1, 26.4, 27.6, 31.2, 31.9, 33.9, 35.4, 38.2, 38.4, 39.9,
      40.3, 39.9, 38.4, 38.8, 37.9, 36.9, 33.7, 33.6, 29.3, 27.2, 25.8, 24.5, 21.3, 18.5, 16.4, 13.3, 11.4,
      10.7, 8.7, 8.7, 9.5, 8.3, 8.8, 9.4, 10.3,
    ];
    const found = demandOf(
      tracked(
        loads.map((loadPerContainer, at) => ({
          atMs: 15_000 * at,
          windowSeconds: 15,
          cpuCores: 0.08,
          cpuUsageCores: (millicores[at] ?? 0) / 1e3,
          loadPerContainer,
        })),
      ),
    );
    expect(found?.cpuSecondsPerRequest).toBeGreaterThan(0.000_7);
    expect(found?.housekeepingCores).toBeLessThan(0.002);
  });

  it("tells housekeeping from demand at 5 requests per second", () => {
    const truth = { ...ONE_CORE, demandMs: 4, housekeepingCores: 0.03 };
    const found = demandOf(tracked(windowsOf(truth, 1, 9, 100)));
    expect(Math.abs(Math.log((found?.cpuSecondsPerRequest ?? 0) / 0.004))).toBeLessThan(
      Math.max(0.2, 2 * (found?.sigma ?? 0)),
    );
    expect(found?.cpuSecondsPerRequest).toBeLessThan(0.006);
  });

  it.each<[string, Truth, number, number, readonly [cores: number, load: number]]>([
    ["a higher load", ONE_CORE, 20, 55, [1, 90]],
    ["half the size", ONE_CORE, 20, 40, [0.5, 40]],
    [
      "a higher load of one thread under a limit of 2 cores",
      { cores: 2, threads: 1, demandMs: 8, cv: 0.7 },
      20,
      65,
      [2, 95],
    ],
    [
      "a higher load without a limit",
      { ...ONE_CORE, cores: Infinity, nodeCores: 4 },
      100,
      250,
      [Infinity, 400],
    ],
    ["half a CPU second a request", { cores: 2, threads: 8, demandMs: 500, cv: 0.5 }, 0.5, 2, [2, 3]],
  ])("predicts p95 within 40 %% at what was not seen: %s", (_, truth, low, high, [cores, load]) => {
    const state = tracked(windowsOf(truth, low, high, 80));
    const found = predict(state, Number.isFinite(cores) ? cores : undefined, load);
    expect(Math.abs(found.tailSeconds / truthAt(truth, cores, load) - 1)).toBeLessThan(0.4);
  });

  it("does not rule out, in hours at one load, a program that a higher load would fill", () => {
    const state = tracked(windowsOf({ cores: 2, threads: 1, demandMs: 14, cv: 0.7 }, 38, 44, 400));
    const [inOrder = 0, shared = 0] = state.weights;
    expect(inOrder + shared).toBeGreaterThan(0.02);
    expect(predict(state, 2, 41).tailSeconds).toBeLessThan(0.2);
    expect(predict(state, 2, 90).tailSeconds).toBeGreaterThan(0.3);
  });

  it("learns the demand of a request from 1 % of the traces, whose number tells the load only roughly", () => {
    const rng = seededRng(5);
    const windows = windowsOf(ONE_CORE, 45, 55, 120).map((each): ProfileObservation => {
      const calls = 4 + Math.floor(12 * rng());
      return {
        ...each,
        calls,
        keptRatio: 0.01,
        loadPerContainer: ((each.loadPerContainer ?? 0) * calls) / 9.5,
      };
    });
    const found = demandOf(tracked(windows));
    expect(found?.cpuSecondsPerRequest).toBeGreaterThan(0.006);
    expect(found?.cpuSecondsPerRequest).toBeLessThan(0.0115);
  });

  it("learns the CPU of requests whose self time holds half of it, also while their containers are young", () => {
    // Measured of a Node.js process: 3 ms of CPU a request, of which its handler takes 1.5 ms.
    const windows = Array.from({ length: 12 }, (_, i): ProfileObservation => {
      const loadPerContainer = 15 + (i % 4);
      return {
        atMs: 5_000 * i,
        windowSeconds: 5,
        cpuCores: 0.2,
        cpuUsageCores: 0.003 + 0.003 * loadPerContainer,
        loadPerContainer,
        calls: 5 * loadPerContainer,
        meanSeconds: 0.0016,
        p50Seconds: 0.0015,
        p95Seconds: 0.003,
        throttledRatio: 0,
        youngShare: 1,
      };
    });
    const { cpuSecondsPerRequest = 0, housekeepingCores = 0 } = demandOf(tracked(windows)) ?? {};
    const atFourTimes = 64 * cpuSecondsPerRequest + housekeepingCores;
    expect(atFourTimes / 0.195).toBeGreaterThan(0.8);
    expect(atFourTimes / 0.195).toBeLessThan(1.2);
  });

  it("takes up a state that was stored without the share of the demand outside of the self time", () => {
    const state = tracked(windowsOf(ONE_CORE, 20, 50, 12));
    const old = {
      ...state,
      means: state.means.map((mean) => mean.slice(0, 5)),
      covariances: state.covariances.map((all) => all.filter((_, at) => at < 30 && at % 6 < 5)),
    };
    const read = ProfileState.parse(JSON.parse(JSON.stringify(old)));
    expect(read.means.map((mean) => mean.slice(0, 5))).toEqual(old.means);
    expect(read.covariances.map((all) => all.filter((_, at) => at < 30 && at % 6 < 5))).toEqual(
      old.covariances,
    );
    expect(demandOf(read)).toEqual(demandOf(state));
    expect(
      predict(track(read, windowsOf(ONE_CORE, 20, 50, 13)[12] as ProfileObservation), 1, 30).tailSeconds,
    ).toBeLessThan(1);
  });

  it("reckons with what a request took in the last window, and no longer once it takes as little as before", () => {
    const before = tracked(windowsOf(ONE_CORE, 20, 40, 60));
    const disturbed = new SimulatedService({ ...ONE_CORE, demandMs: 12 }, 2, 5).window(30);
    const calm = new SimulatedService(ONE_CORE, 2, 6).window(30);
    const during = track(before, { ...disturbed, atMs: 1_000_000 });
    const after = track(during, { ...calm, atMs: 1_015_000 });
    expect(demandOf(during)?.cpuSecondsPerRequest).toBeGreaterThan(0.011);
    expect(demandOf(during)?.cpuSecondsPerRequest).toBeLessThan(0.013);
    expect(predict(during, 1, 60).tailSeconds).toBeGreaterThan(1.3 * predict(before, 1, 60).tailSeconds);
    expect(Math.abs((demandOf(after)?.cpuSecondsPerRequest ?? 0) / 0.008 - 1)).toBeLessThan(0.1);
  });

  it("widens what its CPU use is about when that changes, and what its latency is about when that does", () => {
    const before = tracked(windowsOf(ONE_CORE, 20, 40, 60));
    const variances = (state: ProfileState): number[] =>
      [0, 1, 2, 3].map((at) => state.covariances[4]?.[7 * at] ?? 0);
    const [demand = 0, housekeeping = 0, variation = 0, base = 0] = variances(before);
    const next = windowsOf(ONE_CORE, 30, 30, 1)[0] as ProfileObservation;
    const silent = { ...next, cpuUsageCores: undefined, loadPerContainer: undefined };
    const ofCpu = variances(track({ ...before, surprises: 3 }, silent));
    const ofLatency = variances(track({ ...before, latencySurprises: -3 }, silent));
    expect(ofCpu[0]).toBeCloseTo(demand + 0.49, 2);
    for (const [at, each] of [housekeeping, variation, base].entries())
      expect(ofCpu[at + 1]).toBeCloseTo(each, 2);
    for (const [at, each] of [demand, housekeeping].entries()) expect(ofLatency[at]).toBeCloseTo(each, 2);
    expect(ofLatency[2]).toBeGreaterThan(variation + 0.1);
    expect(ofLatency[3]).toBeGreaterThan(base + 0.4);
  });

  it("says little of the demand of a caller whose requests wait for an overloaded callee", () => {
    const before = { ...tracked(windowsOf(ONE_CORE, 29, 31, 60)), lastLoad: 20 };
    const window = new SimulatedService(ONE_CORE, 2, 5).window(30);
    // A third of the requests began, and used their CPU, but did not end.
    const waiting = { ...window, atMs: 1_000_000, loadPerContainer: 20, calls: 600 };
    const blind = demandOf(track(before, waiting))?.cpuSecondsPerRequest ?? 0;
    const seeing = demandOf(track(before, { ...waiting, responseSeconds: 7 }))?.cpuSecondsPerRequest ?? 0;
    expect(blind).toBeGreaterThan(0.0095);
    expect(seeing - 0.008).toBeLessThan(0.6 * (blind - 0.008));
  });

  it("takes up a state that was stored before CPU use had a residual", () => {
    const state = tracked(windowsOf(ONE_CORE, 20, 50, 12));
    const { cpuResidual: _c, inflations: _i, latencySurprises: _l, ...old } = state;
    const read = ProfileState.parse(JSON.parse(JSON.stringify(old)));
    expect(read).toEqual({ ...old, cpuResidual: 0, inflations: [0, 0, 0, 0, 0], latencySurprises: 0 });
  });

  it("learns that one thread uses one core of a limit of two", () => {
    const truth = { cores: 2, threads: 1, demandMs: 8, cv: 0.7 };
    expect(demandOf(tracked(windowsOf(truth, 20, 95, 60)))?.parallelism).toBeLessThan(1.2);
    expect(demandOf(tracked(windowsOf({ ...truth, threads: 16 }, 20, 180, 60)))?.parallelism).toBeGreaterThan(
      2,
    );
  });

  it("expects no queue where requests only wait", () => {
    const truth: Truth = {
      cores: 0.2,
      threads: 64,
      demandMs: 0.05,
      cv: 0.5,
      housekeepingCores: 0.01,
      baseMs: 40,
      baseCv: 0.8,
    };
    const state = tracked(windowsOf(truth, 20, 60));
    const [calm, busy] = [predict(state, 0.2, 30).tailSeconds, predict(state, 0.2, 120).tailSeconds];
    expect(busy / calm).toBeLessThan(1.15);
    expect(predict(state, 0.1, 30).tailSeconds / calm).toBeLessThan(1.15);
  });

  /**
   * Ten cores asked for of one, and requests that take 8 ms of it, give or take a third from window to window: what is answered is
   * 1 core / demand. Taken for a load that was given, few requests with a full core looked like CPU that no request takes.
   */
  it("takes no housekeeping from full containers whose requests differ from window to window (pick, seed 32, s0)", () => {
    const rng = seededRng(5);
    const windows = Array.from({ length: 400 }, (_, i): ProfileObservation => {
      const demand = 0.008 * Math.exp(0.35 * standardNormal(rng));
      const asked = i % 2 === 0 ? 200 : 40;
      const isFull = asked * demand > 0.95;
      return {
        atMs: 15_000 * (i + 1),
        windowSeconds: 15,
        cpuCores: 1,
        cpuUsageCores: isFull ? 0.98 : asked * demand,
        loadPerContainer: isFull ? 0.98 / demand : asked,
      };
    });
    const { cpuSecondsPerRequest = 0, housekeepingCores = 1 } = demandOf(tracked(windows)) ?? {};
    expect(housekeepingCores).toBeLessThan(0.05);
    expect(cpuSecondsPerRequest).toBeGreaterThan(0.006);
    expect(cpuSecondsPerRequest).toBeLessThan(0.011);
  });

  it("takes an idle service: its CPU is housekeeping, and nothing is said of latency", () => {
    const idle = Array.from({ length: 20 }, (_, i) => ({
      atMs: 15_000 * i,
      windowSeconds: 15,
      cpuCores: 1,
      cpuUsageCores: 0.02,
      loadPerContainer: 0,
      calls: 0,
    }));
    const state = tracked(idle);
    expect(isCalibrated(state)).toBe(false);
    expect(demandOf(state)?.housekeepingCores).toBeCloseTo(0.02, 2);
    expect(Number.isFinite(predict(state, 1, 0).tailSeconds)).toBe(true);
  });

  it("keeps through idle windows what a request takes: the next window with load is not the first", () => {
    const before = tracked(windowsOf(ONE_CORE, 20, 50));
    const next = windowsOf(ONE_CORE, 35, 35, 1)[0]!;
    const idle: ProfileObservation = {
      atMs: before.atMs! + 15_000,
      windowSeconds: 15,
      cpuCores: 1,
      cpuUsageCores: 0.02,
      loadPerContainer: 0,
    };
    const disturbed = {
      ...next,
      atMs: idle.atMs + 15_000,
      cpuUsageCores: 2 * next.cpuUsageCores!,
      youngShare: 1,
    };
    const after = track(track(before, idle), disturbed);
    const [was, is] = [before, after].map(({ means, weights }) =>
      weights.reduce((sum, weight, at) => sum + weight * means[at]![0]!, 0),
    );
    expect(Math.abs(is! - was!)).toBeLessThan(0.1);
  });

  it("learns no housekeeping from windows of which the sample holds no request", () => {
    const windows = windowsOf(ONE_CORE, 30, 30, 40);
    const housekeeping = (keptRatio: number): number => {
      const state = windows.reduce((had, window, at): ProfileState => {
        const { atMs, cpuCores, cpuUsageCores, windowSeconds } = window;
        const none = { atMs, cpuCores, cpuUsageCores, windowSeconds, loadPerContainer: 0 };
        return track(
          had,
          at > 20 && at % 3 > 0
            ? none
            : { ...window, calls: Math.ceil(keptRatio * window.calls!), keptRatio },
        );
      }, emptyProfile());
      return demandOf(state)!.housekeepingCores;
    };
    expect(housekeeping(0.01)).toBeLessThan(0.05);
    // All requests left spans, so what the CPU is used for is none.
    expect(housekeeping(1)).toBeGreaterThan(0.1);
  });

  it("holds a sample of more requests than were due for chance, as it does one of fewer", () => {
    const before = tracked(
      windowsOf(ONE_CORE, 30, 30, 10).map((each) => ({ ...each, calls: 5, keptRatio: 0.01 })),
    );
    const next = windowsOf(ONE_CORE, 30, 30, 1)[0]!;
    const movedBy = (calls: number): number => {
      const loadPerContainer = (30 * calls) / 5;
      const window = { ...next, atMs: before.atMs! + 15_000, calls, keptRatio: 0.01, loadPerContainer };
      const [is, was] = [track(before, window), before].map((state) => demandOf(state)!.cpuSecondsPerRequest);
      return Math.log(is! / was!);
    };
    expect(movedBy(15)).toBeGreaterThan(-2 * movedBy(2));
    expect(movedBy(15)).toBeLessThan(0);
  });

  it("is moved by one disturbed window of ten by less than a tenth of what it was disturbed by", () => {
    const windows = windowsOf(ONE_CORE, 20, 50, 30);
    const disturbed = windows.map((each, i) =>
      i % 10 === 9
        ? {
            ...each,
            meanSeconds: 5 * (each.meanSeconds ?? 0),
            p50Seconds: 5 * (each.p50Seconds ?? 0),
            p95Seconds: 5 * (each.p95Seconds ?? 0),
            p99Seconds: 5 * (each.p99Seconds ?? 0),
          }
        : each,
    );
    const ratio =
      predict(tracked(disturbed), 1, 50).tailSeconds / predict(tracked(windows), 1, 50).tailSeconds;
    expect(Math.abs(Math.log(ratio))).toBeLessThan(0.1 * Math.log(5) * 1.5);
  });

  it("learns little from young containers", () => {
    const windows = windowsOf(ONE_CORE, 20, 50, 20);
    const before = tracked(windows);
    const cold: ProfileObservation = {
      ...(windows[19] as ProfileObservation),
      atMs: 400_000,
      cpuUsageCores: 0.9 * 0.95,
      p95Seconds: 0.3,
    };
    const move = (youngShare: number): number =>
      Math.abs(
        Math.log(
          predict(track(before, { ...cold, youngShare }), 1, 40).tailSeconds /
            predict(before, 1, 40).tailSeconds,
        ),
      );
    expect(move(1)).toBeLessThan(0.3 * move(0) + 1e-3);
  });

  it("keeps the demand through saturated windows, in which CPU use stands at the limit", () => {
    const service = new SimulatedService(ONE_CORE, 1, 9);
    const calm = Array.from({ length: 30 }, (_, i) => service.window(30 + (i % 5) * 8));
    const full = Array.from({ length: 10 }, () => service.window(160));
    const before = demandOf(tracked(calm))?.cpuSecondsPerRequest ?? 0;
    const after = demandOf(tracked([...calm, ...full]))?.cpuSecondsPerRequest ?? 0;
    expect(after / before).toBeGreaterThan(0.9);
    expect(after / before).toBeLessThan(1.1);
  });

  it("knows of its own error after full windows, whose latency says nothing, what it knew before", () => {
    const service = new SimulatedService(ONE_CORE, 1, 9);
    const offBy = (ratio: number) => {
      const { p50Seconds = 0, p95Seconds = 0, p99Seconds = 0, ...rest } = service.window(40);
      const [p50, p95, p99] = [p50Seconds, p95Seconds, p99Seconds].map((seconds) => seconds * ratio);
      return { ...rest, p50Seconds: p50, p95Seconds: p95, p99Seconds: p99 } as ProfileObservation;
    };
    const known = tracked(Array.from({ length: 80 }, (_, i) => offBy(i % 2 === 0 ? 1.6 : 1 / 1.6)));
    const full = Array.from({ length: 3 }, () => service.window(160));
    const after = full.reduce(track, known);
    expect(known.residuals[1]).toBeGreaterThan(0.05);
    expect(after.residuals[1]).toBeGreaterThan(0.9 * (known.residuals[1] ?? 0));
  });

  it("follows a deploy that doubles the demand within ten windows", () => {
    const before = windowsOf(ONE_CORE, 20, 40, 60);
    const state = tracked(before);
    const service = new SimulatedService({ ...ONE_CORE, demandMs: 16 }, 2, 4);
    const after = Array.from({ length: 10 }, (_, i) => ({
      ...service.window(20 + (i % 4) * 6),
      atMs: 900_000 + 15_000 * (i + 1),
      isAfterDeploy: i === 0,
    }));
    expect(
      demandOf(after.reduce((now, each) => track(now, each), state))?.cpuSecondsPerRequest,
    ).toBeGreaterThan(0.0145);
  });

  it("follows a change that nobody announced", () => {
    const state = tracked(windowsOf(ONE_CORE, 20, 40, 60));
    const service = new SimulatedService({ ...ONE_CORE, demandMs: 16 }, 2, 4);
    const after = Array.from({ length: 12 }, (_, i) => ({
      ...service.window(20 + (i % 4) * 6),
      atMs: 900_000 + 15_000 * (i + 1),
    }));
    expect(
      demandOf(after.reduce((now, each) => track(now, each), state))?.cpuSecondsPerRequest,
    ).toBeGreaterThan(0.014);
  });

  it("is less sure the farther a size and load are from what was seen", () => {
    const state = tracked(windowsOf(ONE_CORE, 20, 30, 20));
    const sigmas = [30, 60, 90, 105].map((load) => predict(state, 1, load).sigma);
    for (const [i, sigma] of sigmas.entries())
      expect(sigma).toBeGreaterThanOrEqual((sigmas[i - 1] ?? 0) * 0.98);
    expect(sigmas[3]).toBeGreaterThan(1.5 * (sigmas[0] ?? 0));
  });

  it("needs no latency percentile in particular and no CPU use", () => {
    const windows = windowsOf(ONE_CORE, 20, 50, 30);
    const only95 = windows.map(({ meanSeconds: _m, p50Seconds: _5, p99Seconds: _9, ...rest }) => rest);
    const seen = truthAt(ONE_CORE, 1, 40);
    expect(Math.abs(predict(tracked(only95), 1, 40).tailSeconds / seen - 1)).toBeLessThan(0.25);
    const withoutCpu = windows.map((each) => ({ ...each, cpuUsageCores: undefined }));
    expect(Math.abs(predict(tracked(withoutCpu), 1, 40).tailSeconds / seen - 1)).toBeLessThan(0.25);
  });
});

/** A number in the range, none, or what a broken source would send. */
const anyNumber = (max: number): fc.Arbitrary<number | undefined> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.double({ min: 0, max, noNaN: true }) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, 0, Number.NaN, Infinity) },
  );
const anyWindow = fc.record({
  cpuCores: fc.option(fc.double({ min: 0.05, max: 8, noNaN: true }), { nil: undefined }),
  cpuUsageCores: anyNumber(10),
  loadPerContainer: anyNumber(1_000),
  calls: anyNumber(10_000),
  p50Seconds: anyNumber(10),
  p95Seconds: anyNumber(100),
  meanSeconds: anyNumber(50),
  youngShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
});
const anyState = fc
  .array(anyWindow, { maxLength: 12 })
  .map((windows) => tracked(windows.map((each, i) => ({ ...each, atMs: 15_000 * i, windowSeconds: 15 }))));
const anyCores = fc.option(fc.double({ min: 0.02, max: 32, noNaN: true }), { nil: undefined });
const anyLoad = fc.double({ min: 0, max: 2_000, noNaN: true });
const anyPercentile = fc.constantFrom<0.5 | 0.95 | 0.99>(0.5, 0.95, 0.99);

describe("tracked profile, whatever the windows", () => {
  it("answers finite numbers whose derivatives have the right sign", () => {
    fc.assert(
      fc.property(anyState, anyCores, anyLoad, anyPercentile, (state, cores, load, percentile) => {
        expect(ProfileState.safeParse(state).success).toBe(true);
        const found = predict(state, cores, load, percentile);
        expect(Object.values(found).every(Number.isFinite)).toBe(true);
        expect(found.tailSeconds).toBeGreaterThan(0);
        expect(found.sigma).toBeGreaterThan(0);
        expect(found.tailByCores).toBeLessThanOrEqual(0);
        expect(found.tailByLoad).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it("falls with cores and rises with load", () => {
    fc.assert(
      fc.property(
        anyState,
        anyCores,
        anyLoad,
        fc.double({ min: 1.01, max: 4, noNaN: true }),
        (state, cores, load, factor) => {
          const here = predict(state, cores, load).tailSeconds * (1 + 1e-9);
          const larger = cores === undefined ? undefined : cores * factor;
          expect(predict(state, larger, load).tailSeconds).toBeLessThanOrEqual(here);
          expect(predict(state, cores, load / factor).tailSeconds).toBeLessThanOrEqual(here);
        },
      ),
    );
  });

  it("has derivatives equal to differences", () => {
    fc.assert(
      fc.property(
        anyState,
        fc.double({ min: 0.05, max: 8, noNaN: true }),
        fc.double({ min: 1, max: 500, noNaN: true }),
        (state, cores, load) => {
          const found = predict(state, cores, load);
          const gap = (slope: number, sides: readonly number[]): number =>
            Math.min(...sides.map((side) => Math.abs(slope - side) / (Math.abs(side) + found.tailSeconds)));
          const byLoad = [1e-4, -1e-4].map(
            (step) => (predict(state, cores, load + step).tailSeconds - found.tailSeconds) / step,
          );
          const byCores = [1e-6, -1e-6].map(
            (step) => (predict(state, cores + step, load).tailSeconds - found.tailSeconds) / step,
          );
          expect(gap(found.tailByLoad, byLoad)).toBeLessThan(0.01);
          expect(gap(found.tailByCores, byCores)).toBeLessThan(0.01);
        },
      ),
    );
  });
});
