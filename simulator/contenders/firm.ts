import { mean } from "@tradewind/core/values/statistics.ts";
import type { FlowWindow, LatencySummary } from "@tradewind/core/contract/window.ts";
import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { numbersBrain, sloRatio } from "./numbers.ts";
import type { ServiceFacts } from "./numbers.ts";

const KEPT = 20;
/** Windows without a miss between two steps down. */
const CALM_WINDOWS = 6;
/** Least share of its CPU that a service counts as having free. */
const LEAST_FREE = 0.01;

/** Pearson's correlation; 0 where one of them does not vary. */
export function correlation(xs: readonly number[], ys: readonly number[]): number {
  const count = Math.min(xs.length, ys.length);
  if (count < 3) return 0;
  const [x, y] = [mean(xs.slice(0, count)), mean(ys.slice(0, count))];
  let [product, xx, yy] = [0, 0, 0];
  for (let at = 0; at < count; at += 1) {
    const [dx, dy] = [(xs[at] ?? 0) - x, (ys[at] ?? 0) - y];
    product += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  return xx > 0 && yy > 0 ? product / Math.sqrt(xx * yy) : 0;
}

/**
 * Services on the critical path of a route: of calls side by side only the one that takes longest counts, of calls in a row all.
 * @param seconds time of a service with its callees
 */
export function criticalPath(
  { calls = [], entryService }: Pick<FlowWindow, "calls" | "entryService">,
  seconds: (service: string) => number,
): string[] {
  const path: string[] = [];
  const visit = (name: string): void => {
    if (path.includes(name)) return;
    path.push(name);
    const callees = calls.filter(({ caller }) => caller === name);
    for (const { callee, parallelRatio } of callees) if (parallelRatio <= 0.5) visit(callee);
    const [longest] = callees
      .filter(({ parallelRatio }) => parallelRatio > 0.5)
      .sort((a, b) => seconds(b.callee) - seconds(a.callee));
    if (longest !== undefined) visit(longest.callee);
  };
  visit(entryService);
  return path;
}

/** p99 over p50 of a service's self time: what FIRM calls congestion intensity. */
const congestion = ({ p50Seconds, p99Seconds }: LatencySummary): number =>
  p50Seconds > 0 ? p99Seconds / p50Seconds : 1;

/** FIRM's two features of a critical component: how its latency moves with the whole, and how far its tail lies from its middle. */
export interface Suspect {
  readonly service: string;
  readonly relativeImportance: number;
  readonly congestionIntensity: number;
}

/** The culprit among the services of a critical path; the published SVM is a product of both features here. */
export function culprit(suspects: readonly Suspect[]): Suspect | undefined {
  const score = (each: Suspect): number =>
    Math.max(0, each.relativeImportance) * Math.log(Math.max(1, each.congestionIntensity));
  const [first] = suspects.toSorted((a, b) => score(b) - score(a));
  return first;
}

/**
 * What one more core, spread over its containers, is estimated to take off a service's p95, seconds: T / (cores · (1 − ρ)), the
 * slope of an M/M/1 queue.
 */
export function fallPerCore({
  podCores,
  replicas,
  selfTime,
  utilisation = 0,
}: Pick<ServiceFacts, "podCores" | "replicas" | "selfTime" | "utilisation">): number {
  const free = Math.max(LEAST_FREE, 1 - utilisation);
  return (selfTime?.p95Seconds ?? 0) / (Math.max(1, replicas) * podCores * free);
}

/** Whose size is raised in a miss: the service that holds up the critical path, or the one whose latency falls most for a core. */
type Raised = "culprit" | "steepest";

const firm = (name: string, about: string, raised: Raised): Contender => ({
  name,
  about,
  defaults: { step: 0.3, calmShare: 0.6, missShare: 0.9 },
  grid: combinations({ step: [0.2, 0.5], calmShare: [0.5, 0.7], missShare: [0.85, 1] }),
  start: (setting, parameters) => {
    const ends: number[] = [];
    const own = new Map<string, number[]>();
    const wanted = new Map<string, { replicas: number; cpuCores?: number }>();
    const step = numberOf(parameters, "step");
    const sized = setting.actuators !== "replicas";
    let calm = 0;
    const move = ({ podCores, replicas, service, spec }: ServiceFacts, factor: number): void => {
      const had = wanted.get(service) ?? { replicas, cpuCores: podCores };
      const cores = (had.cpuCores ?? podCores) * factor;
      // Up first in size, then in pods once the container is as large as it may be; down the other way round.
      if (sized && cores <= spec.cpu.maxCores && cores >= spec.cpu.minCores) {
        wanted.set(service, { ...had, cpuCores: cores });
      } else {
        const pods = factor > 1 ? Math.ceil(had.replicas * factor) : had.replicas - 1;
        wanted.set(service, { ...had, replicas: Math.max(spec.minReplicas, pods) });
      }
    };
    return numbersBrain(setting, (facts, windowSet) => {
      const ratio = sloRatio(setting, windowSet);
      const [flow] = windowSet.flows.toSorted((a, b) => b.latency.p95Seconds - a.latency.p95Seconds);
      if (ratio === undefined || flow === undefined) return wanted;
      ends.push(flow.latency.p95Seconds);
      if (ends.length > KEPT) ends.shift();
      for (const { selfTime, service } of facts) {
        const series = own.get(service) ?? [];
        own.set(service, series);
        series.push(selfTime?.p95Seconds ?? 0);
        if (series.length > KEPT) series.shift();
      }
      calm = ratio < numberOf(parameters, "calmShare") ? calm + 1 : 0;
      if (ratio > numberOf(parameters, "missShare")) {
        const windows = new Map(windowSet.windows.map((window) => [window.service, window]));
        const path = criticalPath(flow, (name) => windows.get(name)?.responseLatency?.p95Seconds ?? 0);
        const suspects = path.map((service): Suspect => {
          const { selfTime } = facts.find((each) => each.service === service) ?? {};
          return {
            service,
            relativeImportance: correlation(own.get(service) ?? [], ends),
            congestionIntensity: selfTime === undefined ? 1 : congestion(selfTime),
          };
        });
        const found =
          raised === "culprit"
            ? facts.find(({ service }) => service === culprit(suspects)?.service)
            : facts
                .filter(({ service }) => flow.services.includes(service))
                .sort((a, b) => fallPerCore(b) - fallPerCore(a))[0];
        if (found !== undefined) move(found, 1 + step);
      } else if (calm >= CALM_WINDOWS) {
        const [idlest] = facts
          .filter(({ replicas, service, spec }) => {
            const had = wanted.get(service);
            return sized || (had?.replicas ?? replicas) > spec.minReplicas;
          })
          .sort((a, b) => (a.utilisation ?? 1) - (b.utilisation ?? 1));
        if (idlest !== undefined) move(idlest, 1 / (1 + step));
        calm = 0;
      }
      return wanted;
    });
  },
});

export const FIRM = firm(
  "firm-like",
  "FIRM's culprit on the critical path by correlation and congestion; steps of a fixed share in place of its trained agent, " +
    "down one service at a time while p95 is low.",
  "culprit",
);

/** Grad's rival without trade among services: FIRM's steps on the service of the highest gradient. */
export const FIRM_STAR = firm(
  "firm-star",
  "Grad's Firm*: the steps of firm-like on the service whose latency falls most for one more core, by the slope of an M/M/1 queue.",
  "steepest",
);
