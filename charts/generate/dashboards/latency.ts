import type { Row } from "../grafana.ts";
import { mostOf, mostPredicted, NAME, OF_APPLICATION, predicted } from "./expressions.ts";

export const LATENCY: Row = {
  title: "Latency",
  panels: [
    {
      title: "Objective against measured",
      description: "End-to-end latency at the objective's percentile, worst flow.",
      kind: "timeseries",
      unit: "s",
      queries: [
        {
          expr: `max by (application) (tradewind_objective_latency_seconds${OF_APPLICATION})`,
          legend: "objective {{application}}",
        },
        {
          expr: `max by (application) (tradewind_measured_latency_seconds${OF_APPLICATION})`,
          legend: "measured {{application}}",
        },
      ],
    },
    {
      title: "Predicted against measured, by service",
      isMany: true,
      description:
        "95th percentile of latency of the flows through the service: as measured when the decision was made, and as predicted once it is in place.",
      kind: "timeseries",
      unit: "s",
      queries: [
        { expr: mostOf("tradewind_current_latency_seconds"), legend: `measured ${NAME}` },
        {
          expr: mostOf("tradewind_predicted_latency_seconds", "tradewind_current_latency_seconds"),
          legend: `predicted ${NAME}`,
        },
      ],
    },
    {
      title: "Error of the profiles",
      isMany: true,
      description:
        "How far the self time of each service, as expected before each window, is from the measured one: mean absolute ln(measured / expected) over the last windows.",
      kind: "timeseries",
      unit: "percentunit",
      queries: [{ expr: mostPredicted("tradewind_predictor_profile_error_ratio"), legend: NAME }],
    },
    {
      title: "Error of the predicted tail",
      description:
        "How far the slowest flow's latency at the objective's percentile came out from what the plan one window before said it would be, as a ratio.",
      kind: "timeseries",
      unit: "percentunit",
      queries: [
        {
          expr: "max by (instance) (tradewind_predictor_tail_prediction_error_ratio)",
          legend: "{{instance}}",
        },
      ],
    },
    {
      title: "What is known of the services",
      description:
        "How many have nothing yet, the queueing profile, or the latency network too.",
      kind: "timeseries",
      stacked: true,
      queries: ["nothing yet", "queueing profile", "latency network"].map((legend, maturity) => ({
        expr: `count((${predicted("tradewind_predictor_profile_maturity")}) == ${maturity})`,
        legend,
      })),
    },
  ],
};
