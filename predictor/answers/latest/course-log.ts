import { COURSE_SCHEMA } from "@tradewind/core/contract/measured.ts";
import type { Course, CoursePoint } from "@tradewind/core/contract/measured.ts";
import { DeployLog } from "./deploy-log.ts";

/** A day in windows of 15 s. */
const MOST_POINTS = 5_760;

/** The windows of the last hours, one point each, and the deploys, in memory. */
export class CourseLog {
  readonly #points: CoursePoint[] = [];
  readonly #deploys = new DeployLog();

  /** @param windows of the services, at that time */
  add(point: CoursePoint, windows: Parameters<DeployLog["look"]>[0]): void {
    this.#deploys.look(windows);
    const last = this.#points.at(-1);
    // A window that is decided on again, or one of a clock that was set back.
    if (last !== undefined && point.atMs <= last.atMs) this.#points.pop();
    this.#points.push(point);
    if (this.#points.length > MOST_POINTS) this.#points.shift();
  }

  /** @param sinceMs only points after it */
  course({ application, namespace }: Pick<Course, "application" | "namespace">, sinceMs = 0): Course {
    const points = this.#points.filter(({ atMs }) => atMs > sinceMs);
    return { schema: COURSE_SCHEMA, application, namespace, points, deploys: [...this.#deploys.deploys] };
  }
}
