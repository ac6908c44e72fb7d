import type { RunComparison, RunReport } from "@tradewind/core/contract/run-report.ts";
import { formatBytes } from "@tradewind/core/values/units.ts";
import { formatLatency } from "@tradewind/core/values/amounts.ts";
import { padLeft, padRight } from "@tradewind/core/terminal/style.ts";

interface Figures {
  readonly requests: number;
  readonly over: number;
  readonly failed: number;
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/** Sums of the phases; allocations weighted by the length of each. */
function figuresOf({ phases, durationS }: RunReport): Figures {
  const sum = (of: (phase: RunReport["phases"][number]) => number): number =>
    phases.reduce((total, phase) => total + of(phase), 0);
  const perTime = (of: (phase: RunReport["phases"][number]) => number | undefined): number =>
    sum((phase) => (of(phase) ?? 0) * (Math.min(phase.toS, durationS) - phase.fromS)) /
    Math.max(1e-9, durationS);
  return {
    requests: sum(({ requests }) => requests),
    over: sum(({ requests, violationRatio }) => Math.round((violationRatio ?? 0) * requests)),
    failed: sum(({ failed }) => failed),
    cpuCores: perTime(({ allocatedCpuCoresMean }) => allocatedCpuCoresMean),
    memoryBytes: perTime(({ allocatedMemoryBytesMean }) => allocatedMemoryBytesMean),
  };
}

const oneOf = (value: number): string => String(Math.round(10 * value) / 10);

function column(report: RunReport): string[] {
  const { cpuCores, failed, memoryBytes, over, requests } = figuresOf(report);
  const { totals } = report;
  return [
    report.policy,
    totals === undefined ? "–" : oneOf(totals.secondsOver),
    `${over} (${((100 * over) / Math.max(1, requests)).toFixed(2)} %)`,
    String(failed),
    totals?.costPerHour.toFixed(4) ?? "–",
    cpuCores.toFixed(2),
    formatBytes(memoryBytes),
    totals === undefined ? "–" : `${totals.starts}, ${totals.stops}`,
  ];
}

const ROWS = [
  "",
  "seconds over the objective",
  "requests over the objective",
  "requests failed",
  "cost per hour",
  "CPU given, cores",
  "memory given",
  "replicas started, stopped",
];

/** `11 % less`, `4 % more`, `as much`. */
function comparedTo(ours: number, rival: number): string {
  const percent = Math.round(100 * (ours / rival - 1));
  if (!Number.isFinite(percent) || percent === 0) return "as much";
  return `${Math.abs(percent)} % ${percent < 0 ? "less" : "more"}`;
}

function verdict({ ours, rival }: RunComparison): string {
  const [a, b] = [figuresOf(ours).over, figuresOf(rival).over];
  const misses =
    a === b
      ? `as many requests (${a}) were over the objective`
      : `${Math.abs(a - b)} ${a < b ? "fewer" : "more"} requests were over the objective (${a} against ${b})`;
  if (ours.totals === undefined || rival.totals === undefined) return `${ours.policy}: ${misses}.`;
  const cost = comparedTo(ours.totals.costPerHour, rival.totals.costPerHour);
  return `${ours.policy} cost ${cost} than ${rival.policy}, and ${misses}.`.replace(
    "as much than",
    "as much as",
  );
}

/** Requests over the objective while hardly any are sent: then the machine made them late, not their sizes. Chosen. */
const MOST_OVER_IN_WARM_UP = 0.05;

/** How far the comparison can be believed. */
function worthOf({ ours, rival }: RunComparison): string {
  const [busiest] = [ours, rival]
    .map(({ phases, policy }) => ({
      policy,
      over: phases.find(({ name }) => name === "warmup")?.violationRatio ?? 0,
    }))
    .filter(({ over }) => over > MOST_OVER_IN_WARM_UP)
    .toSorted((a, b) => b.over - a.over);
  return busiest === undefined
    ? "One pair of runs on one machine: repeat it with other seeds before you believe a small difference."
    : `This machine is busy: ${Math.round(100 * busiest.over)} % of the requests of ${busiest.policy} were over the objective in the warm-up, when few are sent. Do not believe this comparison.`;
}

/** The card that closes a comparison: what each run missed, cost and started, and one sentence. */
export function renderVerdict(comparison: RunComparison): string {
  const { ours, recorded, rival } = comparison;
  const columns = [ROWS, column(rival), column(ours)];
  const widths = columns.map((texts) => Math.max(...texts.map((text) => text.length)));
  const lines = ROWS.map((_, row) =>
    columns
      .map((texts, at) => (at === 0 ? padRight : padLeft)(texts[row] ?? "", widths[at] ?? 0))
      .join("   ")
      .trimEnd(),
  );
  const how = recorded
    ? `${rival.policy} is a recording (seed ${rival.seed}), not a run of now.`
    : "One after the other on this machine.";
  return [
    `Same load (${ours.application}, seed ${ours.seed}, ${Math.round(ours.durationS)} s), p95 objective ${formatLatency(ours.objectiveMs / 1e3)}. ${how}`,
    ...lines,
    verdict(comparison),
    worthOf(comparison),
  ].join("\n");
}
