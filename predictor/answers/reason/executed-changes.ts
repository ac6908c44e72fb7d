import type { IncidentChange } from "@tradewind/core/contract/incident.ts";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import { changesSince } from "./incident-log.ts";
import type { SizesByService } from "./incident-log.ts";

/** Windows after a change until what it did is looked at. */
const SETTLES = 2;
/** The load may differ by this share; beyond it nothing can be said. */
const SAME_LOAD = 0.15;
/** A change of the SLO ratio by less is none: 2 % of the objective, as for counterfactuals. */
const SAME = 0.02;

/** A window as far as changes of sizes go. */
export interface SizedWindow {
  /** SLO ratio; undefined where it is not known. */
  readonly ratio: number | undefined;
  readonly load: number | undefined;
  readonly sizes: SizesByService;
  /** The newest explanation while the objective is missed. */
  readonly told:
    | (Pick<Explanation, "atMs" | "causes" | "counterfactuals"> & Partial<Pick<Explanation, "opinion">>)
    | undefined;
}

type Outcome = "better" | "same" | "worse";

interface Step {
  readonly service: string;
  readonly resource: "cpu" | "replicas";
  readonly to: number;
}

/** One size that grew while the objective was missed, and what came of it. */
export interface ExecutedChange extends Step {
  /** Of the explanation that was made before. */
  readonly atMs: number;
  readonly observed: Outcome;
  /** The objective is met after it. */
  readonly ends: boolean;
  /** What the models expected; undefined where they were not asked. */
  readonly expected: Outcome | undefined;
  /** Services that were named, most likely first. */
  readonly named: readonly string[];
}

interface Awaited {
  readonly step: Step;
  readonly before: { readonly ratio: number; readonly load: number };
  readonly told: NonNullable<SizedWindow["told"]>;
  readonly windows: number;
}

/** The last window, and a change whose effect is awaited. */
export interface ChangeWatch {
  readonly last: SizedWindow | undefined;
  readonly awaited: Awaited | undefined;
}
export const NOTHING_WATCHED: ChangeWatch = { last: undefined, awaited: undefined };

/**
 * Takes one more window. Judged is a size that grew alone, at the same load: whatever else changes within two windows, nothing is
 * said.
 */
export function watchChange(
  { awaited, last }: ChangeWatch,
  window: SizedWindow,
): { readonly watch: ChangeWatch; readonly executed?: ExecutedChange } {
  const changes = last === undefined ? [] : changesSince(last.sizes, window.sizes);
  if (changes.length > 0) return { watch: { last: window, awaited: begun(changes, last) } };
  if (awaited === undefined) return { watch: { last: window, awaited } };
  const windows = awaited.windows + 1;
  if (windows < SETTLES) return { watch: { last: window, awaited: { ...awaited, windows } } };
  const executed = outcomeOf(awaited, window);
  return { watch: { last: window, awaited: undefined }, ...(executed && { executed }) };
}

function begun(changes: readonly IncidentChange[], last: SizedWindow | undefined): Awaited | undefined {
  const [change, ...others] = changes;
  const { load, ratio, told } = last ?? {};
  if (change === undefined || others.length > 0 || change.to <= change.from) return undefined;
  if (told === undefined || ratio === undefined || ratio <= 1 || load === undefined) return undefined;
  const { resource, service, to } = change;
  return { step: { service, resource, to }, before: { ratio, load }, told, windows: 0 };
}

function outcomeOf(
  { before, step, told }: Awaited,
  { load, ratio }: SizedWindow,
): ExecutedChange | undefined {
  if (ratio === undefined || load === undefined || !(Math.abs(load / before.load - 1) <= SAME_LOAD))
    return undefined;
  const change = ratio - before.ratio;
  const observed = change < -SAME ? "better" : change > SAME ? "worse" : "same";
  const [asked] = [...told.counterfactuals, ...(told.opinion?.counterfactuals ?? [])]
    .filter((each) => each.service === step.service && each.resource === step.resource)
    .toSorted((a, b) => Math.abs(a.to - step.to) - Math.abs(b.to - step.to));
  return {
    ...step,
    atMs: told.atMs,
    observed,
    ends: ratio <= 1,
    expected: asked?.outcome,
    named: told.causes.map(({ service }) => service),
  };
}

/**
 * The service that was the cause, as far as an executed change tells: the one that grew where that helped, if it was named or ended
 * the miss. Undefined where it tells nothing: what did not help may have been too little.
 */
export const causeByChange = ({ ends, named, observed, service }: ExecutedChange): string | undefined =>
  observed === "better" && (ends || named.includes(service)) ? service : undefined;
