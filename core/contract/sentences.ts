import type { AuditEvent } from "./audit.ts";
import type { Change } from "./change.ts";
import { END_WORDS, overrideText } from "./override.ts";
import type { Allocation } from "./plan.ts";
import type { Reason } from "./reason.ts";
import { areWhole, inWords, sentenceOf } from "./reasons.ts";
import { SIZES } from "./recommendation.ts";
import type { ShadowComparison, ShadowRange } from "./shadow.ts";
import type {
  Recommendation,
  RecommendationList,
  ServedApplication,
  SizeChange,
  SizeChanges,
} from "./recommendation.ts";
import {
  finePercent,
  formatCores,
  formatLatency,
  formatMemory,
  formatSeconds,
  percent,
  percentileName,
  utcSeconds,
} from "../values/amounts.ts";

/** The one place where facts beside reasons become English: sizes, changes, events, and where an application stands. */

const NAMES = { replicas: "replicas", cpuCores: "CPU", memoryBytes: "memory" } as const;
const FORMATS = { replicas: String, cpuCores: formatCores, memoryBytes: formatMemory } as const;
const SIZE_OF = { replicas: "replicas", cpu: "cpuCores", memory: "memoryBytes" } as const;

type AnySizes = { readonly [Size in (typeof SIZES)[number]]?: number | undefined };

/** `4 of 600m CPU and 200Mi memory`; sizes that nothing moves apart: `4 (advice: 600m CPU, 200Mi memory)`. */
export function sizeText({
  advised = [],
  cpuCores,
  memoryBytes,
  replicas,
}: Allocation & Pick<Recommendation, "advised">): string {
  const [isCpuAdvice, isMemoryAdvice] = [advised.includes("cpu"), advised.includes("memory")];
  const set = containerText(sizesOf(!isCpuAdvice && cpuCores, !isMemoryAdvice && memoryBytes), " and ");
  const advice = containerText(sizesOf(isCpuAdvice && cpuCores, isMemoryAdvice && memoryBytes));
  return `${replicas}${set === "" ? "" : ` of ${set}`}${advice === "" ? "" : ` (advice: ${advice})`}`;
}

/** Why a service is as it is, without what stands above its table: how the application stands, and {@link sharedHold}. */
export function rowText(
  { reason, reasons = [] }: Pick<Recommendation, "reason" | "reasons">,
  hold?: string,
): string {
  if (reasons.length === 0 || !areWhole(reasons)) return reason;
  const whole = reasons as readonly Reason[];
  const own = whole.filter((each) => each.code !== "measured" && sentenceOf(each) !== hold);
  const isHeld = hold !== undefined && whole.some((each) => sentenceOf(each) === hold);
  return `${inWords(own, MOST_CHARACTERS)}${isHeld ? "; held" : ""}`;
}

const sizesOf = (
  cpuCores?: number | false,
  memoryBytes?: number | false,
): Partial<Omit<Allocation, "replicas">> => ({
  ...(cpuCores !== undefined && cpuCores !== false && { cpuCores }),
  ...(memoryBytes !== undefined && memoryBytes !== false && { memoryBytes }),
});

/** Why nothing is removed of two services or more, which a table says once; undefined where no two share it. */
export function sharedHold(services: readonly Pick<Recommendation, "reasons">[]): string | undefined {
  const sentences = new Set<string>();
  for (const { reasons = [] } of services)
    for (const reason of reasons) {
      if (reason.code !== "data-missing") continue;
      const sentence = sentenceOf(reason as Reason);
      if (sentences.has(sentence)) return sentence;
      sentences.add(sentence);
    }
  return undefined;
}

/** `600m CPU, 200Mi memory`; empty where no size is stated. */
export function containerText(
  { cpuCores, memoryBytes }: Partial<Omit<Allocation, "replicas">>,
  between = ", ",
): string {
  const parts = [
    ...(cpuCores === undefined ? [] : [`${formatCores(cpuCores)} CPU`]),
    ...(memoryBytes === undefined ? [] : [`${formatMemory(memoryBytes)} memory`]),
  ];
  return parts.join(between);
}

/** `replicas 2 → 4, CPU 160m → 280m`: the sizes that differ, where both are known. */
export function sizesChangeText(before: AnySizes, after: AnySizes): string {
  return SIZES.flatMap((size) => {
    const [from, to] = [before[size], after[size]];
    return from === undefined || to === undefined || from === to ? [] : [sizeChangeText(size, from, to)];
  }).join(", ");
}

const sizeChangeText = (size: (typeof SIZES)[number], from: number, to: number): string =>
  `${NAMES[size]} ${FORMATS[size](from)} → ${FORMATS[size](to)}`;

/** The newest decision that changed a size of a service. */
export interface LastChange extends Pick<
  SizeChange,
  "decidedAtMs" | "decisionId" | "policy" | "reason" | "reasons"
> {
  /** `replicas 2 → 4, CPU 160m → 280m` */
  readonly what: string;
}

/** Undefined where every size is still what it was when Tradewind first saw the service. */
export function lastChange(setBy: SizeChanges = {}): LastChange | undefined {
  const changed = SIZES.flatMap((size) => {
    const change = setBy[size];
    return change?.from === undefined ? [] : [{ size, change, from: change.from }];
  });
  const newestMs = Math.max(...changed.map(({ change }) => change.decidedAtMs));
  const newest = changed.filter(({ change }) => change.decidedAtMs === newestMs);
  const [first] = newest;
  if (first === undefined) return undefined;
  const { decidedAtMs, decisionId, policy, reason, reasons } = first.change;
  const what = newest.map(({ change, from, size }) => sizeChangeText(size, from, change.to)).join(", ");
  return { what, decidedAtMs, decisionId, policy, reason, reasons };
}

