import type { Application } from "@tradewind/core/contract/application.ts";
import { PERIOD_REPORT_SCHEMA } from "@tradewind/core/contract/period-report.ts";
import type { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import { routeRules } from "@tradewind/core/contract/route-rules.ts";
import type { RouteRules } from "@tradewind/core/contract/route-rules.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { flowTailSeconds, shareOverOrFailed } from "../../decide/facts/objective.ts";
import { containerSize } from "../../decide/facts/size.ts";
import { routeName, ruleOf } from "../../decide/facts/user-flows.ts";
import type { StoredFlow } from "../../store/window-store.ts";

type ReportedRoute = PeriodReport["routes"][number];
type ReportedService = PeriodReport["services"][number];

const MOST_NEWEST = 20;
/** While nothing is carried out each window proposes the same again: within this time it is one proposal. ms */
const REPEATED_MS = 600_000;
const HOUR_MS = 3_600_000;

/** Adds up what the store has of a time. */
export class Period {
  readonly #application: Application;
  readonly #rules: RouteRules;
  readonly #routes = new Map<string, ReportedRoute>();
  readonly #services = new Map<string, ReportedService>();
  /** Of all routes: by the begin of a window, how long it was and whether any route missed in it. */
  readonly #intervals = new Map<number, { seconds: number; isMissed: boolean }>();
  /** How many there are by service, and the newest of all, newest first. */
  readonly #changesOf = new Map<string, number>();
  #newestChanges: readonly ProposedChange[] = [];
  readonly #lastOf = new Map<string, ProposedChange>();
  /** By service, price for an hour in its first window. */
  readonly #firstCostPerHour = new Map<string, number>();
  #costAtFirstSizes = 0;
  /** By route, up to where it is counted: an interval may come in two resolutions. */
  readonly #countedToMs = new Map<string, number>();
  #fromMs = Number.POSITIVE_INFINITY;
  #toMs = Number.NEGATIVE_INFINITY;

  constructor(application: Application) {
    this.#application = application;
    this.#rules = routeRules(application);
  }

  /** By rising start. */
  addFlow(stored: StoredFlow): void {
    const { endMs, entryService, errorRatio, latency, requestsPerSecond, startMs } = stored;
    if (!this.#application.entries.includes(entryService) || !(requestsPerSecond > 0)) return;
    const flow = routeName(stored, this.#application);
    const { objective, use } = ruleOf(stored, flow, this.#rules);
    if (use !== "objective") return;
    if (startMs < (this.#countedToMs.get(flow) ?? 0)) return;
    this.#countedToMs.set(flow, endMs);
    this.#extend(startMs, endMs);
    const limitSeconds = objective.milliseconds / 1e3;
    const seconds = (endMs - startMs) / 1e3;
    const tailSeconds = flowTailSeconds(latency, objective.percentile);
    const isMissed = tailSeconds > limitSeconds || errorRatio > 1 - objective.percentile;
    const requests = requestsPerSecond * seconds;
    const route = this.#routes.get(flow) ?? {
      route: flow,
      requests: 0,
      requestsOver: 0,
      measuredSeconds: 0,
      missedSeconds: 0,
    };
    this.#routes.set(flow, {
      route: flow,
      ...(objective !== this.#rules.rest.objective && {
        objective: { percentile: objective.percentile, seconds: limitSeconds },
      }),
      requests: route.requests + requests,
      requestsOver: route.requestsOver + requests * shareOverOrFailed(stored, limitSeconds),
      measuredSeconds: route.measuredSeconds + seconds,
      missedSeconds: route.missedSeconds + (isMissed ? seconds : 0),
      worstLatencySeconds: Math.max(route.worstLatencySeconds ?? 0, tailSeconds),
    });
    const known = this.#intervals.get(startMs);
    this.#intervals.set(startMs, { seconds, isMissed: isMissed || known?.isMissed === true });
  }

  /** By rising start. */
  addWindow(window: Window): void {
    const { endMs, replicasReady: replicas, service, startMs } = window;
    const size = containerSize(window);
    if (size === undefined || replicas === undefined) return;
    this.#extend(startMs, endMs);
    const hours = (endMs - startMs) / HOUR_MS;
    const hourly = costPerHour({ ...size, replicas }, this.#application.prices);
    const first = this.#firstCostPerHour.get(service) ?? hourly;
    this.#firstCostPerHour.set(service, first);
    this.#costAtFirstSizes += hours * first;
    const before = this.#services.get(service) ?? {
      ...NOTHING_PAID,
      service,
      replicasLeast: replicas,
      replicasMost: replicas,
      decisions: 0,
    };
    this.#services.set(service, {
      ...before,
      cost: before.cost + hours * hourly,
      cpuCoreHours: before.cpuCoreHours + hours * replicas * size.cpuCores,
      memoryGigabyteHours: before.memoryGigabyteHours + (hours * replicas * size.memoryBytes) / 1e9,
      replicaHours: before.replicaHours + hours * replicas,
      replicasLeast: Math.min(before.replicasLeast, replicas),
      replicasMost: Math.max(before.replicasMost, replicas),
    });
  }

  /** By rising time. */
  addChange(change: ProposedChange): void {
    const { decidedAtMs, service } = change;
    const last = this.#lastOf.get(service);
    this.#lastOf.set(service, change);
    if (last !== undefined && isRepeated(last, change)) return;
    this.#changesOf.set(service, (this.#changesOf.get(service) ?? 0) + 1);
    const oldest = this.#newestChanges[MOST_NEWEST - 1]?.decidedAtMs ?? Number.NEGATIVE_INFINITY;
    if (decidedAtMs <= oldest) return;
    this.#newestChanges = [...this.#newestChanges, change]
      .toSorted((a, b) => b.decidedAtMs - a.decidedAtMs)
      .slice(0, MOST_NEWEST);
  }

  /** Undefined where nothing was added but changes. */
  report(): PeriodReport | undefined {
    if (this.#toMs < this.#fromMs) return undefined;
    const { name, namespace, objective, prices } = this.#application;
    const routes = [...this.#routes.values()].toSorted((a, b) => b.requestsOver - a.requestsOver);
    const services = [...this.#services.values()].toSorted((a, b) => b.cost - a.cost);
    const intervals = [...this.#intervals.values()];
    const worst = routes.map(({ worstLatencySeconds = 0 }) => worstLatencySeconds);
    return {
      schema: PERIOD_REPORT_SCHEMA,
      application: name,
      namespace,
      fromMs: this.#fromMs,
      toMs: this.#toMs,
      objective: { percentile: objective.percentile, seconds: objective.milliseconds / 1e3 },
      requests: sum(routes.map(({ requests }) => requests)),
      requestsOver: sum(routes.map(({ requestsOver }) => requestsOver)),
      measuredSeconds: sum(intervals.map(({ seconds }) => seconds)),
      missedSeconds: sum(intervals.map(({ isMissed, seconds }) => (isMissed ? seconds : 0))),
      ...(worst.length > 0 && { worstLatencySeconds: Math.max(...worst) }),
      routes,
      ...paidInAll(services),
      ...(prices.currency !== undefined && { currency: prices.currency }),
      costAtFirstSizes: this.#costAtFirstSizes,
      services: services.map((each) =>
        Object.assign({}, each, { decisions: this.#changesOf.get(each.service) ?? 0 }),
      ),
      decisions: sum([...this.#changesOf.values()]),
      newest: this.#newest(),
    };
  }

  #newest(): PeriodReport["newest"] {
    return this.#newestChanges.map(({ before, decidedAtMs, proposal, service }) => ({
      service,
      decidedAtMs,
      before,
      after: proposal.allocation,
      reason: proposal.reason,
    }));
  }

  #extend(startMs: number, endMs: number): void {
    this.#fromMs = Math.min(this.#fromMs, startMs);
    this.#toMs = Math.max(this.#toMs, endMs);
  }
}

const isRepeated = (last: ProposedChange, change: ProposedChange): boolean =>
  change.decidedAtMs - last.decidedAtMs <= REPEATED_MS &&
  SIZES.every(
    (size) =>
      last.before[size] === change.before[size] &&
      last.proposal.allocation[size] === change.proposal.allocation[size],
  );

const NOTHING_PAID = { cost: 0, cpuCoreHours: 0, memoryGigabyteHours: 0, replicaHours: 0 };

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function paidInAll(services: readonly ReportedService[]): typeof NOTHING_PAID {
  return {
    cost: sum(services.map(({ cost }) => cost)),
    cpuCoreHours: sum(services.map(({ cpuCoreHours }) => cpuCoreHours)),
    memoryGigabyteHours: sum(services.map(({ memoryGigabyteHours }) => memoryGigabyteHours)),
    replicaHours: sum(services.map(({ replicaHours }) => replicaHours)),
  };
}
