import { applicationRefKey } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import { COURSE_SCHEMA } from "@tradewind/core/contract/measured.ts";
import type { Deploy, KeptCourse, KeptPoint } from "@tradewind/core/contract/measured.ts";
import { Tiers } from "./tiers.ts";
import type { Merge, TierLayout } from "./tiers.ts";

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

/** A day: 30 minutes of windows of 15 s, two hours by the minute, the rest by ten minutes. 18 kB for each course. */
const LAYOUT: TierLayout = {
  merges: ["last", ...Object.values(COLUMNS)],
  weight: 1 + NAMES.indexOf("requestsPerSecond"),
  sizes: [
    { everyMs: 0, mostRows: 120 },
    { everyMs: 60_000, mostRows: 120 },
    { everyMs: 600_000, mostRows: 144 },
  ],
};
/** 37 MB at most; those that come later have no course until others go. */
const MOST_COURSES = 2_000;

interface ApplicationCourse {
  readonly place: ApplicationRef;
  readonly own: Tiers;
  readonly services: Map<string, Tiers>;
  deploys: readonly Deploy[];
}

/** The last day of every application and service, kept here so that it outlives the predictor. */
export class Courses {
  readonly #courses = new Map<string, ApplicationCourse>();

  /** @param services points of one time, by name */
  add(
    place: ApplicationRef,
    points: readonly KeptPoint[],
    { deploys, services }: { deploys: readonly Deploy[]; services: ReadonlyMap<string, KeptPoint> },
  ): void {
    const course = this.#courses.get(applicationRefKey(place)) ?? this.#open(place);
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
  places(): ApplicationRef[] {
    return [...this.#courses.values()].map(({ place }) => place);
  }

  /** End of the newest window that is kept; 0 before the first. ms */
  lastMs(place: ApplicationRef): number {
    return this.#courses.get(applicationRefKey(place))?.own.lastMs ?? 0;
  }

  /** Undefined where none is kept. @param sinceMs only points after it */
  course(
    place: ApplicationRef,
    { service, sinceMs }: { service?: string | undefined; sinceMs?: number | undefined },
  ): KeptCourse | undefined {
    const course = this.#courses.get(applicationRefKey(place));
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

  /** All windows of an application as a whole, oldest first. */
  points(place: ApplicationRef): KeptPoint[] {
    return this.course(place, {})?.points ?? [];
  }

  forget(place: ApplicationRef): void {
    this.#courses.delete(applicationRefKey(place));
  }

  #open(place: ApplicationRef): ApplicationCourse | undefined {
    if (this.#isFull()) return undefined;
    const course = { place, own: new Tiers(LAYOUT), services: new Map<string, Tiers>(), deploys: [] };
    this.#courses.set(applicationRefKey(place), course);
    return course;
  }

  #isFull(): boolean {
    let count = this.#courses.size;
    for (const { services } of this.#courses.values()) count += services.size;
    return count >= MOST_COURSES;
  }
}

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
