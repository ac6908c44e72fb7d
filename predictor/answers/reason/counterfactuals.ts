import type { CheckedCounterfactual } from "@tradewind/core/contract/explanation.ts";
import type { ExpectedEffect, WhatIf } from "../../decide/cost/price/what-if.ts";
import type { Suspect } from "./rank.ts";
import type { Judged } from "./shares.ts";

/** A change of the tail by less than this share of the objective is none. */
const SAME = 0.02;
const MOST_SUSPECTS = 5;
const STEPS = [1, 2] as const;

type Models = Pick<WhatIf, "resized" | "ownTime">;

function outcomeOf(
  { tailAfterSeconds, tailBeforeSeconds }: Pick<ExpectedEffect, "tailAfterSeconds" | "tailBeforeSeconds">,
  objectiveSeconds: number,
): CheckedCounterfactual["outcome"] {
  const change = (tailAfterSeconds - tailBeforeSeconds) / objectiveSeconds;
  return change < -SAME ? "better" : change > SAME ? "worse" : "same";
}

/** The models expect a miss before the change, and none after it. */
const endsMiss = (
  { tailAfterSeconds, tailBeforeSeconds }: ExpectedEffect,
  objectiveSeconds: number,
): boolean => tailBeforeSeconds > objectiveSeconds && tailAfterSeconds <= objectiveSeconds;

/** A change that was run on the models, judged. */
export function checkedOf(
  service: string,
  resource: CheckedCounterfactual["resource"],
  expected: ExpectedEffect,
  objectiveSeconds: number,
): CheckedCounterfactual {
  const outcome = outcomeOf(expected, objectiveSeconds);
  return { service, resource, ...expected, outcome, ends: endsMiss(expected, objectiveSeconds) };
}

/**
 * What the live models say of one and two steps more of each resource for the first suspects, and of each answering as it did
 * before the onset. A service without a model has none.
 */
export function counterfactuals(
  models: Models,
  suspects: readonly Suspect[],
  judged: readonly Judged[],
  objectiveSeconds: number,
): CheckedCounterfactual[] {
  const readings = new Map(judged.map((each) => [each.name, each.readings]));
  const found: CheckedCounterfactual[] = [];
  for (const { service } of suspects.slice(0, MOST_SUSPECTS)) {
    const add = (resource: CheckedCounterfactual["resource"], expected: ExpectedEffect | undefined): void => {
      if (expected !== undefined) found.push(checkedOf(service, resource, expected, objectiveSeconds));
    };
    for (const resource of ["replicas", "cpu"] as const)
      for (const steps of STEPS) add(resource, models.resized(service, { resource, steps }));
    const own = readings.get(service)?.get("selfTimeP95");
    if (own?.baseline !== undefined) add("own-time", models.ownTime(service, own.value, own.baseline));
  }
  return found;
}
