import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import type { ReadMetric } from "@tradewind/core/process/read-series.ts";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { HourlyCost, JudgedRequests } from "../../decide/facts/accounts.ts";
import type { ServiceQueue } from "../../decide/facts/queue-estimate.ts";
import type { WindowBuilderTotals } from "../../window/builder-options.ts";
import { DROPPED_SPANS } from "../../window/drops.ts";

const SERVICE_LABELS = ["namespace", "service"] as const;
const FAST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/**
 * Metrics of one application that is planned. Values are set when things happen; what is collected at a scrape is read from
 * memory only. Labels are bounded: services are those that have a workload.
 */
export class ApplicationMetrics {
  readonly registry = new Registry();
  private readonly clock: Clock;
  private readonly choice: PolicyChoice;
  /** By the monotonic clock. */
  private plannedMs: number | undefined;
  private windowEndedMs: number | undefined;
  private totals: () => WindowBuilderTotals | undefined = () => undefined;
  private graceSeconds = (): number => 0;

  private readonly plans = this.counter("plans_total", "Plans published, by the policy that decided.", [
    "policy",
  ]);
  private readonly planFailures = this.counter(
    "plan_failures_total",
    "Windows for which no plan could be made because of an error.",
  );
  private readonly surgePlans = this.counter(
    "surge_plans_total",
    "Plans made before a window was over, because load had risen beyond chance.",
  );
  private readonly policyInfo = this.gauge(
    "policy_info",
    "1 for the policy that decided last and the policy that was chosen.",
    ["policy", "choice"],
  );
  private readonly planSeconds = this.histogram(
    "plan_duration_seconds",
    "Time to make a plan from a window.",
  );
  private readonly publishSeconds = this.histogram(
    "plan_publish_delay_seconds",
    "Time from the close of a window, late spans included, until its plan was published.",
  );
  private readonly judged = this.counter(
    "requests_total",
    "Requests of users by the objective: good within it, bad over it or failed. Every predictor counts all of them.",
    ["application", "result"],
  );
  private readonly percentile = this.gauge(
    "objective_ratio",
    "Share of requests that must be within their objective's latency, in the mean of all; the rest is the error budget.",
    ["application"],
  );
  private readonly cost = this.gauge(
    "cost_per_hour",
    "Price of an hour of what is allocated (running) and of what the last plan asks for (recommended), by the application's prices.",
    ["application", "of"],
  );
  private readonly queueFlower = this.gauge(
    "queue_virtual_ratio",
    "QueueFlower's virtual queue: weighted share of own latency and of violations.",
    SERVICE_LABELS,
  );
  private readonly ownQueue = this.gauge(
    "queue_own_requests",
    "Requests waiting for or served in the service itself, Little's law.",
    SERVICE_LABELS,
  );
  private readonly inFlight = this.gauge(
    "queue_in_flight_requests",
    "Requests in the service at once, callees included, Little's law.",
    SERVICE_LABELS,
  );
  private readonly wished = this.gauge(
    "wished_replicas",
    "Replicas that the last plan wishes, before the guard.",
    SERVICE_LABELS,
  );
  private readonly incomplete = this.gauge(
    "services_incomplete",
    "Services of the last plan for which latency, load or replicas were missing.",
  );
  constructor(clock: Clock, choice: PolicyChoice) {
    this.clock = clock;
    this.choice = choice;
    registerReadMetrics(this.registry, { Counter, Gauge }, this.readMetrics());
    this.planFailures.inc(0);
    this.surgePlans.inc(0);
  }

  /** @param labels put on every series that has no such label: which of several applications it is of */
  labelWith(labels: Readonly<Record<string, string>>): void {
    this.registry.setDefaultLabels(labels);
  }

  /** @param graceSeconds for which windows wait for late spans */
  follow(totals: () => WindowBuilderTotals, graceSeconds: () => number): void {
    this.totals = totals;
    this.graceSeconds = graceSeconds;
  }

  /** @param windowEndedMs when the window ended, by the monotonic clock */
  planned(plan: Plan, windowEndedMs: number, planSeconds: number): void {
    this.windowEndedMs = windowEndedMs;
    const delaySeconds = (this.clock.monotonicMs() - windowEndedMs) / 1e3 - this.graceSeconds();
    this.publishSeconds.observe(Math.max(0, delaySeconds));
    this.published(plan, planSeconds);
  }

  /** A window was decided on once more, for a surge. */
  plannedAgain(plan: Plan, planSeconds: number): void {
    this.surgePlans.inc();
    this.published(plan, planSeconds);
  }

  private published(plan: Plan, planSeconds: number): void {
    this.plannedMs = this.clock.monotonicMs();
    this.plans.inc({ policy: plan.policy });
    this.policyInfo.reset();
    this.policyInfo.set({ policy: plan.policy, choice: this.choice }, 1);
    this.planSeconds.observe(planSeconds);
    this.incomplete.set(plan.wishes.filter(({ observed }) => !observed.complete).length);
    this.wished.reset();
    for (const { namespace, service, allocation } of plan.wishes) {
      this.wished.set({ namespace, service }, allocation.replicas);
    }
  }

