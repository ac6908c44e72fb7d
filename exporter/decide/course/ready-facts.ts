import { z } from "zod";
import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import { RouteAccuracy, ServiceAccuracy } from "@tradewind/core/contract/accuracy.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import type { Question, Reply } from "../../plans/plan-client.ts";
import type { ApplicationStatus } from "../../plans/plan-sources.ts";
import type { Courses } from "./courses.ts";
import { applicationsOf } from "./fleet.ts";
import { budgetLeftOf, overLately } from "./points.ts";
import type { KnownAccuracy, ReadyFacts } from "./ready.ts";

export interface ReadySources {
  readonly list: () => RecommendationList;
  readonly statuses: () => readonly ApplicationStatus[];
  readonly events: () => AuditEvent[];
  readonly courses: Pick<Courses, "points">;
  readonly configured: (place: ApplicationRef) => Application | undefined;
  readonly ask: (
    place: { readonly namespace: string; readonly name: string },
    question: Question,
  ) => Promise<Reply>;
  readonly nowMs: () => number;
}

const DAY_MS = 86_400_000;

/** What another release says besides is left out. */
const ReadAccuracy = z.object({
  services: z.array(z.object(ServiceAccuracy.shape)).max(10_000).default([]),
  routes: z.array(z.object(RouteAccuracy.shape)).max(1_000).default([]),
});

/** Gathers what readiness is judged by. Never rejects: a predictor that does not answer leaves its errors unknown. */
export async function readyFacts(
  place: ApplicationRef,
  sources: ReadySources,
): Promise<Omit<ReadyFacts, "neededSeconds">> {
  const { configured, courses, events, list, nowMs, statuses } = sources;
  const isOwn = ({ application, namespace }: ApplicationRef): boolean =>
    application === place.application && namespace === place.namespace;
  const recommended = list();
  const head =
    applicationsOf(recommended).find(({ name, namespace }) => isOwn({ application: name, namespace })) ?? {};
  const plan = statuses().find((each) => each.plan !== undefined && isOwn(each.plan))?.plan;
  const configuration = configured(place);
  const now = nowMs();
  const percentile = plan?.objective.percentile;
  const points = courses.points(place);
  return {
    place,
    nowMs: now,
    head,
    services: recommended.recommendations.filter(isOwn),
    budget:
      percentile === undefined
        ? undefined
        : budgetLeftOf(points, { nowMs: now, percentile, periodMs: DAY_MS }),
    latelyOverRatio: overLately(points),
    accuracy: await accuracyOf(place, sources),
    isComplete: plan?.complete !== false,
    missing: plan?.missing ?? [],
    events: events().filter(isOwn),
    bounded: configuration && new Set(configuration.services.map(({ name }) => name)),
  };
}

async function accuracyOf(
  { application: name, namespace }: ApplicationRef,
  { ask }: ReadySources,
): Promise<KnownAccuracy | undefined> {
  try {
    const { body, status } = await ask({ namespace, name }, { path: "/v1/accuracy", query: {} });
    if (status !== 200) return undefined;
    return readJsonWith(ReadAccuracy, body.toString("utf8"), "accuracy");
  } catch {
    return undefined;
  }
}
