import type { CauseJudgement } from "@tradewind/core/contract/accuracy.ts";
import type { Explanation, ModelOpinion } from "@tradewind/core/contract/explanation.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** Counts explanations and shows the causes that the last one names. */
export class ExplanationMetrics {
  readonly #made: Counter<"verdict">;
  readonly #counterfactuals: Counter<"outcome">;
  readonly #verdicts: Counter<"verdict">;
  readonly #agreements: Counter<"agrees">;
  readonly #judged: Counter<"reasoner" | "source" | "verdict">;
  readonly #executed: Counter<"agreed">;
  readonly #causes: Gauge<"application" | "service" | "type">;

  /** @param isMissed whether the objective is missed now: causes are shown only then */
  constructor(registry: Registry, current: () => Explanation | undefined) {
    const registers = [registry];
    this.#made = new Counter({
      name: "tradewind_explanations_total",
      help: "Explanations of a missed objective: named, where they name a cause, else abstained.",
      labelNames: ["verdict"],
      registers,
    });
    this.#counterfactuals = new Counter({
      name: "tradewind_counterfactuals_total",
      help: "Supposed changes that were run on the live models for explanations, by what they do to the slowest route.",
      labelNames: ["outcome"],
      registers,
    });
    this.#verdicts = new Counter({
      name: "tradewind_reasoner_verdicts_total",
      help: "Parts of a language model's answers by verdict: kept, or why not.",
      labelNames: ["verdict"],
      registers,
    });
    this.#agreements = new Counter({
      name: "tradewind_reasoner_agreements_total",
      help: "Checked answers of a language model, by whether the first cause is that of the built-in reasoner.",
      labelNames: ["agrees"],
      registers,
    });
    this.#judged = new Counter({
      name: "tradewind_causes_judged_total",
      help: "Explanations judged by what the cause was, by who named it, who judged (operator, injected, verified by a change that was carried out) and verdict: named first, among others, wrong, none named.",
      labelNames: ["reasoner", "source", "verdict"],
      registers,
    });
    this.#executed = new Counter({
      name: "tradewind_counterfactuals_executed_total",
      help: "Supposed changes that were carried out while the objective was missed, by whether they did what the models expected.",
      labelNames: ["agreed"],
      registers,
    });
    this.#causes = new Gauge({
      name: "tradewind_cause_confidence_ratio",
      help: "Confidence in each cause that is named while the objective is missed; type: C CPU, M memory, D disk, N network, I interference, L load, V new version, X outside.",
      labelNames: ["application", "service", "type"],
      registers,
      collect() {
        this.reset();
        const { application = "", causes = [] } = current() ?? {};
        for (const { confidence, service, type } of causes)
          this.set({ application, service, type }, confidence);
      },
    });
    this.#causes.reset();
    for (const verdict of ["named", "abstained"]) this.#made.inc({ verdict }, 0);
    for (const outcome of ["better", "same", "worse"]) this.#counterfactuals.inc({ outcome }, 0);
    for (const agreed of ["true", "false"]) this.#executed.inc({ agreed }, 0);
  }

  answered({ agrees, verdicts }: ModelOpinion): void {
    this.#agreements.inc({ agrees: String(agrees) });
    for (const [verdict, count] of Object.entries(verdicts)) this.#verdicts.inc({ verdict }, count);
  }

  judged({ reasoner, source, verdict }: CauseJudgement): void {
    this.#judged.inc({ reasoner, source, verdict });
  }

  executed(isAgreed: boolean): void {
    this.#executed.inc({ agreed: String(isAgreed) });
  }

  explained({ causes, counterfactuals }: Explanation): void {
    this.#made.inc({ verdict: causes.length > 0 ? "named" : "abstained" });
    for (const { outcome } of counterfactuals) this.#counterfactuals.inc({ outcome });
  }
}
