import type { Dashboard } from "./grafana.ts";

const NAMESPACE = {
  name: "namespace",
  label: "Namespace",
  query: 'label_values(tradewind_recommended_replicas{application=~"$application"}, namespace)',
};
const SERVICE = {
  name: "service",
  label: "Service",
  query:
    'label_values(tradewind_recommended_replicas{application=~"$application",namespace=~"$namespace"}, service)',
};
const APPLICATION = {
  name: "application",
  label: "Application",
  query: "label_values(tradewind_objective_latency_seconds, application)",
};
const NODE = {
  name: "instance",
  label: "Agent",
  query: "label_values(tradewind_node_interference_ratio, instance)",
};

const OF_SERVICE = '{namespace=~"$namespace",service=~"$service"}';
const OF_APPLICATION = '{application=~"$application"}';
const each = (metric: string, by = "namespace, service"): string => `max by (${by}) (${metric}${OF_SERVICE})`;
const name = "{{namespace}}/{{service}}";

/** Every predictor counts all requests: the shares are taken for each, and the largest is shown. */
const burnRate = (window: string): string => {
  const rate = (labels: string): string =>
    `sum by (application, instance) (rate(tradewind_predictor_requests_total${labels}[${window}]))`;
  const bad = rate('{application=~"$application",result="bad"}');
  const budget = `(1 - max by (application) (tradewind_predictor_objective_ratio${OF_APPLICATION}))`;
  return `max by (application) (${bad} / ${rate(OF_APPLICATION)}) / on (application) ${budget}`;
};

