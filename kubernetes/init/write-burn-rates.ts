import { yamlDocument } from "./document.ts";

/** Whose objective burns, and which share of the requests must keep it. */
interface BurnRates {
  readonly name: string;
  readonly namespace: string;
  readonly percentile: number;
}

/** How many times faster than allowed the budget is used up, over a long and a short time (SRE Workbook, chapter 5). */
const BURNS = [
  { severity: "critical", rate: 14.4, long: "1h", short: "5m" },
  { severity: "critical", rate: 6, long: "6h", short: "30m" },
  { severity: "warning", rate: 3, long: "1d", short: "2h" },
  { severity: "warning", rate: 1, long: "3d", short: "6h" },
] as const;
const WINDOWS = ["5m", "30m", "1h", "2h", "6h", "1d", "3d"];
/** A budget of a tenth and more cannot burn 14.4 times as fast: then nine tenths of the requests are enough. */
const MOST_OVER = 0.9;

const recordOf = (window: string): string => `tradewind:requests_over_objective:ratio_rate${window}`;

/** A PrometheusRule that records which share of the requests was over the objective, and alerts on how fast that uses up the budget. */
export function burnRatesYaml({ name, namespace, percentile }: BurnRates): string {
  const budget = +(1 - percentile).toPrecision(6);
  const label = `application=${JSON.stringify(name)}`;
  const rate = (labels: string, window: string): string =>
    `sum(rate(tradewind_predictor_requests_total{${labels}}[${window}]))`;
  const recorded = WINDOWS.map((window) => ({
    record: recordOf(window),
    expr: `${rate(`${label},result="bad"`, window)} / ${rate(label, window)}`,
    labels: { application: name },
  }));
  const alerts = BURNS.map(({ long, rate: times, severity, short }) => {
    const overRatio = +Math.min(MOST_OVER, times * budget).toPrecision(6);
    const over = (window: string): string => `${recordOf(window)}{${label}} > ${overRatio}`;
    return {
      alert: "ErrorBudgetBurns",
      expr: `${over(long)} and ${over(short)}`,
      for: severity === "critical" ? "2m" : "15m",
      labels: { severity, application: name, window: long },
      annotations: {
        summary: `{{ $value | humanizePercentage }} of the requests of ${name} were over the objective for ${long}; ${+(100 * budget).toPrecision(6)} % may be`,
      },
    };
  });
  const object = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: `${name}-burn-rates`, namespace },
    spec: {
      groups: [
        { name: `${name}-requests-over-objective`, interval: "1m", rules: recorded },
        { name: `${name}-burn-rates`, rules: alerts },
      ],
    },
  };
  return yamlDocument(object, [
    { path: ["spec"], above: "Prometheus without its operator: this part is a rule file by itself" },
  ]);
}
