import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { formatBytes } from "@tradewind/core/units.ts";
import type { ContainerSize } from "../application/topology.ts";
import { PHASE_NAMES } from "../phases/phases.ts";
import type { Picture, PicturedService } from "./picture.ts";
import { cut, padLeft, padRight } from "./style.ts";
import type { Paint, Tone } from "./style.ts";

const NARROW = 72;
const BAR_WIDTH = 24;

/** `38 ms`, `1.25 s`; a dash when it was not measured. */
export function formatLatency(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  return seconds < 1 ? `${Math.round(seconds * 1e3)} ms` : `${seconds.toFixed(2)} s`;
}

/** `75 s`, `2 m 05 s`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 100) return `${whole} s`;
  return `${Math.floor(whole / 60)} m ${String(whole % 60).padStart(2, "0")} s`;
}

/** Green within the objective, yellow close to it, red beyond. */
export function toneOf(seconds: number | undefined, objectiveSeconds: number): Tone {
  if (seconds === undefined) return "dim";
  if (seconds > objectiveSeconds) return "red";
  return seconds > 0.8 * objectiveSeconds ? "yellow" : "green";
}

function header(picture: Picture, paint: Paint): string {
  const { application, policy, elapsedS, durationS, phase } = picture;
  const time =
    durationS === undefined
      ? `${formatSeconds(elapsedS)}, Ctrl-C stops`
      : `${formatSeconds(elapsedS)} of ${formatSeconds(durationS)}, ${formatSeconds(durationS - elapsedS)} left`;
  const phases = PHASE_NAMES.map((name) => (name === phase ? paint("bold", name) : paint("dim", name))).join(
    " ",
  );
  return `${paint("bold", "Tradewind")}  ${application}, policy ${policy}   ${time}\n${phases}`;
}

function bar(picture: Picture, paint: Paint): string {
  const { durationS, elapsedS } = picture;
  if (durationS === undefined) return "";
  const done = Math.round(BAR_WIDTH * Math.min(1, elapsedS / durationS));
  return `  ${paint("cyan", "━".repeat(done))}${paint("dim", "━".repeat(BAR_WIDTH - done))}`;
}

function userLine(picture: Picture, paint: Paint): string {
  const { requestsPerSecond, p95Seconds, objectiveSeconds, failed, interference } = picture;
  const latency = paint(toneOf(p95Seconds, objectiveSeconds), `p95 ${formatLatency(p95Seconds)}`);
  const parts = [
    `users  ${requestsPerSecond.toFixed(1)} req/s`,
    `${latency} (objective ${formatLatency(objectiveSeconds)})`,
    failed === 0 ? "none failed" : paint("red", `${failed} failed`),
    ...(interference === undefined ? [] : [paint("yellow", `disturbed by ${interference}`)]),
  ];
  return parts.join("   ");
}

function replicas({ replicasReady, replicasWanted }: PicturedService, paint: Paint): string {
  if (replicasReady === replicasWanted) return String(replicasReady);
  return paint("yellow", `${replicasReady} → ${replicasWanted}`);
}

/** CPU limit of each replica: `0.12`, `0.12 → 0.18` while another one is recommended. */
function cores({ cpuCores, cpuCoresWanted }: PicturedService, paint: Paint): string {
  if (Math.abs(cpuCores - cpuCoresWanted) < 0.005) return cpuCores.toFixed(2);
  return paint("yellow", `${cpuCores.toFixed(2)} → ${cpuCoresWanted.toFixed(2)}`);
}

/** `0.12 → 0.18 cores`, `256.0 MiB → 288.0 MiB`, or both: what a resize changed of each replica. */
export function describeResize(from: ContainerSize, to: ContainerSize): string {
  const changes = [
    ...(from.cpuCores === to.cpuCores
      ? []
      : [`${from.cpuCores.toFixed(2)} → ${to.cpuCores.toFixed(2)} cores`]),
    ...(from.memoryBytes === to.memoryBytes
      ? []
      : [`${formatBytes(from.memoryBytes)} → ${formatBytes(to.memoryBytes)}`]),
  ];
  return `${changes.join(", ")} each`;
}

function row(service: PicturedService, columns: number, objectiveSeconds: number, paint: Paint): string {
  const { name, requestsPerSecond, p95Seconds, reason } = service;
  const cells = [
    padRight(cut(name, 15), 15),
    padLeft(requestsPerSecond === undefined ? "–" : requestsPerSecond.toFixed(1), 6),
    padLeft(paint(toneOf(p95Seconds, objectiveSeconds), formatLatency(p95Seconds)), 8),
    padRight(replicas(service, paint), 8),
  ];
  if (columns < NARROW) return cells.join("  ");
  // 15 + 6 + 8 + 8 + 11 and five gaps of two.
  const room = columns - 58;
  return [...cells, padRight(cores(service, paint), 11), paint("dim", cut(reason, room))].join("  ");
}

function heading(columns: number, paint: Paint): string {
  const cells = [padRight("service", 15), padLeft("req/s", 6), padLeft("p95", 8), padRight("replicas", 8)];
  if (columns >= NARROW) cells.push(padRight("cores each", 11), "why");
  return paint("dim", cells.join("  "));
}

/** Sets items side by side, on as many lines as they need. */
function flow(items: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 2 + item.length <= width)
      lines[lines.length - 1] = `${last}  ${item}`;
    else lines.push(item);
  }
  return lines;
}

/**
 * The live picture as text.
 * @param columns width of the terminal; narrow ones lose the reasons
 */
export function renderPicture(picture: Picture, columns: number, paint: Paint): string {
  const { services, objectiveSeconds, addresses, quota, troubles } = picture;
  const width = Math.max(20, columns);
  const lines = [
    header(picture, paint) + bar(picture, paint),
    "",
    userLine(picture, paint),
    "",
    heading(width, paint),
    ...services.map((service) => row(service, width, objectiveSeconds, paint)),
    "",
    ...troubles.map((text) => paint("red", cut(`! ${text}`, width))),
    paint("dim", cut(`quota: ${quota}`, width)),
    ...flow(
      addresses.map(([name, address]) => `${name} ${address}`),
      width,
    ).map((line) => paint("dim", line)),
  ];
  return lines.join("\n");
}

/** Where things are and how limits are kept: said once where there is no live picture. */
export function renderPlaces({ addresses, quota }: Picture): string {
  return [...addresses, ["quota", quota] as const]
    .map(([name, what]) => `${padRight(name, 16)} ${what}`)
    .join("\n");
}

/** One line of progress, for logs and pipes. */
export function renderProgress(picture: Picture): string {
  const { elapsedS, durationS, phase, requestsPerSecond, p95Seconds, objectiveSeconds, failed, services } =
    picture;
  const ready = services.reduce((sum, each) => sum + each.replicasReady, 0);
  const wanted = services.reduce((sum, each) => sum + each.replicasWanted, 0);
  const time =
    durationS === undefined ? formatSeconds(elapsedS) : `${Math.round(elapsedS)}/${Math.round(durationS)} s`;
  return [
    padLeft(time, 10),
    padRight(phase, 12),
    padLeft(`${requestsPerSecond.toFixed(1)} req/s`, 11),
    padRight(`p95 ${formatLatency(p95Seconds)} of ${formatLatency(objectiveSeconds)}`, 22),
    `${failed} failed`,
    `replicas ${ready === wanted ? ready : `${ready} → ${wanted}`}`,
  ].join("  ");
}

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
