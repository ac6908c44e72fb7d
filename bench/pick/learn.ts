import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import type { ProfileModel } from "@tradewind/predictor/profile/model.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import { endToEndRows } from "@tradewind/predictor/training/end-to-end-rows.ts";
import { observedWindows } from "@tradewind/predictor/training/rows.ts";
import { trainEndToEnd } from "@tradewind/predictor/training/train-end-to-end.ts";
import type { Trainer } from "@tradewind/predictor/training/trainer.ts";
import type { TrainSettings } from "@tradewind/predictor/training/train-profile.ts";
import type { Scenario } from "./application.ts";
import { FLOW, simulatedWindow, sweptStates } from "./windows.ts";

/** The windows of a profiling sweep of a simulated application, oldest first. */
export function simulatedSweep(scenario: Scenario, windows: number, rng: Rng): WindowSet[] {
  return Array.from({ length: windows }, (_, i) =>
    simulatedWindow(scenario, sweptStates(scenario, rng), i * 15_000, rng),
  );
}

const windowsOf = (sweep: readonly WindowSet[], service: string): Window[] =>
  sweep.flatMap(({ windows }) => windows.filter((window) => window.service === service));

/** Trains the residual of the flow from the same windows; undefined where the call graph alone is as good. */
export function learnResidual(
  scenario: Scenario,
  sweep: readonly WindowSet[],
  seed: number,
): AttentionModel | undefined {
  const services = scenario.truth.services.map(({ name }) => name);
  const outcome = trainEndToEnd(
    {
      flow: FLOW,
      percentile: 0.95,
      services,
      rows: endToEndRows(sweep, FLOW, services, 0.95),
      current: undefined,
      nowMs: 0,
      settings: { starts: 1, maxSteps: 300 },
    },
    seededRng(seed),
  );
  return outcome.kind === "replaced" ? outcome.model : undefined;
}

/** Trains a profile for every service from the windows alone, as the predictor does. @throws Error when one fails */
export function learnProfiles(
  scenario: Scenario,
  sweep: readonly WindowSet[],
  trainers: readonly Trainer[],
  settings: Partial<TrainSettings>,
): Promise<ProfileModel[]> {
  return Promise.all(
    scenario.truth.services.map(async ({ name }, i) => {
      const trainer = trainers[i % trainers.length];
      if (trainer === undefined) throw new RangeError("no trainer");
      const outcome = await trainer.train({
        namespace: "default",
        service: name,
        windows: observedWindows(windowsOf(sweep, name), 0.95),
        percentile: 0.95,
        switches: ALL_ON,
        current: undefined,
        nowMs: 0,
        seed: i + 1,
        settings,
      });
      if (outcome.kind !== "replaced") {
        throw new Error(`profile of ${scenario.name} ${name}: ${JSON.stringify(outcome)}`);
      }
      return outcome.model;
    }),
  );
}
