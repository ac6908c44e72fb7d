import { factsIn } from "@tradewind/core/contract/reasons.ts";
import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { ServedApplication, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { RecommendationHeader } from "../../decide/recommendation-list.ts";

/** The HPA ignores changes inside this share of the current replicas unless `behavior` says otherwise. */
const HPA_TOLERANCE = 0.1;
/** Room for the rounding of wanted/running at the very edge of the band. */
const ROUNDING = 1e-9;

type ServiceValue = (served: ServedRecommendation) => number | undefined;

const SERVICE_GAUGES: readonly { name: string; help: string; value: ServiceValue; evenWhenExpired?: true }[] =
  [
    {
      name: "tradewind_recommended_replicas",
      help: "Replicas Tradewind recommends; absent while no decision is valid.",
      value: ({ replicas }) => replicas,
    },
    {
      name: "tradewind_recommended_cpu_cores",
      help: "CPU recommended for each container, cores; advice where the application's resize does not count on it.",
      value: ({ cpuCores }) => cpuCores,
    },
    {
      name: "tradewind_recommended_memory_bytes",
      help: "Memory recommended for each container; advice where the application's resize does not count on it.",
      value: ({ memoryBytes }) => memoryBytes,
    },
    {
      name: "tradewind_predicted_latency_seconds",
      help: "Predicted 95th percentile of latency through the service once the recommendation is in place.",
      value: ({ latencyAfterSeconds }) => latencyAfterSeconds,
    },
    {
      name: "tradewind_current_latency_seconds",
      help: "95th percentile of latency through the service when the decision was made.",
      value: ({ latencyBeforeSeconds }) => latencyBeforeSeconds,
    },
    {
      name: "tradewind_running_replicas",
      help: "Ready replicas when the decision was made.",
      value: ({ replicasReady }) => replicasReady,
    },
    {
      name: "tradewind_running_cpu_cores",
      help: "CPU that each container has when the decision is made: its limit, else its request, cores.",
      value: ({ runningCpuCores }) => runningCpuCores,
    },
    {
      name: "tradewind_running_memory_bytes",
      help: "Memory that each container has when the decision is made: its limit, else its request.",
      value: ({ runningMemoryBytes }) => runningMemoryBytes,
    },
    {
      name: "tradewind_minimum_replicas",
      help: "Fewest replicas that the configuration allows the service.",
      value: ({ minReplicas }) => minReplicas,
    },
    {
      name: "tradewind_maximum_replicas",
      help: "Most replicas that the configuration allows the service.",
      value: ({ maxReplicas }) => maxReplicas,
    },
    {
      name: "tradewind_recommendation_confidence_ratio",
      help: "How sure the deciding policy is, 0 to 1.",
      value: ({ confidence }) => confidence,
    },
    {
      name: "tradewind_recommendation_age_seconds",
      help: "Time since the decision by the scaler's monotonic clock; goes on after it has expired, absent when unknown.",
      value: ({ ageSeconds }) => ageSeconds,
      evenWhenExpired: true,
    },
    {
      name: "tradewind_recommendation_valid",
      help: "1 while the decision is served, 0 once it is too old and KEDA is answered UNAVAILABLE.",
      value: ({ valid }) => Number(valid),
      evenWhenExpired: true,
    },
    {
      name: "tradewind_override_end_timestamp_seconds",
      help: "When the pause, hold, floor or undo of the service ends, seconds since the epoch; absent where nobody overrides the plan.",
      value: ({ override }) => override && override.untilMs / 1e3,
      evenWhenExpired: true,
    },
    {
      name: "tradewind_held_by_hpa_tolerance",
      help: "1 when the recommendation differs from the running replicas by so little that an HPA with the default tolerance of 10 % ignores it.",
      value: heldByTolerance,
    },
  ];

function heldByTolerance({ replicas, replicasReady }: ServedRecommendation): number | undefined {
  if (replicasReady === undefined || replicasReady === 0) return undefined;
  const offBy = Math.abs(replicas / replicasReady - 1);
  return Number(replicas !== replicasReady && offBy <= HPA_TOLERANCE + ROUNDING);
}

/**
 * The series of every service as Prometheus reads them. They are written by hand, because those of thousands of services would take
 * a registry a quarter of a second. A service that is gone has no series. Only memory is read.
 */
export function* serviceSeries(recommendations: Iterable<ServedRecommendation>): Generator<string> {
  const rows = Array.from(recommendations, (served) => {
    const { application, namespace, service } = served;
    const labels = `{application="${quoted(application)}",namespace="${quoted(namespace)}",service="${quoted(service)}"}`;
    return { served, labels };
  });
  for (const { evenWhenExpired, help, name, value } of SERVICE_GAUGES) {
    let text = `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
    for (const { labels, served } of rows) {
      const measured = served.valid || evenWhenExpired ? value(served) : undefined;
      if (measured !== undefined) text += `${name}${labels} ${measured}\n`;
    }
    yield text;
  }
}

/** A label's value between its quotes. */
const quoted = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

/**
 * Gauges of the application and of the predictor as the exporter sees it, read from memory at each scrape.
 * @param staleAfterSeconds a measurement of an older plan is none any more
 */
export function registerApplication(
  registry: Registry,
  header: () => RecommendationHeader,
  staleAfterSeconds: number,
): void {
  for (const { evenWhenStale, help, name, value } of APPLICATION_GAUGES) {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ["namespace", "application"],
        registers: [],
        collect() {
          this.reset();
          for (const { name, namespace, ...each } of applicationsOf(header())) {
            const isStale = (each.lastPlanAgeSeconds ?? 0) > staleAfterSeconds;
            const measured = isStale && !evenWhenStale ? undefined : value(each);
            if (measured !== undefined) this.set({ namespace, application: name }, measured);
          }
        },
      }),
    );
  }
  registry.registerMetric(
    new Gauge({
      name: "tradewind_recommendation_stale_after_seconds",
      help: "How long a decision may be served after its measurements.",
      registers: [],
      collect() {
        this.set(staleAfterSeconds);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: "tradewind_predictor_reachable",
      help: "1 when the last poll of the predictor gave an answer.",
      registers: [],
      collect() {
        this.set(Number(header().predictor.reachable));
      },
    }),
  );
}

function applicationsOf({
  application: name = "",
  applications,
  namespace = "",
  predictor,
  ...current
}: RecommendationHeader): readonly (OfApplication & { readonly name: string; readonly namespace: string })[] {
  const { lastPlanAgeSeconds, policyReasons } = predictor;
  return applications ?? [{ ...current, name, namespace, lastPlanAgeSeconds, policyReasons }];
}

type OfApplication = Pick<
  ServedApplication,
  "objective" | "measuredLatencySeconds" | "lastPlanAgeSeconds" | "policyReasons" | "problem"
>;

const budgetOf = ({ policyReasons }: OfApplication) => factsIn(policyReasons, "error-budget");

const APPLICATION_GAUGES: readonly {
  name: string;
  help: string;
  value: (application: OfApplication) => number | undefined;
  evenWhenStale?: true;
}[] = [
  {
    name: "tradewind_objective_latency_seconds",
    help: "Latency that the objective's percentile must stay under.",
    value: ({ objective }) => objective?.seconds,
    evenWhenStale: true,
  },
  {
    name: "tradewind_measured_latency_seconds",
    help: "The objective's percentile as last measured, worst flow; absent once the plan is too old to be served.",
    value: ({ measuredLatencySeconds }) => measuredLatencySeconds,
  },
  {
    name: "tradewind_error_budget_spent_ratio",
    help: "Share of the requests that was over the objective or failed in the error budget's period.",
    value: (application) => budgetOf(application)?.spentRatio,
  },
  {
    name: "tradewind_error_budget_left_ratio",
    help: "Share of the requests that plans may still spend of the error budget.",
    value: (application) => {
      const budget = budgetOf(application);
      return budget && Math.max(0, budget.useRatio * budget.allowedRatio - budget.spentRatio);
    },
  },
  {
    name: "tradewind_error_budget_percent_per_hour",
    help: "What one percent more of the requests over the objective is worth to plans, per hour.",
    value: (application) => budgetOf(application)?.percentPerHour,
  },
  {
    name: "tradewind_plan_age_seconds",
    help: "Time since the predictor made the plan in force, by the scaler's monotonic clock.",
    value: ({ lastPlanAgeSeconds }) => lastPlanAgeSeconds,
    evenWhenStale: true,
  },
];
