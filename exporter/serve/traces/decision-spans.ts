import { createHash } from "node:crypto";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";

export type DecisionEvent = Extract<AuditEvent, { kind: "decision" }>;

type Value = string | number | undefined;

/** A span as OTLP has it in JSON (opentelemetry-proto, trace/v1). */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: typeof INTERNAL;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly object[];
  readonly events?: readonly object[];
}

const INTERNAL = 1;

const hashOf = (text: string, bytes: number): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, 2 * bytes);

/** The trace of a decision: the same for the same decision, so that what is sent twice is there once. */
export const traceIdOf = (decisionId: string): string => hashOf(decisionId, 16);

/**
 * A decision as a trace: from the end of the window that it was made of, over the plan, to the guard's last word.
 * @param record absent where it is not kept any more: then the plan took no time
 * @param servedMs when the guard was done
 */
export function decisionSpans(
  { after, application, atMs, before, decisionId, mode, namespace, policy, reason, service }: DecisionEvent,
  record: DecisionRecord | undefined,
  servedMs: number,
): OtlpSpan[] {
  const traceId = traceIdOf(decisionId);
  const rootId = hashOf(`${decisionId}/decision`, 8);
  const windowEndMs = Math.min(atMs, record?.wish.inputs.windowEndMs ?? atMs);
  const endMs = Math.max(atMs, servedMs);
  const span = (name: string, startMs: number, stopMs: number, values: Record<string, Value>): OtlpSpan => ({
    traceId,
    spanId: hashOf(`${decisionId}/${name}`, 8),
    ...(name !== "decision" && { parentSpanId: rootId }),
    name,
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(stopMs),
    attributes: attributesOf(values),
  });
  const sizes = SIZES.flatMap((size) => [
    [`tradewind.before.${size}`, before[size]] as const,
    [`tradewind.after.${size}`, after[size]] as const,
  ]);
  return [
    span("decision", windowEndMs, endMs, {
      "tradewind.decision.id": decisionId,
      "tradewind.namespace": namespace,
      "tradewind.application": application,
      "tradewind.service": service,
      "tradewind.mode": mode,
      "tradewind.policy": policy,
      "tradewind.reason.code": reason?.code,
      "tradewind.reason.text": reason?.text,
      ...Object.fromEntries(sizes),
    }),
    span("plan", windowEndMs, atMs, {
      "tradewind.window.hash": record?.wish.inputs.windowHash,
      "tradewind.model.hash": record?.wish.inputs.modelHash,
    }),
    {
      ...span("guard", atMs, endMs, {}),
      events: (record?.actions ?? []).map((action) => ({
        timeUnixNano: nanoseconds(endMs),
        name: action.step,
        attributes: attributesOf({
          reason: action.reason,
          before: action.before.replicas,
          after: action.after.replicas,
        }),
      })),
    },
  ];
}

const nanoseconds = (ms: number): string => `${Math.round(ms)}000000`;

const attributesOf = (values: Record<string, Value>): object[] =>
  Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return [{ key, value: typeof value === "string" ? { stringValue: value } : { doubleValue: value } }];
  });
