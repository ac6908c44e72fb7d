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

function row(service: PicturedService, columns: number, objectiveSeconds: number, paint: Paint): string {
  const { name, requestsPerSecond, p95Seconds, reason } = service;
  const cells = [
    padRight(cut(name, 15), 15),
    padLeft(requestsPerSecond === undefined ? "–" : requestsPerSecond.toFixed(1), 6),
    padLeft(paint(toneOf(p95Seconds, objectiveSeconds), formatLatency(p95Seconds)), 8),
    padRight(replicas(service, paint), 8),
  ];
  const start = cells.join("  ");
  // 15 + 6 + 8 + 8 and three gaps of two.
  const room = columns - 43 - 2;
  return columns < NARROW ? start : `${start}  ${paint("dim", cut(reason, room))}`;
}

function heading(columns: number, paint: Paint): string {
  const cells = [padRight("service", 15), padLeft("req/s", 6), padLeft("p95", 8), padRight("replicas", 8)];
  return paint("dim", columns < NARROW ? cells.join("  ") : `${cells.join("  ")}  why`);
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
    ...(width < NARROW
      ? addresses.map(([name, address]) => paint("dim", `${name} ${address}`))
      : [paint("dim", addresses.map(([name, address]) => `${name} ${address}`).join("  "))]),
  ];
  return lines.join("\n");
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
