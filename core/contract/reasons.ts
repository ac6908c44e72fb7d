import { overrideText } from "./override.ts";
import { MOST_REASONS, Reason } from "./reason.ts";
import { finePercent, percent, percentileName, utcMinutes } from "../values/amounts.ts";
import type { ReadReason, Reasons } from "./reason.ts";

type Facts<Code extends Reason["code"]> = Extract<Reason, { code: Code }>;
type Sentences = { readonly [Code in Reason["code"]]: (facts: Facts<Code>) => string };

const isFull = <Code extends Reason["code"]>(reason: ReadReason, code: Code): reason is Facts<Code> =>
  reason.code === code && Object.keys(reason).length > 1;

/** The facts of the first reason with this code that has any. */
export function factsIn<Code extends Reason["code"]>(reasons: Reasons, code: Code): Facts<Code> | undefined {
  for (const reason of reasons ?? []) if (isFull(reason, code)) return reason;
  return undefined;
}

/** The one place where reasons become English. Cause with its number, then consequence with its number. */
const SENTENCES: Sentences = {
  measured: (facts) =>
    `${latency(facts)}, ${finePercent(facts.overRatio)} of ${rate(facts.requestsPerSecond)} over it or failed`,
  outcome: (facts) =>
    `${windows(facts.windows)} later ${latency(facts)}, ${finePercent(facts.overRatio)} of ` +
    `${rate(facts.requestsPerSecond)} over it or failed` +
    (facts.wasExpectedSeconds === undefined
      ? ""
      : `; expected ${duration(facts.wasExpectedSeconds)} (${between(facts.wasExpectedLowSeconds ?? 0, facts.wasExpectedHighSeconds ?? 0)})`) +
    (facts.mode === "act" ? "" : `; not carried out in mode ${facts.mode}`),
  "slo-met": latency,
  "slo-violated": latency,
  "requests-failed": ({ allowedRatio, errorRatio, route }) =>
    `${percent(errorRatio)} of the requests${route === undefined ? "" : ` of '${route}'`} failed, ` +
    `${percent(allowedRatio)} may be late`,
  "slight-violation": () => "a slight miss: waits for a second window",
  "traffic-missing": ({ missing }) => `a part of the traffic was not seen: ${missing}`,
  "data-missing": ({ missing, what = "traffic" }) =>
    `nothing is removed: ${missing ?? MISSING[what] ?? "latency, load or replicas are missing"}`,
  "no-user-trace": () => "no trace of a user's request",
  "entry-not-traced": ({ entry, tracedEntries }) =>
    `no route enters through '${entry}' (traces enter through ${tracedEntries.join(", ")})`,
  "no-route-held": ({ route, routes }) =>
    `no route is held to an objective: ${routes === 1 ? "" : `${routes} routes, `}'${route}'${routes === 1 ? "" : " among them,"} ${routes === 1 ? "is" : "are"} excluded or a stream`,
  "no-user-request": () => "no user's request passes it",
  "static-policy": () => "the operator chose the static policy",
  "models-missing": (facts) => `no calibrated model yet of ${named(facts)}`,
  "cpu-only": () => "decides by CPU use alone",
  "cpu-unknown": () => "no CPU use or capacity is known",
  "no-workloads": ({ namespace }) => `no service has a workload in '${namespace}'`,
  "expected-misses": ({ forecast, loadErrorRatio, loadRatio, overRatio }) =>
    `expects ${percent(overRatio)} of the requests over the objective at ` +
    `${loadRatio.toFixed(2)} times the load (± ${percent(loadErrorRatio)}, forecast '${forecast}')`,
  "error-budget": ({ allowedRatio, percentPerHour, periodSeconds, spentRatio, useRatio }) =>
    `error budget: ${tenths(spentRatio)} of ${tenths(useRatio * allowedRatio)} spent ${inLast(periodSeconds)}; ` +
    `one more percent over is worth ${Number(percentPerHour.toPrecision(2))}/h`,
  "miss-unexplained": (facts) =>
    `${percent(facts.overRatio)} of the requests${facts.route === undefined ? "" : ` of '${facts.route}'`} are over the objective ` +
    `for ${facts.windows} windows where the models expect ${percent(facts.expectedRatio)}: not explained by them, ` +
    (facts.services.length > 0
      ? `${named(facts)} grows at its CPU limit`
      : "no service on the route is at its CPU limit"),
  expected,
  alternative: (facts) =>
    `${facts.resource === "replicas" ? replicas(facts.alternativeSize) : cores(facts.alternativeSize)} instead: ` +
    `${duration(facts.alternativeSeconds)}, ${signedPrice(facts.alternativeCostPerHour)}/h; ` +
    `with slow requests and starts ${signedPrice(facts.alternativeTotalPerHour)}/h`,
  "time-outside": ({ gainSeconds, latencySeconds, objectiveSeconds }) =>
    `one more replica of any service takes at most ${duration(gainSeconds)} off ${duration(latencySeconds)} ` +
    `(objective ${duration(objectiveSeconds)}): the time is outside`,
  "models-far-off": ({ expectedRatio, overRatio, route }) =>
    `${percent(overRatio)} of the requests of '${route}' are over the objective where the models expect ` +
    `${percent(expectedRatio)}: they do not explain it`,
  "held-up": ({ cpuRatio, selfTimeRatio }) =>
    `takes ${selfTimeRatio.toFixed(1)} times as long as while the objective was met, at ${percent(cpuRatio)} CPU use: it waits for something else, and nothing is taken of it`,
  "replicas-tried": (facts) =>
    `tries ${replicas(facts.replicas)} in place of ${facts.fromReplicas}, which answer ${rate(facts.requestsPerSecond)} while others wait: ` +
    "they help where each has a queue of its own",
  "queue-per-replica": (facts) =>
    `more replicas have shown that each has a queue of its own and answers ${rate(facts.requestsPerSecond)} at most: ${replicas(facts.replicas)} at least`,
  "replicas-no-help": () =>
    "more replicas were tried and did not help: what it waits for is not its own, and none is added for it",
  "at-cpu-limit": ({ throttledRatio }) =>
    `${percent(throttledRatio)} of its CPU time is throttled in a miss that the models do not explain: grows without them`,
  "memory-peak": ({ fromBytes, peakRatio, toBytes }) =>
    `memory ${mebibytes(fromBytes)} → ${mebibytes(toBytes)} MiB each: ${peakRatio} times the most used`,
  "cpu-cores": ({ fromCores, toCores }) => `${fromCores.toFixed(2)} → ${toCores.toFixed(2)} cores each`,
  "memory-bytes": ({ fromBytes, toBytes }) =>
    `memory ${mebibytes(fromBytes)} → ${mebibytes(toBytes)} MiB each`,
  replicas: move,
  "pods-unscheduled": ({ unscheduledPods }) =>
    `no node has room for ${unscheduledPods} of its pods: they stay asked for and do not count as serving`,
  "room-traded": (facts) => `gives room to pods of ${named(facts)} that no node has room for`,
  "cpu-demand": ({ cpuRatio, targetRatio }) =>
    `CPU demand is ${percent(cpuRatio)} of what its ready replicas have, target ${percent(targetRatio)}`,
  "queue-share": queueShare,
  "adds-replicas": (facts) => `adds ${replicas(facts.replicas)}`,
  idle: ({ cpuRatio }) =>
    cpuRatio === undefined
      ? "no service on a slow route is busy: more replicas would not help"
      : `its CPU use is ${percent(cpuRatio)} and nothing queues: more replicas would not help`,
  "others-first": ({ targetRatio }) =>
    targetRatio === undefined
      ? "more requests queue in others"
      : `others use more than ${percent(targetRatio)} of their CPU, it does not`,
  "replicas-starting": (facts) => `waits until new replicas of ${named(facts)} have served a whole window`,
  "queue-draining": (facts) => `waits until the queue of ${named(facts)} is worked off`,
  "growth-without-effect": () => "more replicas have shown no effect: adds no more for latency",
  budget: ({ budgetReplicas, overReplicas }) =>
    `shares a budget of ${replicas(budgetReplicas)}` +
    (overReplicas === undefined ? "" : `, ${overReplicas} over it for minimum replicas and missing data`),
  "scale-down": ({ metWindows, services }) =>
    `well within the objective for ${windows(metWindows)}: ` +
    `takes replicas from ${services} ${services === 1 ? "service" : "services"}`,
  "scale-down-waits": ({ metWindows, neededWindows }) =>
    `well within the objective for ${metWindows} of the ${windows(neededWindows)} that a scale-down waits for`,
  "scale-down-unsafe": () => "no replica can go without risking the objective",
  "predictor-silent": ({ silentSeconds }) => `no plan for ${Math.round(silentSeconds)} s`,
  student: ({ forecastRatio, loadRatio }) =>
    `a student of the planner decides at ${loadRatio.toFixed(2)} times the last plan's load, ` +
    `${forecastRatio.toFixed(2)} times expected`,
  "silence-limit": ({ mostReplicas, plannedReplicas }) =>
    `without a predictor at most ${replicas(mostReplicas)} follow the ${plannedReplicas} of the last plan`,
  "guard-step": ({ proposedBytes, proposedCores, proposedReplicas, step }) => {
    const asked = [
      ...(proposedReplicas === undefined ? [] : [replicas(proposedReplicas)]),
      ...(proposedCores === undefined ? [] : [cores(proposedCores)]),
      ...(proposedBytes === undefined ? [] : [`${mebibytes(proposedBytes)} MiB each`]),
    ];
    return `by guard step ${step}; proposed: ${asked.join(", ")}`;
  },
  "min-replicas": ({ minReplicas }) => `the service keeps at least ${replicas(minReplicas)}`,
  "max-replicas": ({ maxReplicas }) =>
    maxReplicas === undefined
      ? "every service that could help has as many replicas as it may"
      : `the service may have at most ${replicas(maxReplicas)}`,
  "container-bounds": () => "container sizes brought to a whole step inside their bounds",
  "change-limit": ({ fromReplicas, limitReplicas }) =>
    `within 12 s replicas go from ${fromReplicas} to at ${limitReplicas > fromReplicas ? "most" : "least"} ${limitReplicas}`,
  "container-change-limit": ({ growRatio, shrinkRatio }) =>
    `within 12 s a container becomes at most ${growRatio} times as large and keeps at least ${percent(shrinkRatio)}`,
  "growth-limit": ({ fromReplicas, mostReplicas }) =>
    `latency, load or replicas are missing: growth from ${replicas(fromReplicas)} is limited to ${mostReplicas}`,
  "approval-awaited": (facts) => `${sizes(facts)} waits for approval: tradewind approve ${facts.change}`,
  "approval-refused": (facts) =>
    `${sizes(facts)} was refused (${facts.change}): it is not proposed again before ${utcMinutes(facts.expiresMs)}`,
  "asked-change": (facts) =>
    `${sizes(facts)} at least until ${utcMinutes(facts.expiresMs)}, asked for by ${facts.by} (${facts.change})`,
  "rolled-back": (facts) =>
    `the objective was missed after a change that took away: keeps at least ${replicas(facts.replicas)} until ${utcMinutes(facts.untilMs)}`,
  "calendar-floor": (facts) => scheduled(facts, "least"),
  "calendar-ceiling": (facts) => scheduled(facts, "most"),
  quota: ({ ahead, mostReplicas, quota }) =>
    `quota '${quota}' has room for ${replicas(mostReplicas)}${ahead.length === 0 ? "" : ` after ${rivals(ahead)}`}`,
  "quota-first": ({ behind, quota }) => `comes first in quota '${quota}', before ${rivals(behind)}`,
  brownout: ({ for: first, leastReplicas, quota }) =>
    `optional: goes down to ${replicas(leastReplicas)}, since ${rivals([first])} misses its objective and ` +
    (quota === undefined ? "no node has room for it" : `quota '${quota}' has no room for it`),
  "brownout-first": ({ services }) =>
    `${services.map(({ application, service }) => `${service} of ${application}`).join(", ")} ` +
    `${services.length === 1 ? "goes" : "go"} down to make room for it`,
  "disruption-budget": ({ allowedReplicas, budget, leastReplicas }) =>
    `PodDisruptionBudget '${budget}' lets ${allowedReplicas === 0 ? "no pod" : `${allowedReplicas} ${allowedReplicas === 1 ? "pod" : "pods"}`} go now: keeps ${replicas(leastReplicas)}`,
  "restart-grace": ({ agoSeconds, graceSeconds, started }) =>
    `${STARTED[started]} ${Math.round(agoSeconds)} s ago: ` +
    `nothing is removed in the first ${graceSeconds} s`,
  override: ({ override: kind, why, ...facts }) => overrideText({ ...facts, kind, reason: why }),
  "running-unknown": () =>
    "it is not known how many replicas run, so no number is safe; give the predictor a workload source",
  "scaling-paused": () => "its ScaledObject holds KEDA still: nothing is carried out",
  "metric-type-value": () =>
    "its HPA would multiply the number by the ready pods, so it is given none: " +
    "remove 'metricType: Value' from Tradewind's trigger",
  "stale-measurements": ({ ageSeconds, limitSeconds }) =>
    `the measurements are ${Math.round(ageSeconds)} s old, more than the ${limitSeconds} s allowed`,
  "unusable-number": ({ field, value }) => `the proposal cannot be used: ${field} is ${value}`,
  unreadable: ({ problem }) => `the proposal cannot be read: ${problem}`,
};

