import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import type { ServiceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import { fitRoute } from "./route-model.ts";
import type { RouteModel } from "./route-model.ts";
import { fitService } from "./service-model.ts";
import type { ServiceModel } from "./service-model.ts";

/** Models of an application, fitted on the first part of its history. */
export interface FittedHistory {
  readonly index: ServiceIndex;
  /** By service; one without what a profile needs is absent, and takes no part in predictions. */
  readonly services: ReadonlyMap<string, ServiceModel>;
  /** Routes that enter through the application's entry, those with the most requests first. */
  readonly routes: readonly RouteModel[];
  /** Services that were seen but could not be fitted. */
  readonly unfitted: readonly string[];
}

/** All windows by service. */
export function windowsByService(sets: readonly WindowSet[]): Map<string, Window[]> {
  const byService = new Map<string, Window[]>();
  for (const window of sets.flatMap(({ windows }) => windows)) {
    const known = byService.get(window.service);
    if (known === undefined) byService.set(window.service, [window]);
    else known.push(window);
  }
  return byService;
}

/** Routes with fewer requests than this share of all say too little to be judged. */
const LEAST_ROUTE_SHARE = 0.001;

function routesOf(fit: readonly WindowSet[], entry: string): string[] {
  const requests = new Map<string, number>();
  for (const { endMs, flows, startMs } of fit) {
    for (const { entryService, flow, requestsPerSecond } of flows) {
      if (entryService !== entry) continue;
      const seconds = (endMs - startMs) / 1e3;
      requests.set(flow, (requests.get(flow) ?? 0) + requestsPerSecond * seconds);
    }
  }
  const total = [...requests.values()].reduce((sum, each) => sum + each, 0);
  return [...requests]
    .filter(([, count]) => count >= LEAST_ROUTE_SHARE * total)
    .sort((a, b) => b[1] - a[1])
    .map(([route]) => route);
}

/**
 * Fits a profile for every service and a composition for every route.
 * @param sets the whole history, oldest first
 * @param fitUntilMs windows that began before this are the first part
 * @param onProgress called after each service with the share that is done, [0, 1]
 */
export function fitHistory(
  sets: readonly WindowSet[],
  { entry }: Application,
  fitUntilMs: number,
  onProgress: (doneRatio: number) => void = () => undefined,
): FittedHistory {
  const byService = windowsByService(sets);
  const names = [...byService.keys()].sort();
  const index = serviceIndex(names);
  const services = new Map<string, ServiceModel>();
  for (const [place, name] of names.entries()) {
    const model = fitService(name, byService.get(name) ?? [], fitUntilMs);
    if (model !== undefined) services.set(name, model);
    onProgress((place + 1) / names.length);
  }
  const fit = sets.filter(({ startMs }) => startMs < fitUntilMs);
  const meanOverTail = Float64Array.from(names, (name) => services.get(name)?.meanOverTail ?? 1);
  const routes = routesOf(fit, entry).flatMap((route) => fitRoute(route, fit, index, meanOverTail) ?? []);
  return { index, services, routes, unfitted: names.filter((name) => !services.has(name)) };
}
