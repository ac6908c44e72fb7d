import type { Application } from "@tradewind/core/contract/application.ts";
import type { ApplicationMode, Plan } from "@tradewind/core/contract/plan.ts";

/**
 * The mode that a plan is handled in: what the exporter itself reads of the application goes before what the plan says. Plans
 * that say nothing are of releases or tools that know no mode, and are acted on.
 * @param own the application as the exporter reads it; undefined where it does not
 */
export function modeOf(
  { application, mode }: Pick<Plan, "application" | "mode">,
  namespace: string,
  own: Application | undefined,
): ApplicationMode {
  const isOfPlan = own?.name === application && own.namespace === namespace;
  return (isOfPlan ? own.mode : mode) ?? "act";
}
