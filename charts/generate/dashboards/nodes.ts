import type { Dashboard, Panel, Variable } from "../grafana.ts";
import { TOP } from "./expressions.ts";

const NODE: Variable = {
  name: "instance",
  label: "Agent",
  query: "label_values(tradewind_node_interference_ratio, instance)",
};
const OF_NODE = '{instance=~"$instance"}';
const component = (which: string): string =>
  `tradewind_node_interference_ratio{instance=~"$instance",component="${which}"}`;
const heat = (
  title: string,
  which: string,
  description: string,
): Panel => ({
  title,
  description: `${description} The nodes with the most. 0 undisturbed, 1 fully taken.`,
  kind: "state-timeline",
  unit: "percentunit",
  max: 1,
  height: 10,
  queries: [
    {
      expr: `max by (instance) (${component(which)}) and on (instance) topk($top, max by (instance) (max_over_time(${component(which)}[$__range] @ end())))`, legend: "{{instance}}",
    },
  ],
});

export const nodes: Dashboard = {
  uid: "tradewind-nodes",
  title: "Tradewind / Nodes",
  description: "What neighbours do to each node, and what the agents cost.",
  variables: [NODE, TOP],
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
          isMany: true,
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
          isMany: true,
          description: "Resident.",
          kind: "timeseries",
          unit: "bytes",
          queries: [{ expr: `tradewind_agent_resident_memory_bytes${OF_NODE}`, legend: "{{instance}}" }],
        },
        {
          title: "Containers sampled",
          isMany: true,
          description: "By agent.",
          kind: "timeseries",
          queries: [{ expr: `tradewind_agent_containers${OF_NODE}`, legend: "{{instance}}" }],
        },
        {
          title: "Signals read less often than wanted",
          isMany: true,
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
