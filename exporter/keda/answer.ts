import type { KnownKey, ScalerRequest } from "./codec.ts";
import { mayBeServed } from "./table.ts";
import type { ServedDecision, ServedRow } from "./table.ts";

/** What KEDA is told: a number of replicas, or why there is none. */
export type Answer =
  | { readonly replicas: number; readonly problem?: never }
  | { readonly problem: "invalid-argument" | "unavailable"; readonly message: string };

/** What an answer is made from. */
export interface AnswerSource {
  find(namespace: string, service: string): ServedRow | undefined;
  /** What keeps the predictor silent, if it is. */
  readonly predictorProblem: string | undefined;
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
  // A name in traces may begin or end with a blank; one in metadata usually has it by mistake.
  const row = source.find(request.namespace, service) ?? source.find(request.namespace, service.trim());
  const name = (): string => `service '${quotable(service)}' in namespace '${quotable(request.namespace)}'`;
  const decided = row?.decided;
  if (decided === undefined)
    return unavailable(`no decision for ${name()} yet: ${unknownBecause(row?.refusal, source)}`);

  const application = metadataValue(request, "application", "applicationFromEnv")?.trim();
  if (application !== undefined && application !== decided.application) {
    return unavailable(
      `${name()} belongs to application '${decided.application}', not '${quotable(application)}': correct the trigger metadata`,
    );
  }
  if (!mayBeServed(decided, monotonicMs)) {
    const why = row?.refusal ?? source.predictorProblem ?? "no newer plan names the service";
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

function unknownBecause(refusal: string | undefined, source: AnswerSource): string {
  return (
    refusal ??
    source.predictorProblem ??
    "the plan does not name it; check 'service' against service.name in the traces"
  );
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
