import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { inputs, START_MS, WINDOW_MS } from "../measurements.ts";
import { chained } from "./modelled.ts";
import type { ModelledService } from "./modelled.ts";

export const made = (service: string, overrides: Partial<ModelledService> = {}): ModelledService => ({
  service,
  replicas: 4,
  cores: 1,
  cpuSecondsPerRequest: 0.02,
  baseSeconds: 0.03,
  requestsPerSecond: 40,
  ...overrides,
});
export const FRONTEND = made("frontend", { replicas: 1, cpuSecondsPerRequest: 0.005, baseSeconds: 0.01 });
export const SHOP = [FRONTEND, made("backend")];

/** What is measured otherwise in the window of that number. */
export type Change = (set: WindowSet, at: number) => WindowSet;
export const unchanged: Change = (set) => set;

/** Decisions on so many windows of these services; what is decided does not run, so all windows are alike. */
export function course(
  count: number,
  services: readonly ModelledService[] = SHOP,
  change: Change = unchanged,
  overrides: Partial<PolicyInputs> = {},
): PolicyOutcome[] {
  let state: PolicyInputs["state"] | undefined;
  return Array.from({ length: count }, (_, at) => {
    const set = change(chained(services, START_MS + at * WINDOW_MS), at);
    const outcome = decide(inputs(set, { ...overrides, ...(state && { state }) }));
    ({ state } = outcome);
    return outcome;
  });
}

export const wishOf = ({ plan }: PolicyOutcome, service: string): Wish =>
  plan.wishes.find((one) => one.service === service)!;
export const replicasOf = (outcome: PolicyOutcome, service = "backend"): number =>
  wishOf(outcome, service).allocation.replicas;
export const last = (outcomes: readonly PolicyOutcome[]): PolicyOutcome => outcomes.at(-1)!;
