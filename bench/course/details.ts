import type {
  Account,
  LatencyView,
  MinuteAccount,
  PodView,
  RouteAccount,
  World,
} from "@tradewind/simulator/world.ts";
import { changesOf, rowLengths } from "./steadiness.ts";

/** Quantiles of latencies that papers report. */
export const QUANTILES = [0.5, 0.66, 0.75, 0.8, 0.9, 0.95, 0.99, 0.9999] as const;

/** What users of one route, or of all together, got. */
export interface LatencyDetails {
  readonly requests: number;
  readonly failed: number;
  /** Share of requests over their objective, failed ones included. */
  readonly requestsOver: number;
  readonly meanSeconds: number;
  /** In the order of {@link QUANTILES}. */
  readonly quantileSeconds: readonly number[];
}

/** Figures of a run beyond those of the course, warm-up left out. */
export interface RunDetails {
  readonly all: LatencyDetails;
  readonly routes: Readonly<Record<string, LatencyDetails>>;
  /** Pods that existed, on average. */
  readonly pods: number;
  /** CPU time used over CPU time requested. */
  readonly cpuEfficiency: number;
  /** Times that a service used more than 90 % of what it may for more than five minutes without a break. */
  readonly overUtilisations: number;
  /** Requests a second that did not fail, by fifths of the time. */
  readonly servedPerSecond: readonly number[];
  readonly windows: number;
  /** Windows in a row in which a route of 20 requests or more missed its objective, by row. */
  readonly missedWindows: readonly number[];
  /** Changes of replicas or of the CPU of a container, and those reverted within three windows. */
  readonly changes: number;
  readonly reverted: number;
}

const FIFTHS = 5;

type Part = Pick<RouteAccount, "requests" | "failed" | "over"> & { readonly latency: LatencyView };

function partOf(to: RouteAccount, from: RouteAccount | undefined): Part {
  if (from === undefined) return to;
  return {
    requests: to.requests - from.requests,
    failed: to.failed - from.failed,
    over: to.over - from.over,
    latency: to.latency.since(from.latency),
  };
}

const together = (a: Part, b: Part): Part => ({
  requests: a.requests + b.requests,
  failed: a.failed + b.failed,
  over: a.over + b.over,
  latency: a.latency.with(b.latency),
});

const detailsOf = ({ failed, latency, over, requests }: Part): LatencyDetails => ({
  requests,
  failed,
  requestsOver: over / Math.max(1, requests),
  meanSeconds: latency.meanSeconds,
  quantileSeconds: QUANTILES.map((quantile) => latency.quantileSeconds(quantile)),
});

/** Requests that did not fail, by second, in each fifth of the complete minutes from `fromMs` on. */
function servedByFifth(minutes: readonly MinuteAccount[], fromMs: number, toMs: number): number[] {
  const fifthMs = (toMs - fromMs) / FIFTHS;
  return Array.from({ length: FIFTHS }, (_, fifth) => {
    const begin = fromMs + fifth * fifthMs;
    const served = minutes
      .filter(({ startMs }) => startMs >= begin && startMs < begin + fifthMs)
      .reduce((sum, { failed, requests }) => sum + requests - failed, 0);
    return (1e3 * served) / fifthMs;
  });
}

/** Requests from which a window says whether a route misses its objective. */
const LEAST_REQUESTS = 20;

/** Since the account before, more of a route's requests were over its objective than its percentile allows. */
function misses(route: RouteAccount, { routes }: Account): boolean {
  const accountBefore = routes.find((each) => each.route === route.route);
  const requests = route.requests - (accountBefore?.requests ?? 0);
  const over = route.over - (accountBefore?.over ?? 0);
  return requests >= LEAST_REQUESTS && over > (1 - route.percentile) * requests;
}

/** Use from this share on counts as too much when it lasts for more than the time. */
const OVER_UTILISED = 0.9;
const OVER_UTILISED_MS = 300_000;

