import type { Application } from "@tradewind/core/contract/application.ts";
import type { CoursePoint } from "@tradewind/core/contract/measured.ts";
import type { NodeClass } from "@tradewind/core/contract/node-classes.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { PROPOSAL_CHECK_SCHEMA, PROPOSAL_VERDICTS } from "@tradewind/core/contract/proposal.ts";
import type { ProposalCheck, ProposalList } from "@tradewind/core/contract/proposal.ts";
import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { checkProposal } from "../../answers/reason/check-proposal.ts";
import { LOAD_MEANS, proposalConfidence } from "../../answers/reason/proposal-confidence.ts";
import { proposalsOf } from "../../answers/reason/proposals-of-plan.ts";

const FIVE_MINUTES_MS = 300_000;

/** What is known when proposals are asked for. */
export interface ProposingParts {
  readonly application: () => Application;
  /** The last decision; undefined before the first. */
  readonly last: () => { readonly plan: Plan; readonly models: WhatIf | undefined } | undefined;
  readonly isMissed: () => boolean;
  readonly classes: () => readonly NodeClass[];
  /** Of past incidents like the present one, most alike first. */
  readonly similarities: () => readonly number[];
  /** Windows after a time, oldest first. */
  readonly course: (sinceMs: number) => readonly Pick<CoursePoint, "atMs" | "requestsPerSecond">[];
  readonly nowMs: () => number;
  readonly registry: Registry;
}

/** Proposals in InfraLLM's form: those of the last plan, and what to make of others'. Nothing is carried out here. */
export class Proposing {
  readonly #parts: ProposingParts;
  readonly #checked: Counter<"verdict">;

  constructor(parts: ProposingParts) {
    this.#parts = parts;
    this.#checked = new Counter({
      name: "tradewind_proposals_checked_total",
      help: "Proposals that were sent to be checked, by verdict: kept, or why not.",
      labelNames: ["verdict"],
      registers: [parts.registry],
    });
    for (const verdict of PROPOSAL_VERDICTS) this.#checked.inc({ verdict }, 0);
  }

  /** Undefined before the first plan. */
  list(): ProposalList | undefined {
    const last = this.#parts.last();
    return last && { proposals: proposalsOf(last.plan, this.#confidence(last.plan)) };
  }

  /** Undefined before the first plan. Never throws, whatever the values are. */
  check(values: readonly unknown[]): ProposalCheck | undefined {
    const last = this.#parts.last();
    if (last === undefined) return undefined;
    const { models, plan } = last;
    const { application, isMissed, nowMs } = this.#parts;
    const context = {
      plan,
      models,
      isMissed: isMissed(),
      budgetPods: application().budget.pods,
      nowMs: nowMs(),
      classes: this.#parts.classes,
      confidenceOf: this.#confidence(plan),
    };
    const proposals = values.map((each) => checkProposal(each, context));
    for (const { verdict } of proposals) this.#checked.inc({ verdict });
    const { application: name, namespace, plannedAtMs: decidedAtMs, policy } = plan;
    return { schema: PROPOSAL_CHECK_SCHEMA, application: name, namespace, decidedAtMs, policy, proposals };
  }

  #confidence({ wishes }: Plan): (service: string) => number {
    const similarities = this.#parts.similarities();
    const loads = this.#loads();
    const errors = new Map(wishes.map(({ evidence, service }) => [service, evidence["profileErrorRatio"]]));
    return (service) => proposalConfidence({ similarities, loads, error: errors.get(service) });
  }

  /** Means of the load over the last five minutes each, oldest first; those without a window are left out. */
  #loads(): number[] {
    const nowMs = this.#parts.nowMs();
    const points = this.#parts.course(nowMs - LOAD_MEANS * FIVE_MINUTES_MS);
    const parts = Map.groupBy(points, ({ atMs }) => Math.floor((nowMs - atMs) / FIVE_MINUTES_MS));
    return [...parts]
      .toSorted(([a], [b]) => b - a)
      .map(([, each]) => each.reduce((sum, one) => sum + one.requestsPerSecond, 0) / each.length);
  }
}
