import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { levelsAfter } from "@tradewind/predictor/decide/cost/learn/learn-levels.ts";
import { profileObservation } from "@tradewind/predictor/decide/cost/learn/service-reading.ts";
import type { ServiceModelMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { emptyProfile } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { track } from "@tradewind/predictor/models/queue/track.ts";
import { surroundingsOf } from "@tradewind/predictor/models/network/surroundings.ts";
import type { NetworkWindow } from "@tradewind/predictor/models/network/window-inputs.ts";
import type { Scenario } from "./application.ts";
import { simulatedWindow, sweptStates } from "./windows.ts";

/** The windows of a profiling sweep of a simulated application, oldest first. */
export function simulatedSweep(scenario: Scenario, windows: number, rng: Rng): WindowSet[] {
  return Array.from({ length: windows }, (_, i) =>
    simulatedWindow(scenario, sweptStates(scenario, rng), i * 15_000, rng),
  );
}

/** What the predictor knows of a service. */
export type ServiceModel = Pick<ServiceModelMemory, "level" | "network" | "profile" | "service">;

/** A service's windows as its models take them in. */
export function seenOf(sets: readonly WindowSet[], service: string): NetworkWindow[] {
  return sets.flatMap(({ windows }) => {
    const window = windows.find((each) => each.service === service);
    if (window === undefined) return [];
    const observation = profileObservation(window, false, { youngSeconds: 0 });
    return observation === undefined ? [] : [{ observation, surroundings: surroundingsOf(window) }];
  });
}

/** What is known after more windows, as the predictor learns. */
export const learntFrom = (before: ServiceModel, windows: readonly NetworkWindow[]): ServiceModel =>
  windows.reduce((model: ServiceModel, window) => {
    const profile = track(model.profile, window.observation);
    return {
      service: model.service,
      profile,
      ...levelsAfter(model, window, profile, { hasNetwork: true, percentile: 0.95 }),
    };
  }, before);

/** All services, from the windows alone. */
export const learnServices = (scenario: Scenario, sweep: readonly WindowSet[]): ServiceModel[] =>
  scenario.truth.services.map(({ name: service }) =>
    learntFrom({ service, profile: emptyProfile() }, seenOf(sweep, service)),
  );
