import { RECOMMENDATIONS_SCHEMA } from "@tradewind/core/contract/recommendation.ts";
import type {
  DecisionRecord,
  RecommendationList,
  ServedApplication,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import type { Reasons } from "@tradewind/core/contract/reason.ts";
import { overrideText } from "@tradewind/core/contract/override.ts";
import { codesOf } from "@tradewind/core/contract/reasons.ts";
import { severityOf } from "@tradewind/core/contract/standing.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";
import type { Column } from "@tradewind/core/terminal/table.ts";
import {
  lastChange,
  savingsText,
  sharedHold,
  sizeText,
  standingText,
} from "@tradewind/core/contract/sentences.ts";
import { percent, utcSeconds } from "@tradewind/core/values/amounts.ts";
import { recommendationOf } from "../../keep/recommendation.ts";

/** Services that one override names. */
const MOST_NAMES = 5;

const NONE =
  "No decision yet: the first comes with the first window of requests. 'tradewind doctor' says what is missing.";

/** A head line on the application, a table of the services, and the newest change of each with its reason. */
export function statusInWords({ recommendations, ...head }: RecommendationList, paint: Paint): string {
  const overridden = overridesInWords(recommendations, paint);
  if (recommendations.length === 0) return [...headsInWords(head, paint), NONE].join("\n\n");
  const changes = recommendations
    .flatMap((served) => {
      const change = lastChange(served.setBy);
      return change === undefined ? [] : [{ service: `${served.namespace}/${served.service}`, ...change }];
    })
    .toSorted((a, b) => b.decidedAtMs - a.decidedAtMs)
    .map(
      ({ decidedAtMs, policy, reason, reasons, service, what }) =>
        `  ${utcSeconds(decidedAtMs)}  ${service}  ${what} (${policy}): ${reason}${codesAfter(reasons)}`,
    );
  const listed =
    changes.length === 0
      ? "No size has changed since Tradewind first saw these services."
      : ["Changes, newest first:", ...changes].join("\n");
  const refusedNow = refusalsInWords(recommendations);
  const hold = sharedHold(recommendations);
  const held = hold === undefined ? [] : [paint("yellow", `Held: ${hold}`)];
  return [
    ...headsInWords(head, paint),
    ...overridden,
    ...held,
    servicesTable(recommendations, paint),
    listed,
    ...refusedNow,
  ].join("\n\n");
}

/** One line for each override, with its services: `held by ann until 04:30 UTC: bad deploy [cart, pay]`. */
function overridesInWords(recommendations: readonly ServedRecommendation[], paint: Paint): string[] {
  const byId = Map.groupBy(
    recommendations.filter(({ override }) => override !== undefined),
    ({ override }) => override?.id,
  );
  const lines = [...byId.values()].flatMap((services) => {
    const [only, ...others] = services;
    if (only?.override === undefined) return [];
    const { replicas, ...rest } = only.override;
    const names = services.slice(0, MOST_NAMES).map(({ service }) => service);
    const more = services.length > MOST_NAMES ? ` and ${services.length - MOST_NAMES} more` : "";
    const text = overrideText({ ...rest, replicas: others.length === 0 ? replicas : undefined });
    return [paint("yellow", `${text} [${names.join(", ")}${more}]`)];
  });
  return lines.length === 0 ? [] : [lines.join("\n")];
}

/** What is refused, once for all services of which the same is said. */
function refusalsInWords(recommendations: readonly ServedRecommendation[]): string[] {
  const services = new Map<string, string[]>();
  for (const { refused, refusedReasons, service } of recommendations) {
    if (refused === undefined) continue;
    const said = `${refused}${codesAfter(refusedReasons)}`;
    services.set(said, [...(services.get(said) ?? []), service]);
  }
  if (services.size === 0) return [];
  const lines = [...services].map(([said, names]) => `  ${names.join(", ")}  ${said}`);
  return [["Refused now:", ...lines].join("\n")];
}

/** The same with a few lines for each service instead of the table. */
export function serviceStatusInWords({ recommendations, ...head }: RecommendationList, paint: Paint): string {
  return [...headsInWords(head, paint), ...recommendations.map((served) => serviceInWords(served))].join(
    "\n\n",
  );
}

const headsInWords = (head: Omit<RecommendationList, "recommendations">, paint: Paint): string[] =>
  head.applications?.map((each) => applicationInWords(each, head.predictor, paint)) ?? [
    headInWords(head, paint),
  ];

const COLUMNS: readonly Column[] = [
  { title: "service" },
  { title: "namespace" },
  { title: "ready", align: "right" },
  { title: "recommended" },
  { title: "last change" },
  { title: "level" },
];

function servicesTable(recommendations: readonly ServedRecommendation[], paint: Paint): string {
  const rows = recommendations.map((served) => {
    const { namespace, policy, replicas, replicasReady, service, setBy, valid } = served;
    const change = lastChange(setBy);
    const isDue = replicasReady !== undefined && replicasReady !== replicas;
    return [
      service,
      namespace,
      replicasReady === undefined ? "?" : String(replicasReady),
      paint(valid ? (isDue ? "yellow" : "green") : "red", `${sizeText(served)}${valid ? "" : ", too old"}`),
      change === undefined ? "none" : `${change.what} at ${utcSeconds(change.decidedAtMs).slice(11)}`,
      policy,
    ];
  });
  return renderTable(COLUMNS, rows, paint);
}

/** One of several. */
function applicationInWords(
  { name, namespace, ...about }: ServedApplication,
  { reachable }: RecommendationList["predictor"],
  paint: Paint,
): string {
  const {
    cause,
    failedRatio,
    measuredLatencySeconds,
    mode,
    objective,
    patterns,
    regret,
    standing,
    unmapped,
    ...predictor
  } = about;
  return headInWords(
    {
      schema: RECOMMENDATIONS_SCHEMA,
      servedAtMs: 0,
      application: `${namespace}/${name}`,
      ...(objective && { objective }),
      ...(mode && { mode }),
      ...(regret && { regret }),
      ...(measuredLatencySeconds !== undefined && { measuredLatencySeconds }),
      ...(failedRatio !== undefined && { failedRatio }),
      ...(standing !== undefined && { standing }),
      ...(cause && { cause }),
      ...(patterns && { patterns }),
      ...(unmapped && { unmapped }),
      predictor: { reachable, ...predictor },
    },
    paint,
  );
}

/** Nothing where no objective is known. */
function standingInWords(
  head: Pick<ServedApplication, "failedRatio" | "measuredLatencySeconds" | "objective" | "standing">,
  paint: Paint,
): string {
  const text = standingText(head);
  if (text === undefined) return "";
  const severity = severityOf(head);
  const tone = severity === undefined ? "dim" : severity > 1 ? "red" : "green";
  return `: ${paint(tone, text)}`;
}

function headInWords(head: Omit<RecommendationList, "recommendations">, paint: Paint): string {
  const { application = "no application", cause, predictor } = head;
  const seen = (head.patterns ?? []).map(({ kind, words }) => `Seen: ${words} [${kind}]`);
  const standing = standingInWords(head, paint);
  const age = predictor.lastPlanAgeSeconds;
  const policy =
    predictor.policy === undefined
      ? "No plan."
      : `Policy ${predictor.policy}${age === undefined ? "" : `, ${Math.round(age)} s ago`}: ${predictor.policyReason ?? ""}${codesAfter(predictor.policyReasons)}`;
  const problem = predictor.problem === undefined ? [] : [`No new plan: ${predictor.problem}`];
  const why =
    cause === undefined ? [] : [`Missed since ${utcSeconds(cause.sinceMs)}: ${cause.text ?? cause.summary}`];
  return [
    `${application}${standing}`,
    ...why,
    ...seen,
    policy,
    ...problem,
    ...(head.unmapped ?? []).map((each) => paint("yellow", each)),
    ...(head.regret && head.mode !== undefined ? [`Mode ${head.mode}: ${savingsText(head.regret)}`] : []),
  ].join("\n");
}

function serviceInWords(served: ServedRecommendation): string {
  const { namespace, override, policy, reason, refused, replicasReady = "?", service, setBy, valid } = served;
  const codes = codesAfter(refused === undefined ? served.reasons : served.refusedReasons);
  const change = lastChange(setBy);
  const said =
    change === undefined
      ? "none since Tradewind first saw the service"
      : `${change.what} at ${utcSeconds(change.decidedAtMs)} (${change.policy}): ${change.reason}${codesAfter(change.reasons)}`;
  return [
    `${service} (${namespace}): ${replicasReady} ready, ${sizeText(served)} recommended${valid ? "" : ", too old to be served"}`,
    ...(override === undefined ? [] : [`  override     ${overrideText(override)}`]),
    `  last change  ${said}`,
    `  now          ${policy}: ${refused ?? reason}${codes}`,
    ...predictionInWords(served),
  ].join("\n");
}

function predictionInWords({ prediction }: ServedRecommendation): string[] {
  if (prediction === undefined) return [];
  const { biasRatio, coverageRatio, errorRatio } = prediction;
  const bias = `${biasRatio < 0 ? "-" : "+"}${percent(Math.abs(biasRatio))}`;
  return [
    `  prediction   self time off by ${percent(errorRatio)}, bias ${bias}, ${percent(coverageRatio)} of windows in the interval for 80 %`,
  ];
}

/** Decisions that changed a size, newest first, as `/v1/decisions` gives them. */
export function decisionsInWords(records: readonly DecisionRecord[]): string {
  const lines = records.map((record) => {
    const { policy, reason, reasons } = recommendationOf(record);
    return `  ${utcSeconds(record.decidedAtMs)}  ${sizeText(record.final)} (${policy}): ${reason}${codesAfter(reasons)}`;
  });
  return ["Decisions, the one in force first:", ...lines].join("\n");
}

/** ` [slo-violated, queue-share]`; nothing where a peer of another release sends no codes. */
function codesAfter(reasons: Reasons): string {
  const codes = codesOf(reasons);
  return codes.length === 0 ? "" : ` [${codes.join(", ")}]`;
}
