import { z } from "zod";
import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import { Course, CoursePoint, MeasuredService } from "@tradewind/core/contract/measured.ts";
import type { KeptPoint } from "@tradewind/core/contract/measured.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Recommendation } from "@tradewind/core/contract/recommendation.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { PlanFetcher } from "../../plans/plan-fetcher.ts";
import type { Look } from "../regret.ts";
import type { Courses } from "./courses.ts";

/** A predictor that gives its plan gives this at once. ms */
const DEADLINE_MS = 2_000;

/** What is read of a predictor's course: another release may say more. */
const ReadCourse = z.object({
  ...Course.shape,
  points: z.array(z.object(CoursePoint.omit({ policy: true }).shape)).max(10_000),
});
const ReadMeasured = z.object({ services: z.array(z.object(MeasuredService.shape)).max(10_000) });

/** A plan that was decided on, and the objective that it was made for. */
export interface CourseLook extends Pick<
  Look,
  "application" | "namespace" | "plannedAtMs" | "prices" | "recommendations"
> {
  readonly objectiveSeconds: number;
}

interface FollowEdges {
  readonly courses: Pick<Courses, "add" | "lastMs">;
  readonly fetcher: Pick<PlanFetcher, "address" | "answer">;
  /** Whether the application is planned still: one that went away meanwhile has no course any more. */
  readonly isPlanned: () => boolean;
  readonly log: Pick<Logger, "debug">;
}

/**
 * Takes over what the predictor measured since the last time, and what runs and is recommended now. Never rejects: what could not be had
 * is asked for again with the next plan.
 */
export async function followCourse(
  look: CourseLook,
  { courses, fetcher, isPlanned, log }: FollowEdges,
): Promise<void> {
  const place: ApplicationRef = { namespace: look.namespace, application: look.application };
  const key = `${place.namespace}/${place.application}`;
  try {
    const ask = async <Answer>(path: string, schema: z.ZodType<Answer>, query = {}): Promise<Answer> => {
      const { body, status } = await fetcher.answer({ path, query }, AbortSignal.timeout(DEADLINE_MS));
      if (status !== 200) throw new TradewindError("no-answer", `${path} answered ${status}`);
      return readJsonWith(schema, body.toString("utf8"), `${path} of ${fetcher.address}`);
    };
    const [{ deploys, points }, { services }] = await Promise.all([
      ask("/v1/course", ReadCourse, { since: String(courses.lastMs(place)) }),
      ask("/v1/measured", ReadMeasured),
    ]);
    if (!isPlanned()) return;
    const measured = new Map(services.map((each) => [each.service, each]));
    const now = servicePoints(look, measured);
    const kept: KeptPoint[] = [...points];
    const last = kept.at(-1);
    if (last !== undefined) kept[kept.length - 1] = { ...last, ...summed([...now.values()]) };
    courses.add(place, kept, { deploys, services: now });
  } catch (error) {
    log.debug({ application: key, problem: describeError(error) }, "cannot have the course of the predictor");
  }
}

function servicePoints(
  { objectiveSeconds, plannedAtMs, prices, recommendations }: CourseLook,
  measured: ReadonlyMap<string, Pick<MeasuredService, "cpuUsedRatio" | "requestsPerSecond">>,
): Map<string, KeptPoint> {
  return new Map(
    [...recommendations].map((recommendation) => {
      const { latencyBeforeSeconds, replicas, replicasReady, runningCpuCores, service } = recommendation;
      const { cpuUsedRatio, requestsPerSecond } = measured.get(service) ?? {};
      const cpuCores = timesReady(recommendation, runningCpuCores);
      return [
        service,
        {
          atMs: plannedAtMs,
          ...(latencyBeforeSeconds !== undefined && { latencySeconds: latencyBeforeSeconds }),
          objectiveSeconds,
          ...(requestsPerSecond !== undefined && { requestsPerSecond }),
          ...(replicasReady !== undefined && { replicas: replicasReady }),
          recommendedReplicas: replicas,
          ...(cpuCores !== undefined && { cpuCores }),
          ...(cpuCores !== undefined &&
            cpuUsedRatio !== undefined && { cpuUsedCores: cpuUsedRatio * cpuCores }),
          ...runningCost(recommendation, prices),
        },
      ];
    }),
  );
}

const timesReady = ({ replicasReady }: Recommendation, each: number | undefined): number | undefined =>
  replicasReady === undefined || each === undefined ? undefined : replicasReady * each;

function runningCost(
  { replicasReady: replicas, runningCpuCores = 0, runningMemoryBytes = 0 }: Recommendation,
  prices: Prices,
): Pick<KeptPoint, "costPerHour"> {
  if (replicas === undefined) return {};
  return {
    costPerHour: costPerHour(
      { cpuCores: runningCpuCores, memoryBytes: runningMemoryBytes, replicas },
      prices,
    ),
  };
}

/** Absent where it is known of no service. */
function summed(services: readonly KeptPoint[]): Partial<KeptPoint> {
  const names = ["replicas", "recommendedReplicas", "cpuUsedCores", "cpuCores"] as const;
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = services.flatMap((each) => each[name] ?? []);
      return values.length === 0 ? [] : [[name, values.reduce((sum, each) => sum + each, 0)]];
    }),
  );
}
