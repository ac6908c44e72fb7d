import { PeriodReport, PERIOD_REPORT_SCHEMA } from "@tradewind/core/contract/period-report.ts";
import { reportsCsv, reportsHtml, totalText } from "@tradewind/predictor/commands/ask/report-forms.ts";
import { reportInWords } from "@tradewind/predictor/commands/ask/report-in-words.ts";
import { plain } from "@tradewind/core/terminal/style.ts";
import { describe, expect, it } from "vitest";

const WEEK_MS = 7 * 86_400_000;

const reportOf = (application: string, change: object = {}): PeriodReport =>
  PeriodReport.parse({
    schema: PERIOD_REPORT_SCHEMA,
    application,
    namespace: "shop",
    fromMs: 0,
    toMs: WEEK_MS,
    objective: { percentile: 0.95, seconds: 0.2 },
    requests: 1_000,
    requestsOver: 4,
    measuredSeconds: 600,
    missedSeconds: 0,
    worstLatencySeconds: 0.1,
    routes: [],
    cost: 412,
    cpuCoreHours: 1,
    memoryGigabyteHours: 1,
    replicaHours: 1,
    currency: "EUR",
    shadow: {
      fromMs: 0,
      toMs: WEEK_MS,
      seconds: WEEK_MS / 1e3,
      requests: 1_000,
      requestsOver: 4,
      cost: 412,
      hpaRequestsOver: { low: 6, middle: 9, high: 12 },
      hpaCost: { low: 467, middle: 498, high: 529 },
    },
    costAtFirstSizes: 500,
    services: [],
    decisions: 0,
    newest: [],
    ...change,
  });

describe("a report beside what the HPA before would have come to", () => {
  it("says cost and slow requests of both, with the range, in the application's currency", () => {
    expect(totalText([reportOf("hotel")])).toBe(
      "1 application: 412.00 EUR instead of 498.00 EUR (467.00 to 529.00), 0.40 % slow instead of 0.90 % (0.60 % to 1.20 %)",
    );
    expect(reportInWords(reportOf("hotel"), {}, plain)).toContain(
      "412.00 EUR instead of 498.00 EUR (467.00 to 529.00)",
    );
  });

  it("adds applications of one currency up, and not those of several", () => {
    expect(totalText([reportOf("hotel"), reportOf("bank")])).toContain(
      "824.00 EUR instead of 996.00 EUR (934.00 to 1058.00)",
    );
    expect(totalText([reportOf("hotel"), reportOf("bank", { currency: "USD" })])).toBe(
      "2 applications in several currencies",
    );
  });

  it("claims nothing where no models decided", () => {
    const unknown = reportOf("hotel", { shadow: undefined });
    expect(totalText([unknown])).toBe("none of these applications was compared with an HPA yet");
    expect(reportInWords(unknown, {}, plain)).toContain("Against the HPA before: not known");
    expect(reportsCsv([unknown]).split("\n")[1]).toContain(",412,,,,,,,,,,");
  });

  it("has in CSV one line for each application with the figures of its JSON", () => {
    const [head = "", ...lines] = reportsCsv([reportOf("hotel"), reportOf("bank")]).split("\n");
    const names = head.split(",");
    const cells = (lines[0] ?? "").split(",");
    const row: Record<string, unknown> = {};
    for (const [place, name] of names.entries()) row[name] = cells[place];
    expect(lines).toHaveLength(2);
    expect(row).toMatchObject({ application: "hotel", cost: "412", hpa_cost: "498", hpa_cost_low: "467" });
    expect(row).toMatchObject({ hpa_requests_over: "9", hpa_requests_over_high: "12", currency: "EUR" });
  });

  it("has in HTML nothing from elsewhere, and texts as texts", () => {
    const page = reportsHtml([reportOf("hotel", { currency: "<b>" })]);
    expect(page).toContain("412.00 &lt;b&gt; instead of 498.00 &lt;b&gt;");
    expect(page).not.toMatch(/<script|src=|href=|url\(/);
  });
});
