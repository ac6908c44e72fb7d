import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AgentOptions } from "@tradewind/agent/options.ts";
import { startAgent } from "@tradewind/agent/agent.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { ExporterMetrics } from "@tradewind/exporter/serve/prometheus/metrics.ts";
import { ExplanationMetrics } from "@tradewind/predictor/answers/language-model/metrics.ts";
import { registerApplications } from "@tradewind/predictor/run/applications-metrics.ts";
import { ProfileAccuracy } from "@tradewind/predictor/learn/profile-accuracy.ts";
import { ApplicationMetrics } from "@tradewind/predictor/run/application/application-metrics.ts";
import { PredictorMetrics } from "@tradewind/predictor/run/process/metrics.ts";
import { registerEndpointMetrics } from "@tradewind/predictor/sources/endpoint-metrics.ts";
import { registerPeerMetrics } from "@tradewind/predictor/sources/peers/metrics.ts";
import { registerTriggerMetrics } from "@tradewind/predictor/sources/kubernetes/trigger-metrics.ts";
import { registerStoreMetrics } from "@tradewind/predictor/store/metrics.ts";
import { Registry } from "prom-client";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { serviceSeries } from "@tradewind/exporter/serve/prometheus/recommendations.ts";
import { DASHBOARDS } from "../../charts/generate/dashboards/list.ts";
import { AgentOn } from "../agent/agent-on.ts";
import { Tree } from "../agent/tree/plant.ts";
import { situation, V2 } from "../agent/tree/situation.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { CHART } from "./helm.ts";

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}

/** Label names of each metric, by the name that a series of it has. */
const declared = new Map<string, Set<string>>();
/** Labels that Prometheus or the chart's monitors give every series. */
const TARGET_LABELS = new Set(["instance", "job", "namespace", "pod"]);

function add(name: string, type: string, labels: readonly string[]): void {
  const of = (each: string, more: readonly string[] = []): void => {
    declared.set(each, new Set([...(declared.get(each) ?? []), ...labels, ...more]));
  };
  if (type !== "histogram") return of(name);
  of(`${name}_bucket`, ["le"]);
  of(`${name}_count`);
  of(`${name}_sum`);
}

/** Takes in what a process answers on /metrics. */
async function addFrom(http: string): Promise<void> {
  addText(await (await fetch(`${http}/metrics`)).text());
}

function addText(text: string): void {
  for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const series = text.matchAll(new RegExp(`^${name}(?:_bucket|_count|_sum)?\\{(.*)\\} \\S+$`, "gm"));
    const labels = [...series].flatMap(([, inner = ""]) => labelsIn(`{${inner}}`));
    add(name, type, labels);
  }
}

/** Takes in the metrics of a registry, the ones that have no series yet included. */
function addRegistered(registry: Registry): void {
  for (const metric of registry.getMetricsAsArray()) {
    const { name, type, labelNames } = metric as unknown as {
      name: string;
      type: string;
      labelNames: readonly string[];
    };
    add(name, type, labelNames);
  }
}

/** The exporter's, once it has decided and been asked. */
async function exporterMetrics(): Promise<void> {
  addRegistered(new ExporterMetrics().registry);
  const wish = wishOf();
  const observed = { ...wish.observed, cpuCores: 0.5, memoryBytes: 100e6 };
  const predictor = await fakePredictor(planOf([{ ...wish, observed }]));
  const [listen, grpcListen] = ["127.0.0.1:0", "127.0.0.1:0"];
  const exporter = await startExporter({ listen, grpcListen, predictor: predictor.url, logLevel: "silent" });
  try {
    const http = exporter.addresses["http"]!;
    await addFrom(http);
    const list = RecommendationList.parse(await (await fetch(`${http}/v1/recommendations`)).json());
    const override = { id: "0123456789", kind: "hold", by: "ann", reason: "any", mode: "act" } as const;
    const held = list.recommendations.map((each) =>
      Object.assign({}, each, { override: { ...override, untilMs: 1, endsAtMs: 1 } }),
    );
    addText([...serviceSeries(held)].join(""));
  } finally {
    await exporter.stop();
    await predictor.stop();
  }
}

function predictorMetrics(): void {
  const unasked = (): never => {
    throw new Error("nothing is scraped here");
  };
  addRegistered(new PredictorMetrics().registry);
  const { registry } = new ApplicationMetrics(systemClock, "auto");
  expect(new ProfileAccuracy(registry, "shop")).toBeDefined();
  expect(new ExplanationMetrics(registry, () => undefined)).toBeDefined();
  registerEndpointMetrics(registry, () => []);
  registerPeerMetrics(registry, unasked);
  registerStoreMetrics(registry, unasked, unasked);
  registerTriggerMetrics(registry, unasked);
  addRegistered(registry);
  const several = new Registry();
  registerApplications(several, { several: true, list: unasked, drops: unasked });
  addRegistered(several);
}

