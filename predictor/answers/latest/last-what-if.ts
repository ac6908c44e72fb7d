import type { Plan } from "@tradewind/core/contract/plan.ts";
import { WHAT_IF_SCHEMA } from "@tradewind/core/contract/what-if.ts";
import type { WhatIfAnswer, WhatIfRequest, WhatIfWarning } from "@tradewind/core/contract/what-if.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { suppose } from "../../decide/cost/price/suppose.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { lastWindowOf, warningsOf } from "./against-measured.ts";
import type { LastWindow } from "./against-measured.ts";

/** What its models say of the last window. */
interface AgainstMeasured {
  readonly lastWindows: ReadonlyMap<string, LastWindow>;
  readonly warnings: WhatIfWarning[];
}

/** A decision with the models that it was made by. */
export interface DecidedModels {
  readonly plan: Plan;
  /** Undefined where no live models decided. */
  readonly models: WhatIf | undefined;
}

/** A decision that was published. */
interface PublishedDecision extends DecidedModels {
  /** That it was decided on. */
  readonly windowSet: Pick<WindowSet, "flows" | "windows">;
  /** How many windows the model of each service has seen. */
  readonly services: readonly { readonly service: string; readonly windows: number }[];
}

/** Answers what would be at other sizes or another load, by the models of the last decision. */
export class LastWhatIf {
  #last: PublishedDecision | undefined;
  #against: AgainstMeasured | undefined;

  /** Undefined before the first decision. */
  get last(): DecidedModels | undefined {
    return this.#last;
  }

  adopt(decided: PublishedDecision): void {
    this.#last = decided;
    this.#against = undefined;
  }

  /**
   * @throws TradewindError `no-plan-yet`, `no-models` where the policy that decided has none, `unknown-service`
   */
  answer(request: WhatIfRequest): WhatIfAnswer {
    if (this.#last === undefined)
      throw new TradewindError("no-plan-yet", "no window has closed since the start; ask again");
    const { models, plan } = this.#last;
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
      mustBeModelled(supposed.services);
      const about = { application, namespace, decidedAtMs: plannedAtMs, policy, objective };
      const { lastWindows, warnings } = this.#measured(models, this.#last);
      const routes = supposed.routes.map((each) => {
        const lastWindow = lastWindows.get(each.route);
        return lastWindow === undefined ? each : Object.assign(each, { lastWindow });
      });
      return { schema: WHAT_IF_SCHEMA, ...about, ...supposed, routes, warnings };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const remedy = "ask without services for those that can be asked about";
      throw new TradewindError("unknown-service", `${error.message}; ${remedy}`, { cause: error });
    }
  }

  /** The same for every question about one decision. */
  #measured(models: WhatIf, { plan, services, windowSet }: PublishedDecision): AgainstMeasured {
    if (this.#against !== undefined) return this.#against;
    const lastWindows = lastWindowOf(models, windowSet, plan.objective.percentile);
    const modelled = new Set(models.models(1).services.flatMap(({ name, own }) => (own ? [name] : [])));
    const windows = services.flatMap((each) =>
      modelled.has(each.service) ? [[each.service, each.windows] as const] : [],
    );
    this.#against = { lastWindows, warnings: warningsOf(lastWindows, new Map(windows)) };
    return this.#against;
  }
}

/** Without a model of any of these services the answer would be what runs, whatever was asked. @throws TradewindError `no-models` */
function mustBeModelled(services: WhatIfAnswer["services"]): void {
  if (services.length === 0 || services.some(({ isModelled }) => isModelled)) return;
  const names = services.map(({ service }) => service).slice(0, 5);
  throw new TradewindError(
    "no-models",
    `the replicas and sizes of ${names.join(", ")} are not known, so no model answers: give --workloads, or resources: true of the Prometheus source`,
  );
}
