import type { Row } from "../grafana.ts";
import { each, mostOf, mostPredicted, NAME } from "./expressions.ts";

/** Exporters decide one after the other: the youngest decision of a service is the one in force. */
const YOUNGEST = `-(${each("-tradewind_recommendation_age_seconds")})`;

export const SIZES: Row = {
  title: "Sizes",
  panels: [
    {
      title: "Wanted and running",
      isMany: true,
      description:
        "Wanted: recommended, after the guard. A gap that stays means that nobody acts on it, or pods do not start.",
      kind: "timeseries",
      width: 24,
      height: 10,
      queries: [
        { expr: mostOf("tradewind_recommended_replicas"), legend: `wanted ${NAME}` },
        {
          expr: mostOf("tradewind_running_replicas", "tradewind_recommended_replicas"),
          legend: `running ${NAME}`,
        },
      ],
    },
    {
      title: "Proposed by the policy, before the guard",
      isMany: true,
      description: "Where this differs from what is wanted, the guard held or bounded it.",
      kind: "timeseries",
      queries: [{ expr: mostPredicted("tradewind_predictor_wished_replicas"), legend: NAME }],
    },
    {
      title: "What the guard changed, and refused",
      description:
        "Decisions a step changed and proposals it refused, per minute. The decision record (/v1/decisions) says which and why.",
      kind: "timeseries",
      queries: [
        {
          expr: "sum by (step) (rate(tradewind_guard_actions_total[5m])) * 60",
          legend: "changed: {{step}}",
        },
        {
          expr: "sum by (step) (rate(tradewind_guard_refusals_total[5m])) * 60",
          legend: "refused: {{step}}",
        },
      ],
    },
    {
      title: "Held by the HPA's tolerance",
      description:
        "When the HPA ignores the recommendation because it is within 10 %: its `behavior` lacks tolerance 0. No data is good.",
      kind: "state-timeline",
      max: 1,
      queries: [{ expr: `${each("tradewind_held_by_hpa_tolerance")} == 1`, legend: NAME }],
    },
    {
      title: "Age of decisions",
      description: "Of the services' newest decisions the oldest, and the median.",
      kind: "timeseries",
      unit: "s",
      queries: [
        { expr: `max(${YOUNGEST})`, legend: "oldest" },
        { expr: `quantile(0.5, ${YOUNGEST})`, legend: "median" },
      ],
    },
    {
      title: "CPU recommended for each container",
      isMany: true,
      description: "Cores.",
      kind: "timeseries",
      queries: [{ expr: mostOf("tradewind_recommended_cpu_cores"), legend: NAME }],
    },
    {
      title: "Memory recommended for each container",
      isMany: true,
      description: "Bytes.",
      kind: "timeseries",
      unit: "bytes",
      queries: [{ expr: mostOf("tradewind_recommended_memory_bytes"), legend: NAME }],
    },
    {
      title: "Requests in the service",
      isMany: true,
      description:
        "By Little's law: waiting or served in the service itself. The queue that queue balancing balances.",
      kind: "timeseries",
      queries: [{ expr: mostPredicted("tradewind_predictor_queue_own_requests"), legend: NAME }],
    },
    {
      title: "Services decided on with measurements missing",
      description: "Nothing of them is scaled down.",
      kind: "timeseries",
      queries: [{ expr: "max(tradewind_predictor_services_incomplete)", legend: "services" }],
    },
  ],
};