/** What follows from the reasons before it. */
const CONSEQUENCES: ReadonlySet<Reason["code"]> = new Set(["replicas", "cpu-cores", "memory-bytes"]);

/**
 * The reasons as one text: `p95 is 412 ms, objective 300 ms (137 %); 61 % of the estimated queue: 2 → 4 replicas`.
 * @param mostCharacters where the text is cut off
 */
export function inWords(reasons: readonly Reason[], mostCharacters: number): string {
  const parts: string[] = [];
  for (const [index, reason] of reasons.entries()) {
    const before = reasons[index - 1];
    if (before !== undefined) parts.push(separator(before, reason));
    parts.push(sentenceOf(reason));
  }
  // Joined, a text is one string; added up it would be a tree of its parts, three times as large, for as long as it is kept.
  return parts.join("").slice(0, mostCharacters);
}

function separator(before: Reason, { code }: Reason): string {
  if (!CONSEQUENCES.has(code)) return "; ";
  return CONSEQUENCES.has(before.code) ? ", " : ": ";
}

/** Plain English, without a full stop. */
export function sentenceOf(reason: Reason): string {
  const sentence = SENTENCES[reason.code] as (facts: Reason) => string;
  return sentence(reason);
}

/** Codes that are whole without a fact. */
const FACTLESS: ReadonlySet<string> = new Set(
  Reason.options.flatMap(({ shape: { code } }) =>
    Reason.safeParse({ code: code.value }).success ? [code.value] : [],
  ),
);

