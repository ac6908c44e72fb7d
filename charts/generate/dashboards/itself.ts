import type { Dashboard } from "../grafana.ts";

/** The sum over the predictors' containers of what agents say of each container. */
function ofPredictors(value: string): string {
  return (
    `sum(${value} * on (instance, container_id) group_left (namespace, pod) tradewind_container_info{container="predictor"}` +
    " and on (namespace, pod) tradewind_predictor_build_info)"
  );
}

export const itself: Dashboard = {
  uid: "tradewind-itself",
  title: "Tradewind / Itself",
  description: "Does the scaler answer KEDA, does the predictor plan, and what does all of it cost?",
  variables: [],
  rows: [
    {
      title: "KEDA",
      panels: [
        {
          title: "Calls",
          description: "Per second, by RPC.",
          kind: "timeseries",
          unit: "reqps",
          queries: [
            { expr: "sum by (rpc) (rate(tradewind_keda_rpc_duration_seconds_count[5m]))", legend: "{{rpc}}" },
          ],
        },
        {
          title: "Calls that failed",
          description:
            "UNAVAILABLE: no valid decision. INVALID_ARGUMENT: a trigger's metadata. GetMetricSpec must never be here.",
          kind: "timeseries",
          unit: "reqps",
          queries: [
            {
              expr: 'sum by (rpc, code) (rate(tradewind_keda_rpc_duration_seconds_count{code!~"OK|CANCELLED"}[5m]))',
              legend: "{{rpc}} {{code}}",
            },
          ],
        },
        {
          title: "Time of a call, 99th percentile",
          description: "From headers to status, in the scaler.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: 'histogram_quantile(0.99, sum by (rpc, le) (rate(tradewind_keda_rpc_duration_seconds_bucket{rpc!~"Stream.*"}[5m])))',
              legend: "{{rpc}}",
            },
          ],
        },
        {
          title: "Streams open",
          description: "Of external-push triggers.",
          kind: "timeseries",
          queries: [{ expr: "sum by (instance) (tradewind_keda_streams)", legend: "{{instance}}" }],
        },
      ],
    },
    {
      title: "Predictor",
      panels: [
        {
          title: "Reached by the scalers",
          description: "1 when the last poll gave an answer.",
          kind: "state-timeline",
          max: 1,
          queries: [{ expr: "tradewind_predictor_reachable", legend: "{{instance}}" }],
        },
        {
          title: "Time to plan, and to publish",
          description:
            "99th percentile: making the plan, and from the close of a window until its plan is published.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: "histogram_quantile(0.99, sum by (le) (rate(tradewind_predictor_plan_duration_seconds_bucket[10m])))",
              legend: "plan",
            },
            {
              expr: "histogram_quantile(0.99, sum by (le) (rate(tradewind_predictor_plan_publish_delay_seconds_bucket[10m])))",
              legend: "publish",
            },
          ],
        },
        {
          title: "Spans",
          description: "Per second, by what became of them; and those dropped later, by reason.",
          kind: "timeseries",
          queries: [
            { expr: "sum by (result) (rate(tradewind_predictor_spans_total[5m]))", legend: "{{result}}" },
            {
              expr: "sum by (reason) (rate(tradewind_predictor_spans_dropped_total[5m])) > 0",
              legend: "dropped: {{reason}}",
            },
          ],
        },
        {
          title: "Sources that do not answer",
          description: "Prometheus, Jaeger, Tempo and agents.",
          kind: "timeseries",
          queries: [
            {
              expr: 'sum by (kind, source) (tradewind_source_state{state=~"failing|open"}) > 0',
              legend: "{{kind}} {{source}}",
            },
          ],
        },
        {
          title: "History",
          description: "Size of the windows on disk.",
          kind: "timeseries",
          unit: "bytes",
          queries: [{ expr: "max by (instance) (tradewind_store_size_bytes)", legend: "{{instance}}" }],
        },
        {
          title: "Failures",
          description:
            "Per hour: windows without a plan, state that could not be written, certificates refused, proposals that break the contract.",
          kind: "timeseries",
          queries: [
            { expr: "sum(increase(tradewind_predictor_plan_failures_total[1h]))", legend: "no plan" },
            {
              expr: 'sum(increase(tradewind_state_events_total{event="save-failed"}[1h]))',
              legend: "state of scalers",
            },
            {
              expr: "sum(increase(tradewind_predictor_state_errors_total[1h]))",
              legend: "state of predictors",
            },
            {
              expr: 'sum(increase(tradewind_tls_reloads_total{result="failed"}[1h]))',
              legend: "certificates",
            },
            { expr: "sum(increase(tradewind_plan_wishes_rejected_total[1h]))", legend: "proposals" },
          ],
        },
      ],
    },
    {
      title: "Cost of Tradewind",
      panels: [
        {
          title: "CPU",
          description: "Cores used by all agents, scalers and, as the agents see them, predictors.",
          kind: "timeseries",
          stacked: true,
          queries: [
            { expr: "sum(rate(tradewind_agent_cpu_seconds_total[5m]))", legend: "agents" },
            {
              expr: "sum(rate(process_cpu_seconds_total[5m]) and on (instance) tradewind_exporter_info)",
              legend: "scalers",
            },
            {
              expr: ofPredictors("rate(tradewind_container_cpu_usage_seconds_total[5m])"),
              legend: "predictors",
            },
          ],
        },
        {
          title: "Memory",
          description:
            "Resident, all agents and scalers; working set of the predictors, as the agents see it.",
          kind: "timeseries",
          unit: "bytes",
          stacked: true,
          queries: [
            { expr: "sum(tradewind_agent_resident_memory_bytes)", legend: "agents" },
            {
              expr: "sum(process_resident_memory_bytes and on (instance) tradewind_exporter_info)",
              legend: "scalers",
            },
            { expr: ofPredictors("tradewind_container_memory_working_set_bytes"), legend: "predictors" },
          ],
        },
        {
          title: "Delay of the scalers' event loops",
          description: "99th percentile between two scrapes; grpc is the thread that answers KEDA.",
          kind: "timeseries",
          unit: "s",
          queries: [
            { expr: "tradewind_exporter_event_loop_delay_seconds", legend: "{{instance}} {{thread}}" },
          ],
        },
        {
          title: "Versions",
          description: "More than one while an upgrade runs.",
          kind: "stat",
          queries: [
            { expr: "count by (version) (tradewind_exporter_info)", legend: "scaler {{version}}" },
            { expr: "count by (version) (tradewind_predictor_build_info)", legend: "predictor {{version}}" },
          ],
        },
      ],
    },
  ],
};
