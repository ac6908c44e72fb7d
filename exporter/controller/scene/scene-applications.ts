import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { ConfigurationReading } from "@tradewind/kubernetes/application/resource.ts";
import { recommendationHeader, recommendationList } from "../../decide/recommendation-list.ts";
import { isOf } from "../../decide/plan-draft.ts";
import type { Recommender } from "../../decide/recommender.ts";
import type { ApplicationStatus } from "../../plans/plan-sources.ts";
import type { SceneApplication } from "./part.ts";

type Place = NonNullable<SceneApplication["place"]>;

/** Configurations as far as they are known without a predictor. */
export interface KnownConfigurations {
  /** Resources that are named one by one. */
  readonly places: readonly Place[];
  readonly application: (namespace: string, name: string) => Application | undefined;
  /** How the newest configuration of one was read. */
  readonly reading: (namespace: string, name: string) => ConfigurationReading;
}

/** Each application for itself, as the leader writes about it. */
export function sceneApplications(
  recommender: Recommender,
  statuses: readonly ApplicationStatus[],
  clock: Clock,
  { application, places, reading }: KnownConfigurations,
): readonly SceneApplication[] {
  const all = recommendationList(recommender, statuses, clock);
  const ratioOf = (place: Place): number | undefined => {
    const own = application(place.namespace, place.name);
    if (own !== undefined) return own.approval?.containerRatio;
    // Not read (yet): as the decisions in force were made.
    const inForce = [...recommender.book.entries()].find((entry) => isOf(entry, place));
    return inForce?.basis.approval?.containerRatio;
  };
  const byApplication = Map.groupBy(all.recommendations, ({ application: name, namespace }) =>
    applicationKey({ name, namespace }),
  );
  const [only] = statuses;
  if (all.applications === undefined && only !== undefined) {
    const { plan } = only;
    if (plan !== undefined) {
      const place = { namespace: plan.namespace, name: plan.application };
      const read = reading(place.namespace, place.name);
      return [
        {
          place,
          header: plan,
          list: all,
          approvalRatio: ratioOf(place),
          reading: read,
          problem: read.problem,
        },
      ];
    }
    // Which there are is not known before the first plan: those that are configured, and those of the decisions of before.
    const kept = all.recommendations.map(({ application: name, namespace }) => ({ name, namespace }));
    const known = new Map([...places, ...kept].map((place) => [applicationKey(place), place]));
    return [...known].map(([key, { name, namespace }]) => {
      const list = { ...all, recommendations: byApplication.get(key) ?? [] };
      const read = reading(namespace, name);
      return { place: { name, namespace }, header: undefined, list, reading: read, problem: read.problem };
    });
  }
  return statuses.map((status) => {
    const { application: place, plan: header } = status;
    const recommendations = (place && byApplication.get(applicationKey(place))) ?? [];
    const list = Object.assign(recommendationHeader(status, clock), { recommendations });
    if (place === undefined) return { place, header, list };
    const read = reading(place.namespace, place.name);
    const problem = place.problem ?? read.problem;
    const { sharedNames } = place;
    return { place, header, list, approvalRatio: ratioOf(place), reading: read, problem, sharedNames };
  });
}