/** Whether these can all be said here: none is of another release, or without facts that it has here. */
export const areWhole = (reasons: readonly ReadReason[]): reasons is readonly Reason[] =>
  reasons.every((reason) =>
    Object.keys(reason).length > 1 ? reason.code in SENTENCES : FACTLESS.has(reason.code),
  );

/** Numbers and names of the reasons, the units last in their names. Of each name the first: the measurement before the guard's. */
export function factsOfReasons(reasons: readonly ReadReason[]): Record<string, number | string> {
  const facts: Record<string, number | string> = {};
  for (const { code: _, ...known } of reasons)
    for (const [name, value] of Object.entries(known) as [string, unknown][])
      if (typeof value === "string" || (typeof value === "number" && Number.isFinite(value)))
        facts[name] ??= value;
  return facts;
}

/** The same reasons, each once, and no more than go beside a text. */
export function distinct<Each extends ReadReason>(reasons: readonly Each[]): Each[] {
  const known = new Map(reasons.map((each) => [JSON.stringify(each), each]));
  return [...known.values()].slice(0, MOST_REASONS);
}

/** The codes, each once; none where a peer of another release sends none. */
export function codesOf(reasons: Reasons = []): string[] {
  return [...new Set(reasons.map(({ code }) => code))];
}

function latency({
  fewerThanRequests,
  latencySeconds,
  objectiveSeconds,
  percentile,
  route,
}: Omit<Facts<"slo-met">, "code">): string {
  const name = `${percentileName(percentile)}${route === undefined ? "" : ` of '${route}'`}`;
  const few = fewerThanRequests === undefined ? "" : `, by fewer than ${fewerThanRequests} requests`;
  const ratio = percent(latencySeconds / objectiveSeconds);
  return `${name} is ${duration(latencySeconds)}, objective ${duration(objectiveSeconds)} (${ratio})${few}`;
}