/** The agent's on this machine, and on a node with a container whose name is known. */
async function agentMetrics(): Promise<void> {
  using tree = new Tree().plant(situation(V2, {}, {}));
  const containers = [{ id: V2.containers[0]!.id, name: "web" }];
  const pods = [{ uid: "any", name: "search-1", node: "node-a", ready: true, containers }];
  const workload = { namespace: "hotel", kind: "Deployment", name: "search", service: "search" };
  const workloads = [{ ...workload, replicasWanted: 1, replicasReady: 1, pods }];
  writeFileSync(
    tree.path("workloads.json"),
    JSON.stringify({ schema: WORKLOADS_SCHEMA, observedAtMs: 1, workloads }),
  );
  using on = new AgentOn(tree, { workloads: tree.path("workloads.json") });
  await on.agent.pollNames();
  on.cycle();
  on.cycle();
  addText(on.metrics());
  const agent = await startAgent(AgentOptions.parse({ listen: "127.0.0.1:0", logLevel: "silent" }));
  try {
    await addFrom(agent.addresses["http"]!);
  } finally {
    await agent.stop();
  }
}

const namesIn = (expression: string): string[] =>
  [...expression.matchAll(/\b(?:tradewind|process)_[a-z0-9_]+/g)].map(([name]) => name);

/** Label names in the selector's braces. */
const labelsIn = (braces: string): string[] =>
  [...braces.matchAll(/[{,]\s*([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"/g)].map(
    ([, label = ""]) => label,
  );

/** Fails where an expression uses a metric or a label that no process has. */
function expectKnown(expression: string): void {
  const names = namesIn(expression);
  for (const name of names) expect([...declared.keys()], `metric ${name}`).toContain(name);
  for (const [, name = "", braces = ""] of expression.matchAll(/\b((?:tradewind|process)_\w+)(\{[^}]*\})/g)) {
    for (const label of labelsIn(braces)) expect(labelsOf([name]), `label of ${name}`).toContain(label);
  }
  for (const [, list = ""] of expression.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)) {
    const labels = list.split(",").map((label) => label.trim());
    for (const label of labels) expect(labelsOf(names), `a label in: ${expression}`).toContain(label);
  }
}

const labelsOf = (names: readonly string[]): string[] => [
  ...TARGET_LABELS,
  ...names.flatMap((name) => [...(declared.get(name) ?? [])]),
];

describe("every metric and label that is used is one that a process has", () => {
  beforeAll(async () => {
    predictorMetrics();
    await Promise.all([exporterMetrics(), agentMetrics()]);
  });

  it("which means that others are found out", () => {
    expect(() => expectKnown("sum(rate(tradewind_nonsense_total[5m]))")).toThrow(
      "metric tradewind_nonsense_total",
    );
    expect(() => expectKnown('tradewind_guard_actions_total{stop="a"}')).toThrow("label of");
    expect(() => expectKnown("sum by (stop) (tradewind_guard_actions_total)")).toThrow("a label in");
    expect(() => expectKnown("sum by (le) (tradewind_keda_rpc_duration_seconds_bucket)")).not.toThrow();
  });

  it("and is found in the glossary", () => {
    const glossary = readFileSync(join(CHART, "..", "..", "docs", "glossary.md"), "utf8");
    const named = [...declared.keys()].filter((name) => /^(?:tradewind|process)_/.test(name));
    const missing = named.filter(
      (name) => !glossary.includes(`\`${name.replace(/_(?:bucket|count|sum)$/, "")}\``),
    );
    expect(missing).toEqual([]);
  });

  const { groups } = parse(readFileSync(join(CHART, "rules", "tradewind.yaml"), "utf8")) as Rules;
  it.each(groups.flatMap(({ rules }) => rules))("by $alert", ({ expr }) => {
    expect(namesIn(expr).length).toBeGreaterThan(0);
    expectKnown(expr);
  });

  const dashboards = Object.values(DASHBOARDS);
  const panels = dashboards.flatMap(({ rows }) => rows.flatMap((row) => row.panels));
  it.each(panels)("by the panel $title", ({ queries }) => {
    for (const { expr, legend } of queries) {
      expectKnown(expr);
      const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      for (const label of shown) expect(labelsOf(namesIn(expr)), `legend of ${expr}`).toContain(label);
    }
  });

  it("by the annotations of dashboards, with the labels that they show", () => {
    const marks = dashboards.flatMap(({ annotations = [] }) => annotations);
    expect(marks.length).toBeGreaterThan(0);
    for (const { expr, title } of marks) {
      expectKnown(expr);
      const shown = [...title.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      expect(labelsOf(namesIn(expr))).toEqual(expect.arrayContaining(shown));
    }
  });

  it("by the variables of dashboards", () => {
    const asked = dashboards.flatMap(({ variables }) => variables.filter((each) => "query" in each));
    expect(asked.length).toBeGreaterThan(0);
    for (const { query } of asked) {
      const [, selector = "", label] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
      expectKnown(selector);
      expect(labelsOf(namesIn(selector))).toContain(label);
    }
  });

  it("by the runbook", () => {
    for (const name of namesIn(readFileSync(join(CHART, "..", "..", "docs", "alerts.md"), "utf8"))) {
      expect([...declared.keys()], `metric ${name}`).toContain(name);
    }
  });
});
