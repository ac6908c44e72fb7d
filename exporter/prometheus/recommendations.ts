import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";

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
      help: "CPU recommended for each container, cores.",
      value: ({ cpuCores }) => cpuCores,
    },
    {
      name: "tradewind_recommended_memory_bytes",
      help: "Memory recommended for each container.",
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
      help: "Time since the decision; goes on after the decision has expired.",
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
 * Gauges per service, filled at each scrape from what is in force then: a service that is gone has no series. Only
 * memory is read.
 */
export function registerRecommendations(registry: Registry, list: () => RecommendationList): void {
  const scrape = scrapeOnce(list);
  for (const { name, help, value, evenWhenExpired } of SERVICE_GAUGES) {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ["namespace", "service"],
        registers: [],
        collect() {
          this.reset();
          for (const served of scrape().recommendations) {
            const { namespace, service } = served;
            const measured = served.valid || evenWhenExpired ? value(served) : undefined;
            if (measured !== undefined) this.set({ namespace, service }, measured);
          }
        },
      }),
    );
  }
  for (const { name, help, value } of APPLICATION_GAUGES) {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ["application"],
        registers: [],
        collect() {
          this.reset();
          const current = scrape();
          const measured = value(current);
          if (measured !== undefined) this.set({ application: current.application ?? "" }, measured);
        },
      }),
    );
  }
  registry.registerMetric(
    new Gauge({
      name: "tradewind_predictor_reachable",
      help: "1 when the last poll of the predictor gave an answer.",
      registers: [],
      collect() {
        this.set(Number(scrape().predictor.reachable));
      },
    }),
  );
}

const APPLICATION_GAUGES: readonly {
  name: string;
  help: string;
  value: (list: RecommendationList) => number | undefined;
}[] = [
  {
    name: "tradewind_objective_latency_seconds",
    help: "Latency that the objective's percentile must stay under.",
    value: ({ objective }) => objective?.seconds,
  },
  {
    name: "tradewind_measured_latency_seconds",
    help: "The objective's percentile as last measured, worst flow.",
    value: ({ measuredLatencySeconds }) => measuredLatencySeconds,
  },
  {
    name: "tradewind_plan_age_seconds",
    help: "Time since the predictor made the plan in force.",
    value: ({ predictor, servedAtMs }) =>
      predictor.lastPlanAtMs === undefined
        ? undefined
        : Math.max(0, servedAtMs - predictor.lastPlanAtMs) / 1e3,
  },
];

/** One list for all gauges of a scrape: they are collected within one turn of the event loop. */
function scrapeOnce(list: () => RecommendationList): () => RecommendationList {
  let current: RecommendationList | undefined;
  return () => {
    if (current === undefined) {
      current = list();
      setImmediate(() => {
        current = undefined;
      });
    }
    return current;
  };
}
