import type { ApplicationMode } from "@tradewind/core/contract/plan.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { describe, expect, it } from "vitest";
import { application, inputs, START_MS, WINDOW_MS } from "../measurements.ts";
import { chained } from "./modelled.ts";
import type { ModelledService } from "./modelled.ts";

const frontend: ModelledService = {
  service: "frontend",
  replicas: 1,
  cores: 1,
  cpuSecondsPerRequest: 0.005,
  baseSeconds: 0.01,
  requestsPerSecond: 40,
};
/** Idle with 8 replicas, too busy for the objective with 2. */
const backend = (replicas: number, requestsPerSecond: number): ModelledService => ({
  ...frontend,
  service: "backend",
  replicas,
  cpuSecondsPerRequest: 0.02,
  baseSeconds: 0.03,
  requestsPerSecond,
});

/** Decisions on windows in which the same goes on running, whatever was decided before. */
function course(
  mode: ApplicationMode,
  runs: readonly ModelledService[],
  choice: PolicyChoice = "auto",
  resize: "off" | "limits" = "off",
): PolicyOutcome[] {
  const app = application({ mode, resize });
  let state: PolicyInputs["state"] | undefined;
  return runs.map((service, at) => {
    const set = chained([frontend, service], START_MS + at * WINDOW_MS);
    const outcome = decide(inputs(set, { choice, application: app, ...(state && { state }) }));
    ({ state } = outcome);
    return outcome;
  });
}

const evidenceOf = ({ plan }: PolicyOutcome): Record<string, number> =>
  plan.wishes.find(({ service }) => service === "backend")!.evidence;
const replicasOf = ({ plan }: PolicyOutcome): number =>
  plan.wishes.find(({ service }) => service === "backend")!.allocation.replicas;
const often = (service: ModelledService, count = 30): ModelledService[] =>
  Array.from({ length: count }, () => service);

describe.each(["observe", "recommend"] as const)("mode %s, in which nobody carries decisions out", (mode) => {
  it.each(["auto", "queue"] as const)("starts every decision of policy %s from what runs", (choice) => {
    const outcomes = course(
      mode,
      [...often(backend(8, 10)), backend(5, 10), backend(6, 10)],
      choice,
      "limits",
    );
    expect(outcomes.map((each) => evidenceOf(each)["baseReplicas"])).toEqual([
      ...often(backend(8, 10)).map(() => 8),
      5,
      6,
    ]);
    expect(outcomes.every((each) => evidenceOf(each)["baseCpuCores"] === 1)).toBe(true);
    const [before] = outcomes.slice(29);
    expect(replicasOf(before!)).toBeLessThan(8);
  });

  it("recommends the same step down of queue balancing in every calm window", () => {
    const wished = course(mode, often(backend(8, 10)), "queue").map(replicasOf);
    expect(new Set(wished.slice(-20))).toEqual(new Set([7]));
  });

  it("learns nothing of how long starts take, nor that growth has had no effect", () => {
    const risen = [...often(backend(2, 40), 6), ...often(backend(2, 90), 20)];
    const last = course(mode, risen).at(-1)!;
    expect(replicasOf(last)).toBeGreaterThan(2);
    expect(last.state.cost?.services.some(({ rising }) => rising !== undefined)).toBe(false);
    expect(last.state.cost?.startSeconds).toBe(75);
    const queue = course(mode, often(backend(2, 85), 40), "queue").at(-1)!;
    expect(replicasOf(queue)).toBeGreaterThan(2);
    expect(queue.state.futile).toBeUndefined();
  });
});

it("mode act starts from the last decision, and notes that it waits for replicas to start", () => {
  const outcomes = course("act", [...often(backend(2, 40), 6), ...often(backend(2, 90), 2)]);
  expect(evidenceOf(outcomes.at(-1)!)["baseReplicas"]).toBeGreaterThan(2);
  expect(outcomes.at(-2)!.state.cost?.services.some(({ rising }) => rising !== undefined)).toBe(true);
});
