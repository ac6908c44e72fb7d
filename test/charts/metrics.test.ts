import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AgentOptions } from "@tradewind/agent/options.ts";
import { startAgent } from "@tradewind/agent/agent.ts";
import { systemClock } from "@tradewind/core/clock.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { ExporterMetrics } from "@tradewind/exporter/prometheus/metrics.ts";
import { registerProcess } from "@tradewind/exporter/prometheus/process.ts";
import { registerRecommendations } from "@tradewind/exporter/prometheus/recommendations.ts";
import { PredictorMetrics } from "@tradewind/predictor/metrics.ts";
import { registerEndpointMetrics } from "@tradewind/predictor/sources/http/metrics.ts";
import { registerStoreMetrics } from "@tradewind/predictor/store/metrics.ts";
import type { Registry } from "prom-client";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { DASHBOARDS } from "../../charts/generate/dashboards.ts";
import { CHART } from "./helm.ts";

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}

const declared = new Set<string>();

const exposed = (name: string, type: string): string[] =>
  type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name];

async function declare(registry: Registry): Promise<void> {
  for (const { name, type } of await registry.getMetricsAsJSON()) {
    for (const each of exposed(name, String(type))) declared.add(each);
  }
}

async function exporterMetrics(): Promise<void> {
  const { registry } = new ExporterMetrics();
  const none: RecommendationList = {
    schema: "tradewind.dev/recommendations/v1",
    servedAtMs: 0,
    predictor: { reachable: false },
    recommendations: [],
  };
  registerRecommendations(registry, () => none);
  registerProcess(registry, () => 0)();
  await declare(registry);
}

async function predictorMetrics(): Promise<void> {
  const { registry } = new PredictorMetrics(systemClock, "auto");
  registerEndpointMetrics(registry, () => []);
  const health = {
    state: "disk",
    bytes: 0,
    pendingWindows: 0,
    writtenWindowsTotal: 0,
    lostWindowsTotal: 0,
    writeErrorsTotal: 0,
    unreadableRowsTotal: 0,
    salvagesTotal: 0,
  } as Parameters<typeof registerStoreMetrics>[1] extends () => infer Health ? Health : never;
  registerStoreMetrics(
    registry,
    () => health,
    () => undefined,
  );
  await declare(registry);
}

async function agentMetrics(): Promise<void> {
  const agent = await startAgent(AgentOptions.parse({ listen: "127.0.0.1:0", logLevel: "silent" }));
  try {
    const text = await (await fetch(`${agent.addresses["http"]}/metrics`)).text();
    for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      for (const each of exposed(name, type)) declared.add(each);
    }
  } finally {
    await agent.stop();
  }
}

const namesIn = (expression: string): string[] =>
  [...expression.matchAll(/\b(?:tradewind|process)_[a-z0-9_]+/g)].map(([name]) => name);

describe("every metric that is used is declared by one of the processes", () => {
  beforeAll(async () => {
    await Promise.all([exporterMetrics(), predictorMetrics(), agentMetrics()]);
  });

  const { groups } = parse(readFileSync(join(CHART, "rules", "tradewind.yaml"), "utf8")) as Rules;
  it.each(groups.flatMap(({ rules }) => rules))("by $alert", ({ expr }) => {
    expect(namesIn(expr).length).toBeGreaterThan(0);
    for (const name of namesIn(expr)) expect(declared, `metric ${name}`).toContain(name);
  });

  const dashboards = Object.values(DASHBOARDS);
  const panels = dashboards.flatMap(({ rows }) => rows.flatMap((row) => row.panels));
  it.each(panels)("by the panel $title", ({ queries }) => {
    for (const name of queries.flatMap(({ expr }) => namesIn(expr))) {
      expect(declared, `metric ${name}`).toContain(name);
    }
  });

  it("by the variables of dashboards", () => {
    const queries = dashboards.flatMap(({ variables }) => variables.map(({ query }) => query));
    for (const name of queries.flatMap(namesIn)) expect(declared, `metric ${name}`).toContain(name);
  });

  it("by the runbook", () => {
    const text = readFileSync(join(CHART, "..", "..", "docs", "alerts.md"), "utf8");
    for (const name of namesIn(text)) expect(declared, `metric ${name}`).toContain(name);
  });
});
