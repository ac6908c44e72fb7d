import type { PlanDisruptions } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import type { Refusal } from "./decide.ts";
import type { GuardContext } from "./guard/step.ts";
import type { ServiceSight } from "./rollback/watch.ts";
import type { BookEntry } from "../keep/book-entry.ts";

/** Of which application a plan is; undefined where there is only one: its plan then is of everything. */
export type Scope = { readonly namespace: string; readonly name: string } | undefined;
export const EVERYTHING: Scope = undefined;

export const keyOf = (scope: Scope): string =>
  scope === undefined ? "" : `${scope.namespace}/${scope.name}`;

export function isOf({ recommendation }: BookEntry, scope: Scope): boolean {
  if (scope === undefined) return true;
  return recommendation.application === scope.name && recommendation.namespace === scope.namespace;
}

export const nothingNew = (scope: Scope, disruptions: readonly PlanDisruptions[] = []): PlanDraft => ({
  scope,
  disruptions: new Map(disruptions.map(({ service, ...rest }) => [service, rest])),
  contexts: new Map(),
  entries: new Map(),
  refusals: new Map(),
  approvals: new Map(),
  sights: new Map(),
  complete: true,
  windowEndMs: 0,
});

/** What a plan comes to, by service. */
export interface PlanDraft {
  readonly scope: Scope;
  /** What PodDisruptionBudgets allow, by service. */
  readonly disruptions: ReadonlyMap<string, Omit<PlanDisruptions, "service">>;
  /** What the guard reads of each service that it does not refuse. */
  readonly contexts: Map<string, GuardContext>;
  readonly entries: Map<string, BookEntry>;
  readonly refusals: Map<string, Refusal>;
  /** Records of services whose large changes wait for a person. */
  readonly approvals: Map<string, DecisionRecord>;
  /** What changes are judged by: each service, and whether all of them were measured. */
  readonly sights: Map<string, ServiceSight>;
  complete: boolean;
  /** Of the newest measurements behind the wishes. */
  windowEndMs: number;
}
