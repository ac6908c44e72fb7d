import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { formatBytes } from "@tradewind/core/values/units.ts";
import { formatLatency } from "@tradewind/core/values/amounts.ts";
import { padLeft } from "@tradewind/core/terminal/style.ts";

/** What came out of a run, phase by phase. */
export function renderSummary({ phases, objectiveMs }: RunReport): string {
  const heading = [
    "phase".padEnd(14),
    "requests",
    "failed",
    "     p95",
    "over objective",
    "replicas",
    "CPU used",
    "CPU given",
    "memory given",
  ];
  const rows = phases.map((phase) => {
    const { p95Ms, violationRatio } = phase;
    return [
      phase.name.padEnd(14),
      padLeft(String(phase.requests), 8),
      padLeft(String(phase.failed), 6),
      padLeft(formatLatency(p95Ms === null ? undefined : p95Ms / 1e3), 8),
      padLeft(violationRatio === null ? "–" : `${(100 * violationRatio).toFixed(1)} %`, 14),
      padLeft(phase.replicasMean.toFixed(1), 8),
      padLeft(phase.cpuCoresMean.toFixed(2), 8),
      padLeft(phase.allocatedCpuCoresMean?.toFixed(2) ?? "–", 9),
      padLeft(
        phase.allocatedMemoryBytesMean === undefined ? "–" : formatBytes(phase.allocatedMemoryBytesMean),
        12,
      ),
    ].join("  ");
  });
  return [`objective: p95 within ${formatLatency(objectiveMs / 1e3)}`, heading.join("  "), ...rows].join(
    "\n",
  );
}