  /** A window's requests and what it cost; an application that takes another's place has series of its own. */
  accounts({ application }: Plan, requests: JudgedRequests, cost: HourlyCost | undefined): void {
    this.judged.inc({ application, result: "good" }, requests.good);
    this.judged.inc({ application, result: "bad" }, requests.bad);
    this.percentile.reset();
    this.percentile.set({ application }, requests.objectiveRatio);
    this.cost.reset();
    if (cost === undefined) return;
    this.cost.set({ application, of: "running" }, cost.running);
    this.cost.set({ application, of: "recommended" }, cost.recommended);
  }

  queues(windows: readonly Window[], queues: readonly ServiceQueue[]): void {
    const namespaceOf = new Map(windows.map(({ service, namespace }) => [service, namespace]));
    for (const gauge of [this.queueFlower, this.ownQueue, this.inFlight]) gauge.reset();
    for (const { service, virtualQueue, ownRequests, inFlight } of queues) {
      const labels = { namespace: namespaceOf.get(service) ?? "", service };
      if (virtualQueue !== undefined) this.queueFlower.set(labels, virtualQueue);
      if (ownRequests !== undefined) this.ownQueue.set(labels, ownRequests);
      if (inFlight !== undefined) this.inFlight.set(labels, inFlight);
    }
  }

  planFailed(): void {
    this.planFailures.inc();
  }

  /** What is counted elsewhere, and how old what was set here is. */
  private readMetrics(): ReadMetric[] {
    const totals = (): WindowBuilderTotals | undefined => this.totals();
    const held = (name: string, help: string, of: (totals: WindowBuilderTotals) => number): ReadMetric => ({
      kind: "gauge",
      name: `tradewind_predictor_${name}`,
      help,
      read: () => {
        const now = totals();
        return now === undefined ? 0 : of(now);
      },
    });
    return [
      this.age("plan_age_seconds", "Time since the last plan was made.", () => this.plannedMs),
      this.age(
        "window_age_seconds",
        "Time since the end of the last window decided on.",
        () => this.windowEndedMs,
      ),
      {
        kind: "counter",
        ...DROPPED_SPANS,
        read: () => Object.entries(totals()?.drops ?? {}).map(([reason, count]) => [{ reason }, count]),
      },
      {
        kind: "counter",
        name: "tradewind_predictor_spans_refused_total",
        help: "Spans of known services that were refused on arrival, by service and reason.",
        labelNames: ["service", "reason"],
        read: () =>
          (totals()?.refused ?? []).map(({ count, reason, service }) => [{ service, reason }, count]),
      },
      {
        kind: "gauge",
        name: "tradewind_predictor_streams",
        help: "Streams of a service that were open at once, as far as they ended in the last window.",
        labelNames: ["service"],
        read: () => Array.from(totals()?.streams ?? [], ([service, count]) => [{ service }, count]),
      },
      {
        kind: "counter",
        name: "tradewind_predictor_traces_total",
        help: "Traces evaluated.",
        read: () => totals()?.tracesEvaluated ?? 0,
      },
      {
        kind: "counter",
        name: "tradewind_predictor_span_weights_clamped_total",
        help: "Sampled spans that said they stand for more requests than was believed.",
        read: () => totals()?.weightsClamped ?? 0,
      },
      {
        kind: "counter",
        name: "tradewind_predictor_probe_spans_total",
        help: "Spans taken for probes, which are no requests, by what gave them away: user-agent, path.",
        labelNames: ["known_by"],
        read: () =>
          Object.entries(totals()?.probes ?? {}).map(([knownBy, count]) => [{ known_by: knownBy }, count]),
      },
      held("open_traces", "Traces that wait for more spans.", ({ openTraces }) => openTraces),
      held("open_spans", "Spans of traces that wait for more.", ({ openSpans }) => openSpans),
      held("services_seen", "Services seen in traces.", ({ services }) => services),
    ];
  }

  /** @param atMs by the monotonic clock, so that no age is negative or jumps when the wall clock is set */
  private age(name: string, help: string, atMs: () => number | undefined): ReadMetric {
    return {
      kind: "gauge",
      name: `tradewind_predictor_${name}`,
      help,
      read: () => {
        const since = atMs();
        return since === undefined ? undefined : (this.clock.monotonicMs() - since) / 1e3;
      },
    };
  }

  private counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    return new Counter({ name: `tradewind_predictor_${name}`, help, labelNames, registers: [this.registry] });
  }

  private gauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
    return new Gauge({ name: `tradewind_predictor_${name}`, help, labelNames, registers: [this.registry] });
  }

  private histogram(name: string, help: string): Histogram {
    return new Histogram({
      name: `tradewind_predictor_${name}`,
      help,
      buckets: FAST_SECONDS,
      registers: [this.registry],
    });
  }
}