const application: Dashboard = {
  uid: "tradewind-application",
  title: "Tradewind / Application",
  description: "Is the objective met, what does Tradewind want, and does it get it?",
  variables: [APPLICATION, NAMESPACE, SERVICE],
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Measured over objective",
          description:
            "Latency at the objective's percentile, worst flow, over the objective. Over 1 the objective is missed.",
          kind: "stat",
          unit: "percentunit",
          width: 6,
          height: 4,
          alarmFrom: 1,
          queries: [
            {
              expr: `max by (application) (tradewind_measured_latency_seconds${OF_APPLICATION} / tradewind_objective_latency_seconds${OF_APPLICATION})`,
              legend: "{{application}}",
            },
          ],
        },
        {
          title: "Age of the plan",
          description: "Time since a predictor made a plan; a window or two while all is well.",
          kind: "stat",
          unit: "s",
          width: 6,
          height: 4,
          alarmFrom: 120,
          queries: [
            {
              expr: `min by (application) (tradewind_plan_age_seconds${OF_APPLICATION})`,
              legend: "{{application}}",
            },
          ],
        },
        {
          title: "Services without a valid recommendation",
          description: "KEDA is answered UNAVAILABLE for these: its fallback keeps their replicas.",
          kind: "stat",
          width: 6,
          height: 4,
          alarmFrom: 1,
          queries: [
            { expr: `count(${each("tradewind_recommendation_valid")} == 0) or vector(0)`, legend: "expired" },
          ],
        },
        {
          title: "Policy that decides",
          description: "hold < reactive < queue < planner: the higher, the more evidence the plan rests on.",
          kind: "stat",
          width: 6,
          height: 4,
          queries: [{ expr: "max by (policy) (tradewind_predictor_policy_info)", legend: "{{policy}}" }],
        },
      ],
    },
    {
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
          title: "Error budget: how fast it burns",
          description:
            "Share of users' requests that took longer than the objective, over the share that may: over 1 the budget is used up before its time.",
          kind: "timeseries",
          queries: ["5m", "1h", "6h"].map((window) => ({
            expr: burnRate(window),
            legend: `${window} {{application}}`,
          })),
        },
        {
          title: "Cost an hour",
          description:
            "By the application's prices: of what runs, and of the same services at the sizes recommended. The difference is what following the plan saves, or costs.",
          kind: "timeseries",
          queries: [
            {
              expr: `max by (application, of) (tradewind_predictor_cost_per_hour${OF_APPLICATION})`,
              legend: "{{of}} {{application}}",
            },
          ],
        },
        {
          title: "Predicted against measured, by service",
          description:
            "95th percentile of latency of the flows through the service: as measured when the decision was made, and as predicted once it is in place.",
          kind: "timeseries",
          unit: "s",
          queries: [
            { expr: each("tradewind_current_latency_seconds"), legend: `measured ${name}` },
            { expr: each("tradewind_predicted_latency_seconds"), legend: `predicted ${name}` },
          ],
        },
        {
          title: "Error of the profiles",
          description:
            "How far the self time of each service, as predicted before each window, is from the measured one: mean absolute ln(measured / predicted) over the last windows.",
          kind: "timeseries",
          unit: "percentunit",
          queries: [{ expr: each("tradewind_predictor_profile_error_ratio"), legend: name }],
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
          title: "What is known of each service",
          description:
            "0 nothing yet, 1 the tracked queueing profile, 2 the same with a trained residual in use.",
          kind: "timeseries",
          max: 2,
          queries: [{ expr: each("tradewind_predictor_profile_maturity"), legend: name }],
        },
        {
          title: "Confidence",
          description: "How sure the deciding policy is.",
          kind: "timeseries",
          unit: "percentunit",
          max: 1,
          queries: [{ expr: each("tradewind_recommendation_confidence_ratio"), legend: name }],
        },
      ],
    },
    {
      title: "Replicas",
      panels: [
        {
          title: "Wanted and running",
          description:
            "Wanted: recommended, after the guard. A gap that stays means that nobody acts on it, or pods do not start.",
          kind: "timeseries",
          width: 24,
          height: 10,
          queries: [
            { expr: each("tradewind_recommended_replicas"), legend: `wanted ${name}` },
            { expr: each("tradewind_running_replicas"), legend: `running ${name}` },
            { expr: each("tradewind_maximum_replicas"), legend: `maximum ${name}` },
          ],
        },
        {
          title: "Wished by the policy, before the guard",
          description: "Where this differs from what is wanted, the guard held or bounded it.",
          kind: "timeseries",
          queries: [{ expr: each("tradewind_predictor_wished_replicas"), legend: name }],
        },
        {
          title: "What the guard changed, and refused",
          description:
            "Decisions a step changed and wishes it refused, per minute. The decision record (/v1/decisions) says which and why.",
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
            "1 where the HPA ignores the recommendation because it is within 10 %: its `behavior` lacks tolerance 0.",
          kind: "state-timeline",
          max: 1,
          queries: [{ expr: each("tradewind_held_by_hpa_tolerance"), legend: name }],
        },
        {
          title: "Age of decisions",
          description: "Time since the youngest decision of any exporter.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `min by (namespace, service) (tradewind_recommendation_age_seconds${OF_SERVICE})`,
              legend: name,
            },
          ],
        },
        {
          title: "CPU recommended for each container",
          description: "Cores.",
          kind: "timeseries",
          queries: [{ expr: each("tradewind_recommended_cpu_cores"), legend: name }],
        },
        {
          title: "Memory recommended for each container",
          description: "Bytes.",
          kind: "timeseries",
          unit: "bytes",
          queries: [{ expr: each("tradewind_recommended_memory_bytes"), legend: name }],
        },
        {
          title: "Requests in the service",
          description:
            "By Little's law: waiting or served in the service itself. The queue that queue balancing balances.",
          kind: "timeseries",
          queries: [{ expr: each("tradewind_predictor_queue_own_requests"), legend: name }],
        },
        {
          title: "Services decided on with measurements missing",
          description: "Nothing is taken away from them.",
          kind: "timeseries",
          queries: [{ expr: "max(tradewind_predictor_services_incomplete)", legend: "services" }],
        },
      ],
    },
  ],
};

/** The sum over the predictors' containers of what agents say of each container. */
function ofPredictors(value: string): string {
  return (
    `sum(${value} * on (instance, container_id) group_left (namespace, pod) tradewind_container_info{container="predictor"}` +
    " and on (namespace, pod) tradewind_predictor_build_info)"
  );
}

const OF_NODE = '{instance=~"$instance"}';
const component = (which: string): string =>
  `tradewind_node_interference_ratio{instance=~"$instance",component="${which}"}`;
const heat = (
  title: string,
  which: string,
  description: string,
): Dashboard["rows"][number]["panels"][number] => ({
  title,
  description: `${description} 0 undisturbed, 1 fully taken.`,
  kind: "state-timeline",
  unit: "percentunit",
  max: 1,
  height: 10,
  queries: [{ expr: `max by (instance) (${component(which)})`, legend: "{{instance}}" }],
});

