import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { DASHBOARDS } from "../../charts/generate/dashboards/list.ts";
import { installed } from "../installed.ts";
import { at, CHART, find, helm, render } from "./helm.ts";

const promtool = installed("promtool");
const run = promisify(execFile);
const RULES = join(CHART, "rules", "tradewind.yaml");
const TESTS = join(import.meta.dirname, "alerts.promtool.yaml");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
interface Groups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

const alerts = (parse(readFileSync(RULES, "utf8")) as Groups).groups.flatMap(({ rules }) => rules);

/** Checks expressions by the real parser: as recording rules in a file of their own. */
async function checkExpressions(expressions: readonly string[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-rules-"));
  const file = join(directory, "rules.yaml");
  const rules = expressions.map((expr, index) => ({ record: `dashboard:expression:${index}`, expr }));
  writeFileSync(file, stringify({ groups: [{ name: "dashboards", rules }] }));
  try {
    await run(promtool!, ["check", "rules", file]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe.skipIf(promtool === undefined)("alerts, judged by promtool", () => {
  it("are rules that Prometheus takes", async () => {
    const { stdout } = await run(promtool!, ["check", "rules", "--lint=all", "--lint-fatal", RULES]);
    expect(stdout).toContain(`${alerts.length} rules found`);
  });

  it("fire when they should, and not when they should not", { timeout: 60_000 }, async () => {
    const { stdout, stderr } = await run(promtool!, ["test", "rules", TESTS]);
    expect(`${stdout}${stderr}`).toContain("SUCCESS");
  });

  it("leave expressions in the dashboards that Prometheus takes", async () => {
    const queries = Object.values(DASHBOARDS).flatMap(({ annotations = [], rows }) => [
      ...annotations.map(({ expr }) => overAll(expr)),
      ...rows.flatMap(({ panels }) =>
        panels.flatMap((panel) => panel.queries.map(({ expr }) => overAll(expr))),
      ),
    ]);
    await expect(checkExpressions(queries)).resolves.toBeUndefined();
    await expect(checkExpressions(["sum by (a) (rate(b[5m])"])).rejects.toThrow("parse");
  });
});

/** An expression with every variable at "All" or its first choice, over an hour: what Prometheus takes. */
const overAll = (expr: string): string =>
  expr.replaceAll("$__range", "3600s").replaceAll("$top", "8").replaceAll(/\$\w+/g, ".*");

describe("each alert", () => {
  const tests = readFileSync(TESTS, "utf8");
  const runbook = readFileSync(join(CHART, "..", "..", "docs", "alerts.md"), "utf8");

  it.each(alerts)("$alert has a severity, words, a test and a runbook", ({ alert, annotations, labels }) => {
    expect(["critical", "warning", "info"]).toContain(labels.severity);
    expect(annotations.summary.length).toBeGreaterThan(10);
    expect(annotations.description.length).toBeGreaterThan(10);
    expect(tests).toContain(alert);
    expect(runbook).toContain(`\n## ${alert}\n`);
  });

  it("is in the runbook, and nothing else is", () => {
    const headings = [...runbook.matchAll(/^## (Tradewind\w+)$/gm)].map(([, name]) => name);
    expect(headings).toHaveLength(alerts.length);
    expect(new Set(headings)).toEqual(new Set(alerts.map(({ alert }) => alert)));
  });
});

describe.skipIf(helm === undefined)("what the chart makes of the files", () => {
  it("is a PrometheusRule with everything but the alerts that are switched off, with links to the runbook", async () => {
    const rule = find(await render("full"), "PrometheusRule", "tradewind");
    const rendered = (at(rule, "spec", "groups") as Groups["groups"]).flatMap(({ rules }) => rules);
    const expected = alerts.filter(({ alert }) => alert !== "TradewindAgentOverBudget");
    expect(rendered.map(({ alert }) => alert)).toEqual(expected.map(({ alert }) => alert));
    for (const [index, { annotations, expr }] of rendered.entries()) {
      const own = 'absent(tradewind_exporter_info{namespace="tradewind"})';
      expect(expr.trim()).toBe(expected[index]!.expr.trim().replace("absent(tradewind_exporter_info)", own));
      expect(annotations).toMatchObject(expected[index]!.annotations);
      expect(at(annotations, "runbook_url")).toBe(
        `https://runbooks.example.com/tradewind/alerts#${expected[index]!.alert.toLowerCase()}`,
      );
    }
  });

  it("is a ConfigMap for each dashboard, byte for byte", async () => {
    const objects = await render("full");
    for (const name of Object.keys(DASHBOARDS)) {
      const file = `${name}.json`;
      const map = find(objects, "ConfigMap", `tradewind-dashboard-${name}`);
      expect(map.metadata).toMatchObject({ namespace: "monitoring", labels: { grafana_dashboard: "1" } });
      expect(at(map, "data", file)).toBe(readFileSync(join(CHART, "dashboards", file), "utf8"));
    }
  });
});