/** `replicas 3 → 5`, `CPU 200m → 800m`, `memory 1Gi`; of a calendar what it keeps and when. */
export function changeText(change: Change): string {
  if (change.kind === "size") return `${resourceChangeText(change)}${askedText(change)}`;
  const { calendar, confidence, hits, occurrences, usualReplicas } = change;
  return (
    `at least ${calendar.floor?.replicas ?? 0} replicas (usual ${usualReplicas}) from ${calendar.from} until ${calendar.until} ` +
    `${calendar.timeZone}, needed on ${hits} of ${occurrences} days (confidence ${percent(confidence)})`
  );
}

function askedText({ asked }: Extract<Change, { kind: "size" }>): string {
  if (asked === undefined) return "";
  const [before, after] = [asked.tailBeforeSeconds, asked.tailAfterSeconds].map((value) =>
    (1e3 * value).toFixed(0),
  );
  return `, asked for by ${asked.by}: the models expect ${before} → ${after} ms`;
}

/** A container size of 0 was not stated before. */
function resourceChangeText({
  from,
  resource,
  to,
}: Pick<Extract<Change, { kind: "size" }>, "from" | "resource" | "to">): string {
  const size = SIZE_OF[resource];
  return from === 0 && size !== "replicas"
    ? `${NAMES[size]} ${FORMATS[size](to)}`
    : sizeChangeText(size, from, to);
}

/** ` by ann (ticket 4711)`; empty where nobody decided. */
export const deciderText = ({ by, note }: Pick<Change, "by" | "note">): string =>
  by === undefined ? "" : ` by ${by}${note === undefined ? "" : ` (${note})`}`;

/** Of what happened. */
const MOST_CHARACTERS = 1_000;

/** What happened to the service, without its name. */
export function eventText(event: AuditEvent): string {
  switch (event.kind) {
    case "decision":
      return [sizesChangeText(event.before, event.after), event.reason?.text]
        .filter((part) => part !== undefined)
        .join(": ")
        .slice(0, MOST_CHARACTERS);
    case "outcome":
      return event.outcome.text;
    case "rollback":
      return `the change did harm (${event.times === 1 ? "once" : `${event.times} times`} today); what ran before is kept until ${utcSeconds(event.untilMs)}`;
    case "brownout": {
      const what =
        event.state === "begun"
          ? "goes down to its minimum to make room for"
          : "comes back, as it was down for";
      const quota = event.quota === undefined ? "" : ` (quota '${event.quota}')`;
      return `${what} ${event.for.service} of ${event.for.application}${quota}`;
    }
    case "calendar":
      return `calendar '${event.calendar}' of at least ${event.floorReplicas} replicas ${event.state}${deciderText(event)}`;
    case "override":
      return overrideEventText(event);
    case "setting":
      return `${event.setting} ${event.from} → ${event.to}${deciderText(event)}`;
    case "change":
    default:
      return `${resourceChangeText(event)} ${event.state}${deciderText(event)}`;
  }
}

/** How an application stands, in the words of its plan; of a plan of an earlier release `p95 412 ms, objective 300 ms`. Undefined without an objective. */
export function standingText({
  failedRatio,
  measuredLatencySeconds,
  objective,
  standing,
}: Pick<ServedApplication, "failedRatio" | "measuredLatencySeconds" | "objective" | "standing">):
  string | undefined {
  if (standing !== undefined || objective === undefined) return standing;
  const measured =
    measuredLatencySeconds === undefined ? "not measured" : formatLatency(measuredLatencySeconds);
  const failed =
    failedRatio === undefined ? "" : `, ${percent(failedRatio)} of the requests of a route failed`;
  return `${percentileName(objective.percentile)} ${measured}, objective ${formatLatency(objective.seconds)}${failed}`;
}

/** `412.00 EUR instead of 498.00 EUR (467.00 to 529.00), 0.40 % slow instead of 0.90 % (0.60 % to 1.20 %)`. */
export function shadowText(
  { cost, hpaCost, hpaRequestsOver, requests, requestsOver }: ShadowComparison,
  currency = "",
): string {
  const amount = (value: number): string => `${amountText(value)} ${currency}`.trim();
  const slow = (count: number): string => finePercent(requests > 0 ? count / requests : 0);
  const range = ({ high, low, middle }: ShadowRange, text: (value: number) => string, short = text): string =>
    `${text(middle)} (${short(low)} to ${short(high)})`;
  return (
    `${amount(cost)} instead of ${range(hpaCost, amount, amountText)}, ` +
    `${slow(requestsOver)} slow instead of ${range(hpaRequestsOver, slow)}`
  );
}

/** A price; small ones with more digits. */
export const amountText = (value: number): string => value.toFixed(Math.abs(value) < 10 ? 4 : 2);

/** What acting would have saved and added, where nothing is carried out. */
export function savingsText({
  addedCost,
  missedSeconds,
  observedSeconds,
  savedCost,
  sinceMs,
}: NonNullable<RecommendationList["regret"]>): string {
  return (
    `in ${formatSeconds(observedSeconds)} since ${utcSeconds(sinceMs)} acting would have saved ${savedCost.toFixed(4)} and ` +
    `added ${addedCost.toFixed(4)}; objective missed for ${formatSeconds(missedSeconds)} while more was recommended`
  );
}

function overrideEventText({
  action: kind,
  by,
  note: reason,
  state,
  ...facts
}: Extract<AuditEvent, { kind: "override" }>): string {
  if (state === "begun") return overrideText({ ...facts, kind, by, reason });
  return `${kind} is over: ${END_WORDS[state]}${state === "expired" ? "" : ` by ${by}`}; the plan decides again`;
}
