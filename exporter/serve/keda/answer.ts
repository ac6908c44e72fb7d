import type { KnownKey, ScalerRequest } from "./codec.ts";
import { mayBeServed } from "../../keep/served-table.ts";
import type { ServedApplication, ServedDecision, ServedRow } from "../../keep/served-table.ts";

/** What KEDA is told: a number of replicas, or why there is none. */
export type Answer =
  | { readonly replicas: number; readonly problem?: never }
  | { readonly problem: "invalid-argument" | "unavailable"; readonly message: string };

/** What an answer is made from. */
export interface AnswerSource {
  find(namespace: string, service: string): ServedRow | undefined;
  /** What keeps the predictor silent, if it is. */
  readonly predictorProblem: string | undefined;
  /** The applications of a namespace; undefined where there is one application only, whatever its namespace. */
  applicationsIn?(namespace: string): readonly ServedApplication[] | undefined;
}

/**
 * Answers one question about replicas. The namespace is always the ScaledObject's own, so that nobody reads the
 * numbers of somebody else's services. Doubt is an error and never a number: KEDA then keeps the replicas as they are.
 */
export function answer(request: ScalerRequest, source: AnswerSource, monotonicMs: number): Answer {
  if (request.problem !== undefined) return invalid(request.problem);
  if (request.namespace === "") return invalid("the request names no namespace");
  const service = metadataValue(request, "service", "serviceFromEnv");
  if (service === undefined) {
    return invalid("trigger metadata lacks 'service': set it to the service's name in traces (service.name)");
  }
  const application = metadataValue(request, "application", "applicationFromEnv")?.trim();
  const chosen = chooseApplication(request.namespace, application, source);
  if ("answer" in chosen) return chosen.answer;
  const silence = chosen.problem ?? source.predictorProblem;
  return answerFor({ namespace: request.namespace, service, application, silence }, source, monotonicMs);
}

interface Question {
  readonly namespace: string;
  readonly service: string;
  /** As the trigger's metadata names it. */
  readonly application: string | undefined;
  /** What keeps new plans away, if anything does. */
  readonly silence: string | undefined;
}

function answerFor(
  { application, namespace, service, silence }: Question,
  source: AnswerSource,
  monotonicMs: number,
): Answer {
  // A name in traces may begin or end with a blank; one in metadata usually has it by mistake.
  const row = source.find(namespace, service) ?? source.find(namespace, service.trim());
  const name = (): string => `service '${quotable(service)}' in namespace '${quotable(namespace)}'`;
  const decided = row?.decided;
  if (decided === undefined)
    return unavailable(`no decision for ${name()} yet: ${row?.refusal ?? silence ?? UNKNOWN}`);
  if (application !== undefined && application !== decided.application) {
    return unavailable(
      `${name()} belongs to application '${decided.application}', not '${quotable(application)}': correct the trigger metadata`,
    );
  }
  if (!mayBeServed(decided, monotonicMs)) {
    const why = row?.refusal ?? silence ?? "no newer plan names the service";
    return unavailable(`the last decision for ${name()} ${tooOld(decided, monotonicMs)}: ${why}`);
  }
  const { replicas } = decided;
  if (!Number.isSafeInteger(replicas) || replicas < 0) return unavailable(`no usable number for ${name()}`);
  return { replicas };
}

function tooOld({ decidedMs, lifetimeMs }: ServedDecision, monotonicMs: number): string {
  if (decidedMs === undefined)
    return "was read from disk and is dated in the future, so its age is not known";
  const seconds = (ms: number): number => Math.round(ms / 1e3);
  return `is ${seconds(monotonicMs - decidedMs)} s old and was valid for ${seconds(lifetimeMs)} s`;
}

const UNKNOWN = "the plan does not name it; check 'service' against service.name in the traces";
/** Applications that an answer names. */
const MOST_NAMES = 8;

/** Of several applications the one that is asked, and what is wrong with it. Only those of the ScaledObject's namespace are named. */
function chooseApplication(
  namespace: string,
  asked: string | undefined,
  source: AnswerSource,
): { readonly answer: Answer } | { readonly problem: string | undefined } {
  const all = source.applicationsIn?.(namespace);
  if (all === undefined) return { problem: undefined };
  const planned = all.filter(({ state }) => state === "planned");
  const named = (some: readonly ServedApplication[]): string =>
    some
      .slice(0, MOST_NAMES)
      .map(({ name }) => `'${name}'`)
      .join(", ");
  const where = `namespace '${quotable(namespace)}'`;
  if (asked === undefined && planned.length > 1) {
    const problem = `trigger metadata lacks 'application': ${where} has the applications ${named(planned)}; name the one that the service is of`;
    return { answer: invalid(problem) };
  }
  const one = asked === undefined ? (planned[0] ?? all[0]) : all.find(({ name }) => name === asked);
  if (one === undefined) {
    const has = planned.length === 0 ? "none is planned there" : `it has ${named(planned)}`;
    const what = asked === undefined ? "no application" : `no application '${quotable(asked)}'`;
    return { answer: unavailable(`there is ${what} in ${where}: ${has}`) };
  }
  if (one.state === "deleted") {
    return {
      answer: unavailable(
        `application '${one.name}' in ${where} was deleted: replicas stay as they are; remove the trigger, or create it again`,
      ),
    };
  }
  return { problem: one.problem };
}

/** The first of these values that is more than blanks. */
function metadataValue({ metadata }: ScalerRequest, ...keys: readonly KnownKey[]): string | undefined {
  for (const key of keys) {
    const value = metadata.get(key);
    if (value !== undefined && value.trim() !== "") return value;
  }
  return undefined;
}

/** Foreign text fit for a message: no control characters, no lone surrogates, short. */
function quotable(text: string): string {
  const cleaned = text.toWellFormed().replaceAll(/\p{C}/gu, "\u{fffd}");
  return cleaned.length > 80 ? `${cleaned.slice(0, 80).toWellFormed()}…` : cleaned;
}

const invalid = (message: string): Answer => ({ problem: "invalid-argument", message });
const unavailable = (message: string): Answer => ({ problem: "unavailable", message });
