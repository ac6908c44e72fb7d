import type { Plan } from "@tradewind/core/contract/plan.ts";
import { WHAT_IF_SCHEMA } from "@tradewind/core/contract/what-if.ts";
import type { WhatIfAnswer, WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { suppose } from "../decide/suppose.ts";
import type { WhatIf } from "../decide/what-if.ts";

/** A decision with the models that it was made by. */
export interface DecidedModels {
  readonly plan: Plan;
  /** Undefined where no live models decided. */
  readonly models: WhatIf | undefined;
}

/** Answers what would be at other sizes or another load, by the models of the last decision. */
export class LastWhatIf {
  #last: DecidedModels | undefined;

  /** Undefined before the first decision. */
  get last(): DecidedModels | undefined {
    return this.#last;
  }

  /** @param models undefined where no live models decided */
  adopt(plan: Plan, models: WhatIf | undefined): void {
    this.#last = { plan, models };
  }

  /**
   * @throws TradewindError `no-plan-yet`, `no-models` where the policy that decided has none, `unknown-service`
   */
  answer(request: WhatIfRequest): WhatIfAnswer {
    const { plan, models } = this.#last ?? {};
    if (plan === undefined)
      throw new TradewindError("no-plan-yet", "no window has closed since the start; ask again");
    const { application, namespace, objective, plannedAtMs, policy, policyReason } = plan;
    if (models === undefined)
      throw new TradewindError(
        "no-models",
        `policy '${policy}' decided without live models: ${policyReason}`,
      );
    const stranger = request.services.find((each) => (each.namespace ?? namespace) !== namespace);
    if (stranger !== undefined)
      throw new TradewindError(
        "unknown-service",
        `'${stranger.service}' is asked for in namespace '${stranger.namespace}'; '${application}' is in '${namespace}'`,
      );
    try {
      const supposed = suppose(models, request);
      const about = { application, namespace, decidedAtMs: plannedAtMs, policy, objective };
      return { schema: WHAT_IF_SCHEMA, ...about, ...supposed };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const remedy = "ask without services for those that can be asked about";
      throw new TradewindError("unknown-service", `${error.message}; ${remedy}`, { cause: error });
    }
  }
}
