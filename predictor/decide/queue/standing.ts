import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { DecisionContext } from "../facts/observation.ts";
import { failureReason, MOST_CHARACTERS } from "../facts/reasons.ts";
import type { FlowVerdict, Verdict } from "../facts/verdict.ts";

/** How the application stands to its objective; by the name of the worst route where there are several objectives. */
export function standing(context: DecisionContext, { flows }: Verdict): Reason {
  const [first] = flows;
  return standingOf(
    context,
    flows,
    flows.some(({ objective }) => objective !== first?.objective),
  );
}

/**
 * The same of the slowest route through one service, by name. Undefined for a service that none of the users' requests
 * passes.
 */
export function standingThrough(
  context: DecisionContext,
  { flows }: Verdict,
  service: string,
): Reason | undefined {
  const through = flows.filter(
    ({ flow }) => flow.entryService === service || flow.services.includes(service),
  );
  return through.length === 0 ? undefined : standingOf(context, through, flows.length > 1);
}

function standingOf(
  { settings: { minimumCalls } }: DecisionContext,
  flows: readonly FlowVerdict[],
  isNamed: boolean,
): Reason {
  const telling = flows.filter((flow) => flow.telling);
  const judged = telling.length > 0 ? telling : flows;
  const slowest = judged.reduce((worst, each) => (each.severity > worst.severity ? each : worst));
  const { percentile, tailSeconds: objectiveSeconds } = slowest.objective;
  if (slowest.isFailing && slowest.tailSeconds / objectiveSeconds < slowest.severity)
    return failureReason(slowest, isNamed);
  return {
    code: slowest.severity > 1 ? "slo-violated" : "slo-met",
    percentile,
    latencySeconds: slowest.severity * objectiveSeconds,
    objectiveSeconds,
    ...(isNamed && { route: slowest.flow.flow.slice(0, MOST_CHARACTERS) }),
    ...(telling.length === 0 && { fewerThanRequests: minimumCalls }),
  };
}
