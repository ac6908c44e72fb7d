import type { Clock } from "@tradewind/core/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { recommendationHeader, recommendationList } from "../api/list.ts";
import type { Recommender } from "../recommender.ts";
import type { ApplicationStatus } from "../source/plan-sources.ts";
import type { SceneApplication } from "./part.ts";

/** Each application for itself, as the leader writes about it. */
export function sceneApplications(
  recommender: Recommender,
  statuses: readonly ApplicationStatus[],
  clock: Clock,
  application: (namespace: string, name: string) => Application | undefined,
): readonly SceneApplication[] {
  const all = recommendationList(recommender, statuses, clock);
  const ratioOf = (place: SceneApplication["place"]): number | undefined =>
    place && application(place.namespace, place.name)?.approval?.containerRatio;
  const [only] = statuses;
  if (all.applications === undefined && only !== undefined) {
    const { plan } = only;
    const [kept] = all.recommendations;
    const { application: name, namespace } = plan ?? kept ?? {};
    const place = name === undefined || namespace === undefined ? undefined : { namespace, name };
    return [{ place, header: plan, list: all, approvalRatio: ratioOf(place) }];
  }
  const byApplication = Map.groupBy(all.recommendations, ({ application: name, namespace }) =>
    applicationKey({ name, namespace }),
  );
  return statuses.map((status) => {
    const { application: place, plan: header } = status;
    const recommendations = (place && byApplication.get(applicationKey(place))) ?? [];
    const list = Object.assign(recommendationHeader(status, clock), { recommendations });
    return { place, header, list, approvalRatio: ratioOf(place), problem: place?.problem };
  });
}
