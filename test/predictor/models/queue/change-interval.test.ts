import fc from "fast-check";
import { changeInterval } from "@tradewind/predictor/models/queue/change-interval.ts";
import type { ContainerPlace } from "@tradewind/predictor/models/queue/change-interval.ts";
import { emptyProfile, predictOwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { track } from "@tradewind/predictor/models/queue/track.ts";
import type { OwnTime, ProfileState } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { describe, expect, it } from "vitest";
import { SimulatedService } from "./simulated-container.ts";
import type { Truth } from "./simulated-container.ts";

const TRUTH: Truth = { cores: 1, threads: 8, demandMs: 8, cv: 0.7, housekeepingCores: 0.02, baseMs: 5 };

/** After so many windows at 20 to 60 requests per second. */
function trackedFor(count: number, truth = TRUTH): ProfileState {
  const service = new SimulatedService(truth, 2, 3);
  let state = emptyProfile();
  for (let i = 0; i < count; i += 1) state = track(state, service.window(40 - 20 * Math.cos(i / 3)));
  return state;
}

const at = (cpuCores: number | undefined, loadPerContainer: number): ContainerPlace => ({
  cpuCores,
  loadPerContainer,
});

function tailAt(state: ProfileState, place: ContainerPlace): number {
  const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  predictOwnTime(state, place, 0.95, out);
  return out.tailSeconds;
}

describe("how sure the change of a self-time tail is", () => {
  const [early, late] = [trackedFor(4), trackedFor(80)];

  it("holds the change that the profile predicts, for one replica more and for more CPU", () => {
    for (const to of [at(1, 40), at(1.05, 60), at(2, 60)]) {
      const here = tailAt(late, at(1, 60));
      const predicted = tailAt(late, to) / here - 1;
      const { high, low } = changeInterval(late, at(1, 60), to, 0.95);
      expect(low).toBeLessThan(predicted);
      expect(high).toBeGreaterThan(predicted);
    }
  });

  it("narrows with the windows seen", () => {
    const widthOf = (state: ProfileState): number => {
      const { high, low } = changeInterval(state, at(1, 60), at(1, 40), 0.95);
      return high - low;
    };
    expect(widthOf(late)).toBeLessThan(widthOf(early));
  });

  it("is nothing where nothing changes, and where there is no CPU limit", () => {
    expect(changeInterval(late, at(1, 60), at(1, 60), 0.95)).toEqual({ low: 0, high: 0 });
    const unlimited = changeInterval(late, at(undefined, 60), at(undefined, 60), 0.95);
    expect(unlimited).toEqual({ low: 0, high: 0 });
  });

  it("spans what kinds of programs say that are both possible", () => {
    // Beyond a limit of 2 cores one thread gains nothing by more CPU, sixteen gain much at this load. Parameters are certain.
    const sure = { ...late, covariances: late.covariances.map((each) => each.map(() => 0)) };
    const [thread, many, both] = [
      [1, 0, 0, 0, 0],
      [0, 0, 0, 0, 1],
      [0.5, 0, 0, 0, 0.5],
    ].map((weights) => changeInterval({ ...sure, weights }, at(2, 230), at(2.1, 230), 0.95));
    expect(many!.high).toBeLessThan(thread!.low);
    expect(both!.low).toBeLessThan(thread!.low);
    expect(both!.high).toBeGreaterThan(many!.high);
  });

  it("is finite and in order for any size and load", () => {
    const number = fc.double({ min: 1e-3, max: 1e3, noNaN: true });
    fc.assert(
      fc.property(number, number, number, number, (cores, load, toCores, toLoad) => {
        const { high, low } = changeInterval(early, at(cores, load), at(toCores, toLoad), 0.99);
        expect(low).toSatisfy(Number.isFinite);
        expect(high).toSatisfy(Number.isFinite);
        expect(low).toBeLessThanOrEqual(high);
      }),
    );
  });
});
