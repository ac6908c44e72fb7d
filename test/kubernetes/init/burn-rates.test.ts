import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse, stringify } from "yaml";
import { burnRatesYaml } from "@tradewind/kubernetes/init/write-burn-rates.ts";
import { installed } from "../../installed.ts";

const promtool = installed("promtool");

interface Rule {
  readonly alert?: string;
  readonly expr: string;
}

function rulesOf(percentile: number): { readonly groups: readonly { readonly rules: readonly Rule[] }[] } {
  const yaml = burnRatesYaml({ name: "shop", namespace: "shop", percentile });
  return (parse(yaml) as { spec: ReturnType<typeof rulesOf> }).spec;
}

describe("burn-rate rules of an Application", () => {
  it.each([
    [0.95, ["0.72", "0.3", "0.15", "0.05"]],
    [0.999, ["0.0144", "0.006", "0.003", "0.001"]],
    [0.9, ["0.9", "0.6", "0.3", "0.1"]],
  ])("alert at 14.4, 6, 3 and 1 times the budget of percentile %d", (percentile, limits) => {
    const alerts = rulesOf(percentile).groups.flatMap(({ rules }) => rules.filter(({ alert }) => alert));
    expect(alerts.map(({ expr }) => [...expr.matchAll(/ > ([\d.]+)/g)].map(([, limit]) => limit))).toEqual(
      limits.map((limit) => [limit, limit]),
    );
  });

  it.skipIf(promtool === undefined)("pass promtool, and fire for what burns and for nothing else", () => {
    const folder = mkdtempSync(join(tmpdir(), "tradewind-rules-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "rules.yaml"), stringify(rulesOf(0.95)));
    expect(
      execFileSync(promtool!, ["check", "rules", join(folder, "rules.yaml")], { encoding: "utf8" }),
    ).toContain("SUCCESS: 11 rules found");
    const requests = (application: string, good: number, bad: number) =>
      (["good", "bad"] as const).map((result) => ({
        series: `tradewind_predictor_requests_total{application="${application}",result="${result}",instance="a"}`,
        values: `0+${result === "good" ? good : bad}x90`,
      }));
    const firing = (share: number, windows: readonly string[]) => ({
      interval: "1m",
      input_series: [...requests("shop", 100 * (1 - share), 100 * share), ...requests("other", 0, 100)],
      alert_rule_test: [
        {
          eval_time: "80m",
          alertname: "ErrorBudgetBurns",
          exp_alerts: windows.map((window) => ({
            exp_labels: {
              application: "shop",
              severity: window === "1h" || window === "6h" ? "critical" : "warning",
              window,
            },
            exp_annotations: {
              summary: `${100 * share}% of the requests of shop were over the objective for ${window}; 5 % may be`,
            },
          })),
        },
      ],
    });
    const tests = {
      rule_files: ["rules.yaml"],
      tests: [firing(0.8, ["1h", "6h", "1d", "3d"]), firing(0.2, ["1d", "3d"]), firing(0.04, [])],
    };
    writeFileSync(join(folder, "tests.yaml"), stringify(tests));
    execFileSync(promtool!, ["test", "rules", join(folder, "tests.yaml")], { encoding: "utf8" });
  });
});
