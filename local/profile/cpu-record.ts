import type { ServiceState } from "../application/fleet.ts";

interface Point {
  readonly atMs: number;
  readonly cpuSeconds: number;
}

/** A use over a window is known when it was read this close to both ends. */
const NEAR_MILLIS = 1_500;
/** Share of the window that must lie between the two readings. */
const LEAST_SHARE = 0.5;
const MOST_POINTS = 600;

/**
 * CPU time that replicas report of themselves, about once a second. The agent reads a calm container as rarely as once in
 * a minute, which is too seldom for windows of seconds in which everything was changed on purpose.
 */
export interface CpuRecord {
  /** To be called several times a second. */
  note(states: readonly ServiceState[]): void;
  /** Mean use over an interval, cores; undefined where it was not read near both ends. */
  meanCores(containerId: string, startMs: number, endMs: number): number | undefined;
}

function nearest(points: readonly Point[], atMs: number): Point | undefined {
  let best: Point | undefined;
  for (const point of points) {
    const isNearer = best === undefined || Math.abs(point.atMs - atMs) < Math.abs(best.atMs - atMs);
    if (isNearer && Math.abs(point.atMs - atMs) <= NEAR_MILLIS) best = point;
  }
  return best;
}

export function createCpuRecord(): CpuRecord {
  const byContainer = new Map<string, Point[]>();
  return {
    note(states) {
      for (const { ready } of states)
        for (const replica of ready) {
          const { atMs, cpuSeconds } = replica.usage();
          const { containerId } = replica.identity;
          const points = byContainer.get(containerId) ?? [];
          if (points.at(-1)?.atMs === atMs) continue;
          points.push({ atMs, cpuSeconds });
          if (points.length > MOST_POINTS) points.shift();
          byContainer.set(containerId, points);
        }
    },
    meanCores(containerId, startMs, endMs) {
      const points = byContainer.get(containerId) ?? [];
      const first = nearest(points, startMs);
      const last = nearest(points, endMs);
      if (first === undefined || last === undefined) return undefined;
      const millis = last.atMs - first.atMs;
      if (millis < LEAST_SHARE * (endMs - startMs)) return undefined;
      return Math.max(0, (last.cpuSeconds - first.cpuSeconds) / (millis / 1e3));
    },
  };
}
