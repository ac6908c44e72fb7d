import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { profileObservation } from "@tradewind/predictor/decide/cost/learn/learn-services.ts";
import { emptyProfile, track } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { ProfileState } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { surroundingsOf } from "@tradewind/predictor/models/residual/inputs.ts";
import type { InUse } from "@tradewind/predictor/models/residual/standing.ts";
import type { ServiceWindow } from "@tradewind/predictor/models/residual/served-rows.ts";
import { provenResidual } from "@tradewind/simulator/backtest/service-model.ts";
import type { Scenario } from "./application.ts";
import { simulatedWindow, sweptStates } from "./windows.ts";

/** The windows of a profiling sweep of a simulated application, oldest first. */
export function simulatedSweep(scenario: Scenario, windows: number, rng: Rng): WindowSet[] {
  return Array.from({ length: windows }, (_, i) =>
    simulatedWindow(scenario, sweptStates(scenario, rng), i * 15_000, rng),
  );
}

/** What the predictor knows of a service. */
export interface ServiceModel {
  readonly service: string;
  readonly profile: ProfileState;
  /** Absent where later windows did not prove one. */
  readonly residual: InUse | undefined;
}

/** A service's windows as its models take them in. */
export function seenOf(sets: readonly WindowSet[], service: string): ServiceWindow[] {
  return sets.flatMap(({ windows }) => {
    const window = windows.find((each) => each.service === service);
    if (window === undefined) return [];
    const observation = profileObservation(window, false, { youngSeconds: 0 });
    return observation === undefined ? [] : [{ observation, surroundings: surroundingsOf(window) }];
  });
}

export const tracked = (before: ProfileState, windows: readonly ServiceWindow[]): ProfileState =>
  windows.reduce((state, { observation }) => track(state, observation), before);

/** A tracked profile of every service, and a residual where it is proven, from the windows alone, as the predictor learns. */
export function learnServices(scenario: Scenario, sweep: readonly WindowSet[]): ServiceModel[] {
  return scenario.truth.services.map(({ name: service }, i) => {
    const windows = seenOf(sweep, service);
    const job = {
      namespace: "default",
      service,
      windows,
      percentile: 0.95,
      version: 1,
      nowMs: 0,
      seed: i + 1,
    } as const;
    return {
      service,
      profile: tracked(emptyProfile(), windows),
      residual: provenResidual(job, seededRng(i + 1)),
    };
  });
}