const STARTED: Readonly<Record<Facts<"restart-grace">["started"], string>> = {
  exporter: "the scaler started",
  predictor: "the predictor started",
  "other-predictor": "the predictor took the place of another one",
  replica: "the youngest replica started",
};

const MISSING: Readonly<Partial<Record<NonNullable<Facts<"data-missing">["what"]>, string>>> = {
  replicas: "its replicas are not known",
  requests: "no source reports requests, and no caller vouches that there were none",
  "self-time": "its self time is not known",
  queue: "its queue is not known",
};

/** `p95 then 185 ms (120-260), 610 ms (480-790) without it, +0.012/h`; where nothing changes `p95 140 ms (120-160) expected`. */
function expected(facts: Facts<"expected">): string {
  const { costPerHour, expectedHighSeconds, expectedLowSeconds, expectedSeconds, percentile, route } = facts;
  const { withoutHighSeconds = 0, withoutLowSeconds = 0, withoutSeconds } = facts;
  const name = `${percentileName(percentile)}${route === undefined ? "" : ` of '${route}'`}`;
  const then = `${duration(expectedSeconds)} (${between(expectedLowSeconds, expectedHighSeconds)})`;
  if (withoutSeconds === undefined) return `${name} ${then} expected`;
  const without = `${duration(withoutSeconds)} (${between(withoutLowSeconds, withoutHighSeconds)})`;
  return `${name} then ${then}, without it ${without}; ${signedPrice(costPerHour)}/h`;
}

