import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { clockFinding, problem } from "../check.ts";
import type { Finding } from "../source.ts";
import { seriesCounts } from "./detection.ts";
import type { Detected } from "./detection.ts";
import type { PrometheusOptions } from "./options.ts";
import type { PrometheusClient } from "./client.ts";
import { selector } from "./promql.ts";
import { sampleTimeMs, sampleValue } from "./samples.ts";

/** A server as far as it is checked. */
interface CheckedServer {
  readonly name: string;
  readonly client: PrometheusClient;
  readonly endpoint: Pick<EndpointClient, "health">;
  readonly options: PrometheusOptions;
  readonly detect: (nowMs: number, signal?: AbortSignal) => Promise<Detected>;
}

/** What a source needs of its server: an answer, request metrics that are fresh, resources when asked for. */
export async function checkPrometheus(
  source: CheckedServer,
  nowMs: number,
  signal?: AbortSignal,
): Promise<Finding[]> {
  const subject = `prometheus ${source.name}`;
  const findings: Finding[] = [];
  try {
    await source.client.query("vector(1)", nowMs, signal);
  } catch (error) {
    return [problem(subject, error)];
  }
  const version = await source.client.version(signal).catch(() => undefined);
  const what = version === undefined ? "answers" : `answers, version ${version}`;
  findings.push({ subject, level: "ok", message: what }, ...clockFinding(subject, source.endpoint.health));
  if (source.options.metrics !== "none")
    findings.push(...(await checkRequests(source, subject, nowMs, signal)));
  if (source.options.resources) findings.push(...(await checkResources(source, subject, nowMs, signal)));
  return findings;
}

async function checkRequests(
  source: CheckedServer,
  subject: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<Finding[]> {
  try {
    const { mapping, seriesCount } = await source.detect(nowMs, signal);
    const count = Number.isFinite(seriesCount) ? ` (${seriesCount} series in the largest)` : "";
    const findings: Finding[] = [
      { subject, level: "ok", message: `request metrics of ${mapping.name} are there${count}` },
    ];
    if (mapping.requests.kind === "counter") {
      const selected = selector(mapping.requests.metric, mapping.requests.matchers);
      findings.push(...(await checkFreshness(source, subject, selected, nowMs, signal)));
    }
    return findings;
  } catch (error) {
    const remedy = "scrape the mesh's or collector's metrics, or set metrics: custom with your own PromQL";
    return [problem(subject, error, remedy)];
  }
}

/** Series that exist only in the past show a scrape that stopped; few samples show a scrape interval set wrong. */
async function checkFreshness(
  source: CheckedServer,
  subject: string,
  selected: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<Finding[]> {
  const { scrapeIntervalSeconds } = source.options;
  const range = Math.max(60, 8 * scrapeIntervalSeconds);
  const newest = await source.client.query(`max(timestamp(${selected}))`, nowMs, signal);
  const [first] = newest.series;
  const newestSeconds = sampleValue(first?.value);
  if (newestSeconds === undefined) {
    return [
      {
        subject,
        level: "problem",
        message: `no fresh samples of ${selected}`,
        remedy: "check that the scrape works, and the namespaces in the configuration",
      },
    ];
  }
  const ageSeconds = (sampleTimeMs(first?.value) ?? nowMs) / 1_000 - newestSeconds;
  const findings: Finding[] = [];
  if (ageSeconds > 3 * scrapeIntervalSeconds + 30) {
    findings.push({
      subject,
      level: "problem",
      message: `the newest sample is ${ageSeconds.toFixed(0)} s old`,
      remedy: "check the scrape or the remote write that feeds this server",
    });
  }
  const counts = await source.client.query(`max(count_over_time(${selected}[${range}s]))`, nowMs, signal);
  const samples = sampleValue(counts.series[0]?.value);
  if (samples !== undefined && samples * scrapeIntervalSeconds * 2 < range) {
    findings.push({
      subject,
      level: "warning",
      message: `series have a sample about every ${(range / samples).toFixed(0)} s, not every ${scrapeIntervalSeconds} s`,
      remedy: "set scrapeIntervalSeconds to the real scrape interval, or scrape more often",
    });
  }
  return findings;
}

const RESOURCE_METRICS: Readonly<Record<string, string>> = {
  container_cpu_usage_seconds_total: "scrape the kubelet's /metrics/cadvisor",
  container_memory_working_set_bytes: "scrape the kubelet's /metrics/cadvisor",
  kube_pod_info: "run and scrape kube-state-metrics",
  kube_pod_container_resource_limits: "run and scrape kube-state-metrics; no container has a limit otherwise",
  node_cpu_seconds_total:
    "run and scrape node_exporter, or install the agent: interference is unknown without",
};

async function checkResources(
  source: CheckedServer,
  subject: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<Finding[]> {
  try {
    const counts = await seriesCounts(source.client, Object.keys(RESOURCE_METRICS), nowMs, signal);
    const missing = Object.entries(RESOURCE_METRICS).filter(([metric]) => !counts.has(metric));
    if (missing.length === 0) return [{ subject, level: "ok", message: "resource metrics are there" }];
    return missing.map(([metric, remedy]) => ({
      subject,
      level: "warning" as const,
      message: `${metric} is missing`,
      remedy,
    }));
  } catch (error) {
    return [problem(subject, error)];
  }
}
