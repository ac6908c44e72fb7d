import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ModelConnection } from "../../answers/language-model/model.ts";
import type { Webhook } from "../../answers/language-model/webhook.ts";
import type { PredictorMetrics } from "../process/metrics.ts";
import type { PredictorOptions } from "../process/options.ts";
import type { NodeRoom } from "../../nodes/node-room.ts";
import type { ContainerRates } from "../../sources/container-rates.ts";
import type { MeasuredPrices } from "../../sources/opencost/prices.ts";
import type { Sections } from "../../sources/sources-config.ts";

/** How long windows wait for late spans, seconds. */
export interface Graces {
  readonly graceSeconds: number;
  /** Where spans come later than that; the same where the grace is configured. */
  readonly maxGraceSeconds: number;
}

/** What all applications of one predictor have in common. */
export interface SharedParts {
  readonly options: PredictorOptions & Graces;
  readonly sections: Sections;
  readonly rates: Pick<ContainerRates, "over">;
  readonly nodes: NodeRoom;
  /** What the cluster does not have of the workloads that an application names, in words. */
  readonly workloadProblem: (application: Application) => string | undefined;
  readonly metrics: PredictorMetrics;
  /** Told why objectives are missed; absent: nobody is. */
  readonly webhook: Webhook | undefined;
  /** A language model that is asked why too; absent: none. */
  readonly reasoner: ModelConnection | undefined;
  /** Prices in the place of those that applications state; absent: none are known. */
  readonly prices?: (() => MeasuredPrices | undefined) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** More than one may be planned: each has its share of memory, and series with its name. */
  readonly several: boolean;
}

/** An application with what OpenCost says that CPU and memory cost. */
export function priced(own: OwnParts, { prices }: Pick<SharedParts, "prices">): OwnParts {
  if (prices === undefined) return own;
  let last: { application: Application; measured: MeasuredPrices; it: Application } | undefined;
  return {
    ...own,
    current: () => {
      const [application, measured] = [own.current(), prices()];
      if (application === undefined || measured === undefined) return application;
      if (last?.application !== application || last.measured !== measured) {
        const it = { ...application, prices: { ...application.prices, ...measured } };
        last = { application, measured, it };
      }
      return last.it;
    },
  };
}

/** One application as its predictor finds it. */
export interface OwnParts {
  /** At the start; its name and namespace stay. */
  readonly application: Application;
  /** As of now; undefined once it was deleted. */
  readonly current: () => Application | undefined;
  /** What runs of it. */
  readonly workloads: () => WorkloadList | undefined;
  /** All that is known to run, other applications' too: it takes room on the nodes; absent: {@link workloads} is all. */
  readonly onNodes?: (() => WorkloadList | undefined) | undefined;
  /** Where its state is kept; absent: nowhere. */
  readonly directory: string | undefined;
  /** What of its spans it does not get, in words. */
  readonly missing?: (() => readonly string[]) | undefined;
  /** Into how many parts `store.maxBytes` is divided, of which it has one; absent: it has them all. */
  readonly sharers?: (() => number) | undefined;
}
