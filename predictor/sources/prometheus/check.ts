import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { clockFinding, problem } from "../check.ts";
import type { Finding } from "../source.ts";
import { momentOf, scopeOf, seriesCounts } from "./detection.ts";
import type { Detected } from "./detection.ts";
import { singleWindow } from "./grid.ts";
import type { Grid } from "./grid.ts";
import type { PrometheusOptions } from "./options.ts";
import type { PrometheusClient } from "./client.ts";
import type { RateSettings } from "./rates.ts";
import type { Remark } from "./survey.ts";

/** A server as far as it is checked. */
interface CheckedServer {
  readonly name: string;
  readonly client: PrometheusClient;
  readonly endpoint: Pick<EndpointClient, "health">;
  readonly options: PrometheusOptions;
  readonly scrapeIntervalMs: number;
  detect(nowMs: number, signal?: AbortSignal): Promise<Detected>;
  look(detected: Detected, grid: Grid, signal?: AbortSignal): Promise<RateSettings["read"]>;
  lookAtResources(grid: Grid, signal?: AbortSignal): Promise<void>;
  remarks(): readonly Remark[];
}

/** Windows are this long unless the predictor is told otherwise. */
const USUAL_WINDOW_MS = 15_000;
const MOST_NAMES = 5;
const NO_SERIES =
  "scrape the mesh's or collector's metrics, check the application's namespace, or set metrics: custom with your own PromQL";

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
  for (const remark of source.remarks()) findings.push({ subject, level: "problem", ...remark });
  return findings;
}

async function checkRequests(
  source: CheckedServer,
  subject: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<Finding[]> {
  try {
    const detected = await source.detect(nowMs, signal);
    const { mapping, seriesCount, services } = detected;
    const count = Number.isFinite(seriesCount) ? ` (${seriesCount} series in the largest)` : "";
    const whose = services === undefined ? "" : `, of ${servicesInWords(services)}`;
    const findings: Finding[] = [
      { subject, level: "ok", message: `request metrics of ${mapping.name} are there${whose}${count}` },
    ];
    const { requests } = mapping;
    if (requests.kind !== "counter") return findings;
    const read = await source.look(detected, singleWindow(nowMs - USUAL_WINDOW_MS, nowMs), signal);
    if (read === undefined) return findings;
    const ages = read.series.map(
      ({ samples }) => nowMs - (samples.timesMs.at(-1) ?? Number.NEGATIVE_INFINITY),
    );
    const age = ageFindings(source, subject, Math.min(...ages) / 1_000);
    return [...findings, ...age, ...intervalFindings(source, subject)];
  } catch (error) {
    const isWithout = error instanceof TradewindError && error.code === "no-series";
    return [problem(subject, error, isWithout ? NO_SERIES : undefined)];
  }
}

function servicesInWords(services: readonly string[]): string {
  const named = services.slice(0, MOST_NAMES).join(", ");
  const more = services.length > MOST_NAMES ? ", …" : "";
  return `${services.length} ${services.length === 1 ? "service" : "services"} of yours: ${named}${more}`;
}

function intervalFindings({ scrapeIntervalMs }: CheckedServer, subject: string): Finding[] {
  if (scrapeIntervalMs <= 2 * USUAL_WINDOW_MS) return [];
  const seconds = (scrapeIntervalMs / 1_000).toFixed(0);
  return [
    {
      subject,
      level: "warning",
      message: `series have a sample every ${seconds} s: rates are means over ${((1.5 * scrapeIntervalMs) / 1_000).toFixed(0)} s, and a rise of load is seen that late`,
      remedy: "scrape every 15 s",
    },
  ];
}

/** Series that exist only in the past show a scrape that stopped. */
function ageFindings({ scrapeIntervalMs }: CheckedServer, subject: string, ageSeconds: number): Finding[] {
  if (ageSeconds <= (3 * scrapeIntervalMs) / 1_000 + 30) return [];
  const age = Number.isFinite(ageSeconds)
    ? `the newest sample is ${ageSeconds.toFixed(0)} s old`
    : "no fresh samples";
  return [
    {
      subject,
      level: "problem",
      message: age,
      remedy:
        "check the scrape or the remote write that feeds this server, and the namespaces in the configuration",
    },
  ];
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
    await source.lookAtResources(singleWindow(nowMs - USUAL_WINDOW_MS, nowMs), signal);
    const names = Object.keys(RESOURCE_METRICS);
    const counts = await seriesCounts(source.client, names, scopeOf(source.options), momentOf(nowMs), signal);
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
