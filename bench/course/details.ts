import type {
  Account,
  LatencyView,
  MinuteAccount,
  PodView,
  RouteAccount,
  World,
} from "@tradewind/simulator/world.ts";

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
  private result: RunDetails | undefined;
  private readonly internalRoutes: readonly string[];

  /** @param internalRoutes routes that are no user's: left out */
  constructor(internalRoutes: readonly string[] = []) {
    this.internalRoutes = internalRoutes;
  }

  /** @param isWarm false leaves the window out */
  window(world: World, isWarm: boolean): void {
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

  end(from: Account, to: Account): void {
    const users = to.routes.filter(({ route }) => !this.internalRoutes.includes(route));
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
    };
  }

  get details(): RunDetails | undefined {
    return this.result;
  }
}
