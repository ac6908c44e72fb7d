import type { NodeUse } from "@tradewind/core/measure/interference.ts";
import type { Grid } from "./grid.ts";
import { conditions, duration, once, selector } from "./promql.ts";
import { rateRangeMs } from "./rates.ts";
import type { RateReader, RateSeries, StoredScope } from "./rates.ts";

/** Interfaces that carry a node's own traffic; virtual ones would count it twice. */
const PHYSICAL =
  'device!~"lo|veth.*|cali.*|cni.*|docker.*|flannel.*|cilium.*|lxc.*|br-.*|virbr.*|tunl.*|kube-.*|ovs.*|vxlan.*|bond.*[.].*"';
const IDLE = 'mode="idle"';

/**
 * node_exporter's series for each part of a node's use (names: node_exporter collectors cpu, meminfo, pressure, netdev,
 * netclass, netstat). Refaults and memory bandwidth are not among its default series.
 */
function expressions(range: string, { copyLabels, matchers }: StoredScope): Record<string, string> {
  const own = conditions(matchers);
  const of = (metric: string, ...more: readonly string[]): string =>
    `${metric}{${[...more, ...(own === "" ? [] : [own])].join(",")}}`;
  const node = (how: string, inner: string): string =>
    `${how} by (instance,node) (${once(inner, copyLabels)})`;
  const per = (...selected: Parameters<typeof of>): string =>
    node("sum", `rate(${of(...selected)}[${range}])`);
  return {
    cpuCores: node("count", of("node_cpu_seconds_total", IDLE)),
    cpuBusyCores: per("node_cpu_seconds_total", 'mode!~"idle|iowait|steal|guest|guest_nice"'),
    stealCores: per("node_cpu_seconds_total", 'mode="steal"'),
    cpuWaitRatio: per("node_pressure_cpu_waiting_seconds_total"),
    memoryTotalBytes: node("sum", of("node_memory_MemTotal_bytes")),
    memoryAvailableBytes: node("sum", of("node_memory_MemAvailable_bytes")),
    memoryWaitRatio: per("node_pressure_memory_waiting_seconds_total"),
    networkInterfaces: node("count", of("node_network_receive_bytes_total", PHYSICAL)),
    receivedBytesPerSecond: per("node_network_receive_bytes_total", PHYSICAL),
    sentBytesPerSecond: per("node_network_transmit_bytes_total", PHYSICAL),
    linkBytesPerSecond: node("sum", `${of("node_network_speed_bytes", PHYSICAL)} > 0`),
    packets: `${per("node_network_receive_packets_total", PHYSICAL)} + ${per("node_network_transmit_packets_total", PHYSICAL)}`,
    drops: `${per("node_network_receive_drop_total", PHYSICAL)} + ${per("node_network_transmit_drop_total", PHYSICAL)}`,
    retransmits: per("node_netstat_Tcp_RetransSegs"),
    segments: per("node_netstat_Tcp_OutSegs"),
  };
}

export type NodeColumns = ReadonlyMap<string, ReadonlyMap<string, Float64Array>>;

/** Reads every part for every node; a part that cannot be read is missing. Keys: node name, then part. */
export async function readNodes(
  reader: RateReader,
  grid: Grid,
  scope: StoredScope,
  signal?: AbortSignal,
): Promise<NodeColumns> {
  const range = duration(rateRangeMs(grid.stepMs, scope.scrapeIntervalMs));
  const uname = selector("node_uname_info", scope.matchers);
  const names = nodeNames(await reader.gauges(uname, grid, signal));
  const nodes = new Map<string, Map<string, Float64Array>>();
  await Promise.all(
    Object.entries(expressions(range, scope)).map(async ([part, expression]) => {
      const series = await reader.gauges(expression, grid, signal).catch((): RateSeries[] => []);
      for (const { labels, perSecond } of series) {
        const instance = labels["instance"] ?? "";
        const node = labels["node"] ?? names.get(instance) ?? instance.replace(/:\d+$/, "");
        if (node === "") continue;
        const parts = nodes.get(node) ?? new Map<string, Float64Array>();
        parts.set(part, perSecond);
        nodes.set(node, parts);
      }
    }),
  );
  return nodes;
}

function nodeNames(series: readonly RateSeries[]): Map<string, string> {
  return new Map(
    series.flatMap(({ labels: { instance, nodename } }) =>
      instance === undefined || nodename === undefined ? [] : [[instance, nodename] as const],
    ),
  );
}

/** One node in one window; parts that are not known are absent. */
export function nodeUse(parts: ReadonlyMap<string, Float64Array>, index: number): NodeUse {
  const at = (part: string): number | undefined => {
    const value = parts.get(part)?.[index];
    return value === undefined || Number.isNaN(value) ? undefined : value;
  };
  return {
    cpuCores: at("cpuCores"),
    cpuBusyCores: at("cpuBusyCores"),
    cpuWaitRatio: at("cpuWaitRatio"),
    stealRatio: ratio(at("stealCores"), at("cpuCores")),
    memoryTotalBytes: at("memoryTotalBytes"),
    memoryAvailableBytes: at("memoryAvailableBytes"),
    memoryWaitRatio: at("memoryWaitRatio"),
    refaultsPerSecond: undefined,
    bandwidthBytesPerSecond: undefined,
    bandwidthPeakBytesPerSecond: undefined,
    networkInterfaces: at("networkInterfaces"),
    // All links of the node count as one: which of them a pod's traffic takes is not in these series.
    linkUsedBytesPerSecond: larger(at("receivedBytesPerSecond"), at("sentBytesPerSecond")),
    linkBytesPerSecond: at("linkBytesPerSecond"),
    dropRatio: ratio(at("drops"), at("packets")),
    packetsPerSecond: at("packets"),
    retransmitRatio: ratio(at("retransmits"), at("segments")),
    sentSegmentsPerSecond: at("segments"),
  };
}

function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function ratio(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined || !(whole > 0)) return undefined;
  return Math.min(1, Math.max(0, part / whole));
}
