import type { DecisionContext } from "../observe/observation.ts";
import type { FlowVerdict, Verdict } from "../observe/verdict.ts";
import { duration, percent } from "../target.ts";

const MOST_CHARACTERS = 60;

/** How the application stands to its objective, for people: `p95 is 412 ms, objective 300 ms (137 %)`. */
export function standing(context: DecisionContext, { flows }: Verdict): string {
  return standingOf(context, flows, false);
}

/**
 * The same of the slowest flow through one service, by name: `p95 of 'GET /hotels' is 412 ms, …`. Undefined for a service
 * that none of the users' requests passes.
 */
export function standingThrough(
  context: DecisionContext,
  { flows }: Verdict,
  service: string,
): string | undefined {
  const through = flows.filter(
    ({ flow }) => flow.entryService === service || flow.services.includes(service),
  );
  return through.length === 0 ? undefined : standingOf(context, through, flows.length > 1);
}

function standingOf(
  { application: { objective }, settings: { minimumCalls } }: DecisionContext,
  flows: readonly FlowVerdict[],
  isNamed: boolean,
): string {
  const telling = flows.filter((flow) => flow.telling);
  const judged = telling.length > 0 ? telling : flows;
  const slowest = judged.reduce((worst, each) => (each.severity > worst.severity ? each : worst));
  const name = slowest.flow.flow.slice(0, MOST_CHARACTERS);
  const percentile = `p${Number((100 * objective.percentile).toFixed(3))}`;
  const seconds = objective.milliseconds / 1e3;
  const tail = `${percentile}${isNamed ? ` of '${name}'` : ""} is ${duration(slowest.severity * seconds)}`;
  const few = telling.length > 0 ? "" : `, by fewer than ${minimumCalls} requests`;
  return `${tail}, objective ${duration(seconds)} (${percent(slowest.severity)})${few}`;
}