function utilisationOf(pods: readonly PodView[]): number {
  const ready = pods.filter(({ cpuUsageCores, phase }) => phase === "ready" && cpuUsageCores !== undefined);
  const used = ready.reduce((sum, { cpuUsageCores = 0 }) => sum + cpuUsageCores, 0);
  const allowed = ready.reduce((sum, pod) => sum + (pod.cpuLimitCores ?? pod.cpuRequestCores), 0);
  return allowed > 0 ? used / allowed : 0;
}

/** Watches one run, to say at its end what the course does not report. */
export class RunWatch {
  /** When a service went over, and whether that has been counted. */
  private readonly over = new Map<string, { readonly sinceMs: number; isCounted: boolean }>();
  private overUtilisations = 0;
  private readonly missed: boolean[] = [];
  /** Replicas and CPU of a container of each service, after each window. */
  private readonly sizes = new Map<string, number[]>();
  private before: Account | undefined;
  private result: RunDetails | undefined;
  private readonly internalRoutes: readonly string[];

  /** @param internalRoutes routes that are no user's: left out */
  constructor(internalRoutes: readonly string[] = []) {
    this.internalRoutes = internalRoutes;
  }

  /** @param isWarm false leaves the window out */
  window(world: World, isWarm: boolean): void {
    if (isWarm) this.note(world);
    for (const service of world.services) {
      if (!isWarm || utilisationOf(world.pods(service)) < OVER_UTILISED) {
        this.over.delete(service);
        continue;
      }
      const period = this.over.get(service) ?? { sinceMs: world.nowMs, isCounted: false };
      this.over.set(service, period);
      if (period.isCounted || world.nowMs - period.sinceMs <= OVER_UTILISED_MS) continue;
      period.isCounted = true;
      this.overUtilisations += 1;
    }
  }

  private note(world: World): void {
    const account = world.account();
    const { before } = this;
    if (before !== undefined) this.missed.push(this.users(account).some((route) => misses(route, before)));
    this.before = account;
    for (const service of world.services) {
      const newest = world.pods(service).at(-1);
      const cores = newest?.cpuLimitCores ?? newest?.cpuRequestCores ?? 0;
      for (const [what, size] of Object.entries({ replicas: world.replicas(service), cores })) {
        const series = this.sizes.get(`${service} ${what}`) ?? [];
        this.sizes.set(`${service} ${what}`, series);
        series.push(size);
      }
    }
  }

  private users({ routes }: Account): readonly RouteAccount[] {
    return routes.filter(({ route }) => !this.internalRoutes.includes(route));
  }

  end(from: Account, to: Account): void {
    const users = this.users(to);
    const changes = [...this.sizes.values()].map(changesOf);
    const parts = users.map((route) => ({
      route: route.route,
      part: partOf(
        route,
        from.routes.find((each) => each.route === route.route),
      ),
    }));
    const [first, ...others] = parts.map(({ part }) => part);
    if (first === undefined) throw new RangeError("an application without a route");
    const used = to.usedCoreSeconds - from.usedCoreSeconds;
    this.result = {
      all: detailsOf(others.reduce(together, first)),
      routes: Object.fromEntries(parts.map(({ part, route }) => [route, detailsOf(part)])),
      pods: ((to.podSeconds - from.podSeconds) * 1e3) / (to.atMs - from.atMs),
      cpuEfficiency: used / (to.coreSeconds - from.coreSeconds),
      overUtilisations: this.overUtilisations,
      servedPerSecond: servedByFifth(
        users.flatMap(({ minutes }) => minutes),
        from.atMs,
        to.atMs,
      ),
      windows: this.missed.length,
      missedWindows: rowLengths(this.missed),
      changes: changes.reduce((sum, each) => sum + each.changes, 0),
      reverted: changes.reduce((sum, each) => sum + each.reverted, 0),
    };
  }

  get details(): RunDetails | undefined {
    return this.result;
  }
}
