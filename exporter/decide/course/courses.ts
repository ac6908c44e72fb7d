import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { COURSE_SCHEMA } from "@tradewind/core/contract/measured.ts";
import type { Deploy, KeptCourse, KeptPoint } from "@tradewind/core/contract/measured.ts";
import { Tiers } from "./tiers.ts";
import type { Merge, TierLayout } from "./tiers.ts";

/** Names an application. */
export interface Place {
  readonly namespace: string;
  readonly application: string;
}

/** Columns after the time, and how several windows become one. */
const COLUMNS = {
  latencySeconds: "max",
  objectiveSeconds: "last",
  requestsPerSecond: "mean",
  overRatio: "byWeight",
  replicas: "mean",
  recommendedReplicas: "mean",
  cpuUsedCores: "mean",
  cpuCores: "mean",
  costPerHour: "mean",
  recommendedCostPerHour: "mean",
} as const satisfies Partial<Record<keyof KeptPoint, Merge>>;
const NAMES = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];

/** A day: 30 minutes of windows of 15 s, two hours by the minute, the rest by ten minutes. 34 kB for each course. */
const LAYOUT: TierLayout = {
  merges: ["last", ...Object.values(COLUMNS)],
  weight: 1 + NAMES.indexOf("requestsPerSecond"),
  sizes: [
    { everyMs: 0, mostRows: 120 },
    { everyMs: 60_000, mostRows: 120 },
    { everyMs: 600_000, mostRows: 144 },
  ],
};
/** 68 MB at most; those that come later have no course until others go. */
const MOST_COURSES = 2_000;
/** A window stands for the time since the one before, and for no more than this. ms */
const MOST_SPACING_MS = 600_000;
const SPARK_POINTS = 60;
const SPARK_STEP_MS = 60_000;

interface ApplicationCourse {
  readonly place: Place;
  readonly own: Tiers;
  readonly services: Map<string, Tiers>;
  deploys: readonly Deploy[];
}

/** What is left of an error budget. */
export interface BudgetLeft {
  readonly budgetLeftRatio: number;
  readonly budgetSeconds: number;
}

/** The last day of every application and service, kept here so that it outlives the predictor. */
export class Courses {
  readonly #courses = new Map<string, ApplicationCourse>();

  /** @param services points of one time, by name */
  add(
    place: Place,
    points: readonly KeptPoint[],
    { deploys, services }: { deploys: readonly Deploy[]; services: ReadonlyMap<string, KeptPoint> },
  ): void {
    const course = this.#courses.get(keyOf(place)) ?? this.#open(place);
    if (course === undefined) return;
    for (const point of points) course.own.add(rowOf(point));
    course.deploys = deploys;
    for (const name of course.services.keys()) if (!services.has(name)) course.services.delete(name);
    for (const [name, point] of services) {
      const tiers = course.services.get(name) ?? (this.#isFull() ? undefined : new Tiers(LAYOUT));
      if (tiers === undefined) continue;
      course.services.set(name, tiers);
      tiers.add(rowOf(point));
    }
  }

  /** Those that have a course. */
  places(): Place[] {
    return [...this.#courses.values()].map(({ place }) => place);
  }

  /** End of the newest window that is kept; 0 before the first. ms */
  lastMs(place: Place): number {
    return this.#courses.get(keyOf(place))?.own.lastMs ?? 0;
  }

  /** Undefined where none is kept. @param sinceMs only points after it */
  course(
    place: Place,
    { service, sinceMs }: { service?: string | undefined; sinceMs?: number | undefined },
  ): KeptCourse | undefined {
    const course = this.#courses.get(keyOf(place));
    const tiers = service === undefined ? course?.own : course?.services.get(service);
    if (course === undefined || tiers === undefined) return undefined;
    return {
      schema: COURSE_SCHEMA,
      application: place.application,
      namespace: place.namespace,
      ...(service !== undefined && { service }),
      points: tiers.rows(sinceMs).map(pointOf),
      deploys: [...course.deploys],
    };
  }

  /** Latency over the objective, one number for each minute of the last hour, the highest in it; null where nothing was measured. */
  spark(place: Place, nowMs: number): (number | null)[] {
    const fromMs = nowMs - SPARK_POINTS * SPARK_STEP_MS;
    const spark = Array.from({ length: SPARK_POINTS }, (): number | null => null);
    for (const { atMs, latencySeconds, objectiveSeconds } of this.#points(place, fromMs)) {
      if (latencySeconds === undefined || objectiveSeconds === undefined) continue;
      const minute = Math.min(SPARK_POINTS - 1, Math.floor((atMs - fromMs) / SPARK_STEP_MS));
      spark[minute] = Math.max(spark[minute] ?? 0, latencySeconds / objectiveSeconds);
    }
    return spark;
  }

  /** Undefined without requests. @param percentile of the objective @param periodMs over which requests are counted */
  budgetLeft(
    place: Place,
    { nowMs, percentile, periodMs }: { nowMs: number; percentile: number; periodMs: number },
  ): BudgetLeft | undefined {
    let [requests, overRequests, seconds, beforeMs] = [0, 0, 0, Number.NaN];
    for (const { atMs, overRatio, requestsPerSecond } of this.#points(place, nowMs - periodMs)) {
      const spacing = Math.min(MOST_SPACING_MS, atMs - beforeMs) / 1e3;
      beforeMs = atMs;
      if (overRatio === undefined || requestsPerSecond === undefined || Number.isNaN(spacing)) continue;
      requests += spacing * requestsPerSecond;
      overRequests += spacing * requestsPerSecond * overRatio;
      seconds += spacing;
    }
    if (requests === 0) return undefined;
    return { budgetLeftRatio: 1 - overRequests / requests / (1 - percentile), budgetSeconds: seconds };
  }

  forget(place: Place): void {
    this.#courses.delete(keyOf(place));
  }

  #points(place: Place, sinceMs: number): KeptPoint[] {
    return this.course(place, { sinceMs })?.points ?? [];
  }

  #open(place: Place): ApplicationCourse | undefined {
    if (this.#isFull()) return undefined;
    const course = { place, own: new Tiers(LAYOUT), services: new Map<string, Tiers>(), deploys: [] };
    this.#courses.set(keyOf(place), course);
    return course;
  }

  #isFull(): boolean {
    let count = this.#courses.size;
    for (const { services } of this.#courses.values()) count += services.size;
    return count >= MOST_COURSES;
  }
}

const keyOf = ({ application: name, namespace }: Place): string => applicationKey({ name, namespace });

const rowOf = (point: KeptPoint): number[] => [point.atMs, ...NAMES.map((name) => point[name] ?? Number.NaN)];

const pointOf = ([atMs = 0, ...values]: readonly number[]): KeptPoint => ({
  atMs,
  ...Object.fromEntries(
    NAMES.flatMap((name, index) => {
      const value = values[index] ?? Number.NaN;
      return Number.isNaN(value) ? [] : [[name, value]];
    }),
  ),
});
