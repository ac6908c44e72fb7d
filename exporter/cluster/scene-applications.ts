import type { Clock } from "@tradewind/core/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { recommendationHeader, recommendationList } from "../api/list.ts";
import type { Recommender } from "../recommender.ts";
import type { ApplicationStatus } from "../source/plan-sources.ts";
import type { SceneApplication } from "./part.ts";

type Place = NonNullable<SceneApplication["place"]>;

/** Configurations as far as they are known without a predictor. */
export interface Configured {
  /** Resources that are named one by one. */
  readonly places: readonly Place[];
  readonly application: (namespace: string, name: string) => Application | undefined;
}

/** Each application for itself, as the leader writes about it. */
export function sceneApplications(
  recommender: Recommender,
  statuses: readonly ApplicationStatus[],
  clock: Clock,
  { application, places }: Configured,
): readonly SceneApplication[] {
  const all = recommendationList(recommender, statuses, clock);
  const ratioOf = (place: SceneApplication["place"]): number | undefined =>
    place && application(place.namespace, place.name)?.approval?.containerRatio;
  const byApplication = Map.groupBy(all.recommendations, ({ application: name, namespace }) =>
    applicationKey({ name, namespace }),
  );
  const [only] = statuses;
  if (all.applications === undefined && only !== undefined) {
    const { plan } = only;
    if (plan !== undefined) {
      const place = { namespace: plan.namespace, name: plan.application };
      return [{ place, header: plan, list: all, approvalRatio: ratioOf(place) }];
    }
    // Which there are is not known before the first plan: those that are configured, and those of the decisions of before.
    const kept = all.recommendations.map(({ application: name, namespace }) => ({ name, namespace }));
    const known = new Map([...places, ...kept].map((place) => [applicationKey(place), place]));
    return [...known].map(([key, { name, namespace }]) => {
      const list = { ...all, recommendations: byApplication.get(key) ?? [] };
      return { place: { name, namespace }, header: undefined, list };
    });
  }
  return statuses.map((status) => {
    const { application: place, plan: header } = status;
    const recommendations = (place && byApplication.get(applicationKey(place))) ?? [];
    const list = Object.assign(recommendationHeader(status, clock), { recommendations });
    return { place, header, list, approvalRatio: ratioOf(place), problem: place?.problem };
  });
}
