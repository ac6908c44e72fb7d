import type { Lookup } from "@tradewind/core/net/addresses.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ServedApplication } from "../keep/served-table.ts";
import type { ExporterOptions } from "../options.ts";
import { ApplicationPoll } from "./application-poll.ts";
import { clientOptions } from "./make-fetcher.ts";
import type { PlanSources } from "./plan-sources.ts";

/** The predictors are asked which applications there are once in so many polls of plans. */
const APPLICATION_POLLS = 5;

interface FollowEdges {
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookup: Lookup | undefined;
  /** Hears which applications there are, once it may be several. */
  readonly onApplications: (applications: readonly ServedApplication[]) => void;
}

/** Follows which applications the predictors plan. */
export function followApplications(
  options: ExporterOptions,
  plans: PlanSources,
  { clock, log, lookup, onApplications }: FollowEdges,
): ApplicationPoll {
  return new ApplicationPoll({
    ...clientOptions(options, { clock, log }),
    targets: options.predictor,
    everyMs: APPLICATION_POLLS * options.pollMs,
    log,
    lookup,
    onList: async (applications, hasAnswer, only) => {
      const tell = (): void => {
        const several = servedApplications(plans);
        if (several !== undefined) onApplications(several);
      };
      await plans.follow(applications, hasAnswer, only, tell);
      tell();
    },
  });
}

function servedApplications(plans: PlanSources): ServedApplication[] | undefined {
  const problems = new Map(
    plans.statuses().flatMap(({ application, problem }) => {
      if (application === undefined || problem === undefined) return [];
      return [[applicationKey(application), problem] as const];
    }),
  );
  return plans.several?.map(({ name, namespace, state }) => {
    const problem = problems.get(applicationKey({ name, namespace }));
    const served: ServedApplication = { name, namespace, state };
    return problem === undefined ? served : Object.assign(served, { problem });
  });
}
