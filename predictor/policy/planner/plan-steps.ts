import { MAX_WISH_STEPS, PLAN_RESOURCES } from "@tradewind/core/contract/plan.ts";
import type { WishStep } from "@tradewind/core/contract/plan.ts";
import type { Resource, Size } from "../../plan/plan-service.ts";
import type { PlanStep } from "../../plan/prepare.ts";

/** Beyond these steps are summed up by resource; the two other resources still find a place. */
const MOST_SINGLE_STEPS = MAX_WISH_STEPS - (PLAN_RESOURCES.length - 1);

/** The steps of a plan by service, as a wish records them: numbered through the plan, the last ones of many summed up. */
export function stepsByService(steps: readonly PlanStep[]): ReadonlyMap<string, readonly WishStep[]> {
  const recorded = new Map<string, WishStep[]>();
  for (const [index, step] of steps.entries()) {
    const known = recorded.get(step.service) ?? [];
    recorded.set(step.service, known);
    const next = toWishStep(step, index + 1);
    const same = known.findLast(({ resource }) => resource === next.resource);
    if (known.length < MOST_SINGLE_STEPS || same === undefined) known.push(next);
    else known[known.indexOf(same)] = summedUp(same, next);
  }
  return recorded;
}

function toWishStep(step: PlanStep, order: number): WishStep {
  const { resource, direction } = step;
  return {
    order,
    resource,
    direction,
    from: partOf(step.from, resource),
    to: partOf(step.to, resource),
    why: whyOf(step),
    tailBeforeSeconds: step.tailBeforeSeconds,
    tailAfterSeconds: step.tailAfterSeconds,
    costPerHour: step.costPerHour,
  };
}

function whyOf({ direction, from, resource, to }: PlanStep): string {
  if (direction === "up") return "of all steps it takes most off the tail for what it costs";
  const merges = resource === "replicas" && to.cpuCores > from.cpuCores;
  const grow = merges ? `; those left grow to ${Number(to.cpuCores.toPrecision(3))} cores` : "";
  return `of all steps it saves most for what it adds to the tail${grow}`;
}

function summedUp(first: WishStep, next: WishStep): WishStep {
  return {
    ...first,
    to: next.to,
    why: `${first.why.replace(/ \(several steps\)$/, "")} (several steps)`,
    tailAfterSeconds: next.tailAfterSeconds,
    costPerHour: first.costPerHour + next.costPerHour,
  };
}

function partOf(size: Size, resource: Resource): number {
  if (resource === "cpu") return size.cpuCores;
  return resource === "memory" ? size.memoryBytes : size.replicas;
}
