import type { RouteAccuracy } from "@tradewind/core/contract/accuracy.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { flowTailSeconds } from "../../decide/facts/objective.ts";
import { containerSize } from "../../decide/facts/size.ts";
import { userFlows, usersPerSecond } from "../../decide/facts/user-flows.ts";

/** A window that was decided on. */
interface PredictedWindow {
  readonly application: Application;
  readonly windowSet: Pick<WindowSet, "flows" | "windows">;
  /** As they are after it; undefined where no live models decided. */
  readonly models: WhatIf | undefined;
}

/** Windows that the errors are means of, the newest counting most. */
const MEMORY_WINDOWS = 40;
const MOST_ROUTES = 1_000;

/**
 * How far off the percentile of each route is that the models of the window before give for the load and the sizes of a window, beside the
 * rule of one line: it stays as it was in the window before.
 */
export class RouteErrors {
  readonly #errors = new Map<string, RouteAccuracy>();
  #before: { readonly models: WhatIf; readonly perSecond: number } | undefined;
  #lastSeconds: ReadonlyMap<string, number> = new Map();

  adopt({ application, models, windowSet }: PredictedWindow): void {
    const { percentile } = application.objective;
    const perSecond = usersPerSecond(windowSet.flows, application);
    const predicted = this.#predicted(windowSet.windows, perSecond);
    const measured = new Map(
      userFlows(windowSet.flows, application).held.map(({ flow }): [string, number] => [
        flow.flow,
        flowTailSeconds(flow.latency, percentile),
      ]),
    );
    for (const [route, seconds] of measured) this.#learn(route, seconds, predicted.get(route));
    this.#lastSeconds = measured;
    this.#before = models && { models, perSecond };
  }

  /** Of each route that was predicted. */
  list(): RouteAccuracy[] {
    return [...this.#errors.values()];
  }

  #predicted(windows: WindowSet["windows"], perSecond: number): ReadonlyMap<string, number> {
    if (this.#before === undefined || !(perSecond > 0) || !(this.#before.perSecond > 0)) return new Map();
    const { models, perSecond: before } = this.#before;
    const cost = models.models(perSecond / before / models.loadRatio);
    const sizes = new Map(
      windows.flatMap((window) => {
        const { replicasReady: replicas = 0 } = window;
        const size = containerSize(window);
        return size === undefined || replicas === 0 ? [] : [[window.service, { ...size, replicas }] as const];
      }),
    );
    for (const [number, { name }] of cost.services.entries()) {
      const size = sizes.get(name);
      if (size !== undefined) cost.set(number, size);
    }
    return new Map(
      Array.from({ length: cost.routeCount }, (_, route) => [
        cost.routeOf(route).graph.flow,
        cost.tailOf(route),
      ]),
    );
  }

  #learn(route: string, seconds: number, predictedSeconds: number | undefined): void {
    const lastSeconds = this.#lastSeconds.get(route);
    const isKnown = [seconds, predictedSeconds, lastSeconds].every((each) => each !== undefined && each > 0);
    if (!isKnown || predictedSeconds === undefined || lastSeconds === undefined) return;
    const { modelError = 0, ruleError = 0, windows = 0 } = this.#errors.get(route) ?? {};
    if (windows === 0 && this.#errors.size >= MOST_ROUTES) return;
    const share = 1 / Math.min(MEMORY_WINDOWS, windows + 1);
    const mean = (before: number, expectedSeconds: number): number =>
      before + share * (Math.abs(Math.log(seconds / expectedSeconds)) - before);
    this.#errors.set(route, {
      route,
      windows: windows + 1,
      modelError: mean(modelError, predictedSeconds),
      ruleError: mean(ruleError, lastSeconds),
    });
  }
}
