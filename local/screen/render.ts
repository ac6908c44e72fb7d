import { formatBytes } from "@tradewind/core/values/units.ts";
import type { ContainerSize } from "../application/topology.ts";
import { formatLatency, formatSeconds } from "@tradewind/core/values/amounts.ts";
import type { Picture, PicturedService } from "./picture.ts";
import { cut, padLeft, padRight, wrap } from "@tradewind/core/terminal/style.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { toneOf } from "./tone.ts";
import { renderTrend } from "./trend.ts";

const NARROW = 72;
/** 15 + 6 + 8 + 8 + 11 and five gaps of two: where reasons begin. */
const REASON_AT = 58;
/** With less room a reason stands beneath its row. */
const LEAST_REASON = 40;

function header(picture: Picture, paint: Paint): string {
  const { application, policy, elapsedS, durationS } = picture;
  const time =
    durationS === undefined
      ? `${formatSeconds(elapsedS)}, Ctrl-C stops`
      : `${formatSeconds(elapsedS)} of ${formatSeconds(durationS)}, ${formatSeconds(durationS - elapsedS)} left`;
  return `${paint("bold", "Tradewind")}  ${application}, policy ${policy}   ${time}`;
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

/** What the run has come to so far, and what runs now. */
function totalsLines({ totals }: Picture): readonly string[] {
  const { costPerHour, cpuCores, failed, memoryBytes, over, replicas: ready, requests } = totals;
  const share = ((100 * over) / Math.max(1, requests)).toFixed(2);
  return [
    `so far ${requests} requests, ${over} over the objective (${share} %), ${failed} failed, ${totals.starts} starts, ${totals.stops} stops`,
    `now    ${ready} replicas, ${cpuCores.toFixed(2)} cores, ${formatBytes(memoryBytes)}, ${costPerHour.toFixed(4)} per hour`,
  ];
}

const HELP = [
  "w  what if: p95 and cost with one more replica of each service, and with half as much load again; nothing is changed",
  "e  explain: why the objective is missed, on what evidence, and what would end it",
  "k  kills the predictor: the scaler goes on answering from its last decision, and the supervisor starts the predictor again",
  "?  shows or hides this",
  "q  ends the run, as Ctrl-C does",
];

function footer({ isInteractive, showsHelp }: Picture): readonly string[] {
  if (!isInteractive) return [];
  return showsHelp ? HELP : ["keys: w what if, e explain, k kill the predictor, ? help, q quit"];
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

/** How rows are set. */
interface Setting {
  readonly columns: number;
  readonly objectiveSeconds: number;
  /** Reasons take as many lines as they need. */
  readonly isWhole: boolean;
}

function row(
  service: PicturedService,
  { columns, isWhole, objectiveSeconds }: Setting,
  paint: Paint,
): string {
  const { name, requestsPerSecond, p95Seconds, reason } = service;
  const cells = [
    padRight(cut(name, 15), 15),
    padLeft(requestsPerSecond === undefined ? "–" : requestsPerSecond.toFixed(1), 6),
    padLeft(paint(toneOf(p95Seconds, objectiveSeconds), formatLatency(p95Seconds)), 8),
    padRight(replicas(service, paint), 8),
  ];
  if (columns >= NARROW) cells.push(padRight(cores(service, paint), 11));
  const room = columns - REASON_AT;
  if (!isWhole) {
    return [...cells, ...(columns < NARROW ? [] : [paint("dim", cut(reason, room))])].join("  ");
  }
  const isBeside = room >= LEAST_REASON;
  const indent = " ".repeat(isBeside ? REASON_AT : 2);
  const [first = "", ...others] = wrap(reason, isBeside ? room : columns - indent.length);
  const beneath = (isBeside ? others : [first, ...others]).map((line) => paint("dim", `${indent}${line}`));
  const head = [...cells, ...(isBeside ? [paint("dim", first)] : [])].join("  ").trimEnd();
  return [head, ...beneath].join("\n");
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

/** Size of a terminal. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The live picture as text. Reasons are whole; where that takes more lines than there are, each is cut to one. */
export function renderPicture(picture: Picture, { columns, rows }: TerminalSize, paint: Paint): string {
  const whole = renderLines(picture, { columns, isWhole: true }, paint);
  if (whole.split("\n").length <= rows) return whole;
  return renderLines(picture, { columns, isWhole: false }, paint);
}

function renderLines(
  picture: Picture,
  { columns, isWhole }: Pick<Setting, "columns" | "isWhole">,
  paint: Paint,
): string {
  const { services, objectiveSeconds, addresses, answer, quota, troubles, notes, phase, trend } = picture;
  const width = Math.max(20, columns);
  const setting = { columns: width, isWhole, objectiveSeconds };
  const lines = [
    header(picture, paint),
    "",
    userLine(picture, paint),
    ...totalsLines(picture).map((line) => paint("dim", cut(line, width))),
    "",
    ...renderTrend(trend, { columns: width, objectiveSeconds, phase }, paint),
    "",
    heading(width, paint),
    ...services.map((service) => row(service, setting, paint)),
    "",
    ...answer.flatMap((text) => wrap(text, width)),
    ...notes.map((text) => paint("cyan", cut(text, width))),
    ...troubles.map((text) => paint("red", cut(`! ${text}`, width))),
    paint("dim", cut(`quota: ${quota}`, width)),
    ...flow(
      addresses.map(([name, address]) => `${name} ${address}`),
      width,
    ).map((line) => paint("dim", line)),
    ...footer(picture).map((line) => paint("dim", cut(line, width))),
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