function scheduled(
  { calendar, fromMs, replicas: count, untilMs }: Facts<"calendar-floor" | "calendar-ceiling">,
  edge: "least" | "most",
): string {
  return `calendar '${calendar}' keeps at ${edge} ${replicas(count)} from ${utcMinutes(fromMs)} to ${utcMinutes(untilMs)}`;
}

function rivals(all: Facts<"quota">["ahead"]): string {
  return all
    .map(({ application, priority, service }) => `${service} of ${application} (priority ${priority})`)
    .join(", ");
}

/** `5 → 12 replicas`, `0.20 → 0.80 cores each`, `1024 → 256 MiB each`; without the first number where it is not known. */
function sizes({
  from,
  resource,
  to,
}: Facts<"approval-awaited" | "approval-refused" | "asked-change">): string {
  if (resource === "replicas") return `${from} → ${replicas(to)}`;
  const [write, unit] =
    resource === "cpu"
      ? [(value: number) => value.toFixed(2), "cores each"]
      : [(value: number) => String(mebibytes(value)), "MiB each"];
  return `${from === 0 ? "" : `${write(from)} → `}${write(to)} ${unit}`;
}

function move({ fromReplicas, neededReplicas, runningReplicas, toReplicas }: Facts<"replicas">): string {
  const needed = neededReplicas === undefined ? "" : ` of ${neededReplicas} needed`;
  if (toReplicas !== fromReplicas) return `${fromReplicas} → ${replicas(toReplicas)}${needed}`;
  const late = runningReplicas === undefined ? "" : ` (${runningReplicas} still run)`;
  return `keep ${replicas(toReplicas)}${late}${needed}`;
}

function queueShare({ cpuRatio, queueRatio }: Facts<"queue-share">): string {
  const parts = [
    ...(queueRatio === undefined ? [] : [`${percent(queueRatio)} of the estimated queue`]),
    ...(cpuRatio === undefined ? [] : [`${percent(cpuRatio)} CPU use`]),
  ];
  return `it has ${parts.join(" at ")}`;
}

function named({
  moreServices = 0,
  services,
}: Pick<Facts<"models-missing">, "services" | "moreServices">): string {
  return `${services.join(", ")}${moreServices > 0 ? ` and ${moreServices} more` : ""}`;
}

const cores = (count: number): string => `${count.toFixed(2)} cores each`;
const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
const replicas = (count: number): string => `${count} ${count === 1 ? "replica" : "replicas"}`;
const windows = (count: number): string => `${count} ${count === 1 ? "window" : "windows"}`;
const tenths = (ratio: number): string => `${(100 * ratio).toFixed(1)} %`;
/** `today`, `in the last 12 h` */
const inLast = (seconds: number): string =>
  seconds === 86_400
    ? "today"
    : seconds < 86_400
      ? `in the last ${seconds / 3_600} h`
      : `in the last ${seconds / 86_400} d`;
/** `412 ms`, `2.0 s` */
const duration = (seconds: number): string =>
  seconds < 1 ? `${Math.round(1e3 * seconds)} ms` : `${seconds.toFixed(1)} s`;
/** `120-260 ms`, `0.9-2.1 s` */
const between = (lowSeconds: number, highSeconds: number): string =>
  highSeconds < 1
    ? `${Math.round(1e3 * lowSeconds)}-${Math.round(1e3 * highSeconds)} ms`
    : `${lowSeconds.toFixed(1)}-${highSeconds.toFixed(1)} s`;
/** `+0.012`, `-0.008`; three significant digits below 0.1. */
const signedPrice = (price: number): string => {
  const digits = Math.abs(price) >= 0.1 ? price.toFixed(3) : String(Number(price.toPrecision(2)));
  return `${price > 0 ? "+" : ""}${digits}`;
};
const rate = (requestsPerSecond: number): string =>
  `${requestsPerSecond < 10 ? requestsPerSecond.toFixed(1) : Math.round(requestsPerSecond)} requests/s`;
