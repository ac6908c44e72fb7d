import type { Dashboard, Row } from "../grafana.ts";
import {
  APPLICATION,
  burnRate,
  byApplication,
  CAUSES,
  each,
  MODE,
  NAMESPACE,
  OF_APPLICATION,
  SERVICE,
  TOP,
} from "./expressions.ts";
import { LATENCY } from "./latency.ts";
import { SIZES } from "./sizes.ts";

/** Every service on a line of its own, whatever their number. */
const SERVICES: Row = {
  title: "Services",
  panels: [
    {
      title: "Every service",
      description:
        "Sizes are of each container. Latency is the 95th percentile of the routes through the service, as measured and once the recommendation is in place. Click a heading to sort, the funnel to filter.",
      kind: "table",
      width: 24,
      height: 12,
      queries: [
        { expr: each("tradewind_running_replicas"), legend: "running" },
        { expr: each("tradewind_recommended_replicas"), legend: "wanted" },
        { expr: each("tradewind_maximum_replicas"), legend: "maximum" },
        { expr: each("tradewind_current_latency_seconds"), legend: "p95", unit: "s" },
        { expr: each("tradewind_predicted_latency_seconds"), legend: "p95 predicted", unit: "s" },
        { expr: each("tradewind_running_cpu_cores"), legend: "cores" },
        { expr: each("tradewind_recommended_cpu_cores"), legend: "cores wanted" },
        { expr: each("tradewind_running_memory_bytes"), legend: "memory", unit: "bytes" },
        { expr: each("tradewind_recommended_memory_bytes"), legend: "memory wanted", unit: "bytes" },
        { expr: each("tradewind_recommendation_confidence_ratio"), legend: "confidence", unit: "percentunit" },
      ],
    },
  ],
};

export const application: Dashboard = {
  uid: "tradewind-application",
  title: "Tradewind / Application",
  description: "Is the objective met, what does Tradewind want, and does it get it?",
  variables: [APPLICATION, NAMESPACE, SERVICE, TOP],
  annotations: [CAUSES],
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Latency as % of objective",
          description:
            "Latency at the objective's percentile, worst flow, over the objective. Over 1 the objective is missed.",
          kind: "stat",
          unit: "percentunit",
          width: 5,
          height: 4,
          alarmFrom: 1,
          queries: byApplication(
            `max by (application) (tradewind_measured_latency_seconds${OF_APPLICATION} / tradewind_objective_latency_seconds${OF_APPLICATION})`,
          ),
        },
        { ...MODE, width: 4 },
        {
          title: "Error budget burned, last hour",
          description:
            "Times as fast as the budget allows: over 1 it is used up before its time. The dashboard Cost and objective has more.",
          kind: "stat",
          width: 4,
          height: 4,
          alarmFrom: 1,
          queries: byApplication(burnRate("1h")),
        },
        {
          title: "Age of the plan",
          description: "Time since a predictor made a plan; a window or two while all is well.",
          kind: "stat",
          unit: "s",
          width: 4,
          height: 4,
          alarmFrom: 120,
          queries: byApplication(`min by (application) (tradewind_plan_age_seconds${OF_APPLICATION})`),
        },
        {
          title: "Without a recommendation",
          description:
            "Services without a valid one. KEDA is answered UNAVAILABLE for these: its fallback keeps their replicas.",
          kind: "stat",
          width: 4,
          height: 4,
          alarmFrom: 1,
          queries: [
            { expr: `count(${each("tradewind_recommendation_valid")} == 0) or vector(0)`, legend: "expired" },
          ],
        },
        {
          title: "Policy that decides",
          shows: "name",
          description: "hold < reactive < queue < planner: the higher, the more evidence the plan rests on.",
          kind: "stat",
          width: 3,
          height: 4,
          queries: [{ expr: "max by (policy) (tradewind_predictor_policy_info)", legend: "{{policy}}" }],
        },
      ],
    },
    SERVICES,
    LATENCY,
    SIZES,
  ],
};
