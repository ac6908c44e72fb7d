import type { Course } from "@tradewind/core/contract/measured.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import type { HourlyCost, JudgedRequests } from "../../decide/facts/accounts.ts";
import { CourseLog } from "./course-log.ts";
import { measured } from "./measured.ts";

/** A window that was decided on. */
export interface MeasuredWindow {
  readonly application: Application;
  readonly windowSet: WindowSet;
  readonly plan: Plan;
  readonly requests: JudgedRequests;
  readonly cost: HourlyCost | undefined;
  /** Undefined where no live models decided. */
  readonly models: WhatIf | undefined;
}

/** What was measured in the last window, summed up when somebody asks, and the course of those before. */
export class LastMeasured {
  readonly #log = new CourseLog();
  #last: MeasuredWindow | undefined;
  #text: string | undefined;

  adopt(window: MeasuredWindow): void {
    const { cost, plan, requests, windowSet } = window;
    this.#last = window;
    this.#text = undefined;
    const all = requests.good + requests.bad;
    const point = {
      atMs: windowSet.endMs,
      ...(plan.measuredLatencySeconds !== undefined && { latencySeconds: plan.measuredLatencySeconds }),
      objectiveSeconds: plan.objective.seconds,
      requestsPerSecond: (1e3 * all) / (windowSet.endMs - windowSet.startMs),
      overRatio: all > 0 ? Math.min(1, requests.bad / all) : 0,
      ...(cost && { costPerHour: cost.running, recommendedCostPerHour: cost.recommended }),
      policy: plan.policy,
    };
    this.#log.add(point, windowSet.windows);
  }

  /** As JSON; undefined before the first window. */
  text(): string | undefined {
    if (this.#last === undefined) return undefined;
    const { application, models, windowSet } = this.#last;
    this.#text ??= JSON.stringify(
      measured({
        application: application.name,
        namespace: application.namespace,
        entry: application.entry,
        windowSet,
        tailShares: models?.tailShares() ?? new Map(),
      }),
    );
    return this.#text;
  }

  /** @param sinceMs only windows that ended after it */
  course(of: Pick<Course, "application" | "namespace">, sinceMs?: number): Course {
    return this.#log.course(of, sinceMs);
  }
}