const nodes: Dashboard = {
  uid: "tradewind-nodes",
  title: "Tradewind / Nodes",
  description: "What neighbours do to each node, and what the agents cost.",
  variables: [NODE],
  rows: [
    {
      title: "Interference by node",
      panels: [
        heat("CPU", "cpu", "Other tenants' share of the CPUs, with pressure and steal."),
        heat(
          "Memory capacity",
          "memoryCapacity",
          "Other tenants' share of memory, with pressure and refaults.",
        ),
        heat("Memory bandwidth", "memoryBandwidth", "Bandwidth over the machine's peak, or a proxy."),
        heat("Network", "network", "Other traffic over the link's speed, with drops and retransmits."),
      ],
    },
    {
      title: "Agents",
      panels: [
        {
          title: "CPU of the agents",
          description: "Share of a core that each agent uses, and the budget for reading.",
          kind: "timeseries",
          unit: "percentunit",
          queries: [
            { expr: `rate(tradewind_agent_cpu_seconds_total${OF_NODE}[5m])`, legend: "{{instance}}" },
            { expr: `max(tradewind_agent_cost_budget_ratio${OF_NODE})`, legend: "budget" },
          ],
        },
        {
          title: "Memory of the agents",
          description: "Resident.",
          kind: "timeseries",
          unit: "bytes",
          queries: [{ expr: `tradewind_agent_resident_memory_bytes${OF_NODE}`, legend: "{{instance}}" }],
        },
        {
          title: "Containers sampled",
          description: "By agent.",
          kind: "timeseries",
          queries: [{ expr: `tradewind_agent_containers${OF_NODE}`, legend: "{{instance}}" }],
        },
        {
          title: "Signals read less often than wanted",
          description: "To keep to the budget.",
          kind: "timeseries",
          queries: [{ expr: `tradewind_agent_stretched_signals${OF_NODE}`, legend: "{{instance}}" }],
        },
        {
          title: "Failed reads",
          description: "Of the node's collectors and of containers, per minute.",
          kind: "timeseries",
          queries: [
            {
              expr: `sum by (instance, collector) (rate(tradewind_agent_collector_failures_total${OF_NODE}[5m])) * 60 > 0`,
              legend: "{{instance}} {{collector}}",
            },
            {
              expr: `rate(tradewind_agent_container_read_failures_total${OF_NODE}[5m]) * 60 > 0`,
              legend: "{{instance}} containers",
            },
          ],
        },
      ],
    },
  ],
};

const itself: Dashboard = {
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
          description: "From headers to status, in the exporter.",
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
          title: "Reached by the exporters",
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
            "Per hour: windows without a plan, state that could not be written, certificates refused, wishes that break the contract.",
          kind: "timeseries",
          queries: [
            { expr: "sum(increase(tradewind_predictor_plan_failures_total[1h]))", legend: "no plan" },
            {
              expr: 'sum(increase(tradewind_state_events_total{event="save-failed"}[1h]))',
              legend: "state of exporters",
            },
            {
              expr: "sum(increase(tradewind_predictor_state_errors_total[1h]))",
              legend: "state of predictors",
            },
            {
              expr: 'sum(increase(tradewind_tls_reloads_total{result="failed"}[1h]))',
              legend: "certificates",
            },
            { expr: "sum(increase(tradewind_plan_wishes_rejected_total[1h]))", legend: "wishes" },
          ],
        },
      ],
    },
    {
      title: "Cost of Tradewind",
      panels: [
        {
          title: "CPU",
          description: "Cores used by all agents, exporters and, as the agents see them, predictors.",
          kind: "timeseries",
          stacked: true,
          queries: [
            { expr: "sum(rate(tradewind_agent_cpu_seconds_total[5m]))", legend: "agents" },
            {
              expr: "sum(rate(process_cpu_seconds_total[5m]) and on (instance) tradewind_exporter_info)",
              legend: "exporters",
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
            "Resident, all agents and exporters; working set of the predictors, as the agents see it.",
          kind: "timeseries",
          unit: "bytes",
          stacked: true,
          queries: [
            { expr: "sum(tradewind_agent_resident_memory_bytes)", legend: "agents" },
            {
              expr: "sum(process_resident_memory_bytes and on (instance) tradewind_exporter_info)",
              legend: "exporters",
            },
            { expr: ofPredictors("tradewind_container_memory_working_set_bytes"), legend: "predictors" },
          ],
        },
        {
          title: "Delay of the exporters' event loops",
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
            { expr: "count by (version) (tradewind_exporter_info)", legend: "exporter {{version}}" },
            { expr: "count by (version) (tradewind_predictor_build_info)", legend: "predictor {{version}}" },
          ],
        },
      ],
    },
  ],
};

/** By the name of their file. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = { application, nodes, itself };
