/**
 * Why a span, or what was computed from it, was not counted.
 *
 * Refused on arrival:
 * - `invalid-id` trace or span id of zero or of the wrong length
 * - `invalid-service` no `service.name`, or one that is not printable text of at most 200 characters, or blank
 * - `unfinished` without an end: the span was still open when it was sent
 * - `negative-duration` end before start
 * - `too-long` longer than `maxSpanSeconds`
 * - `too-old`, `too-far-ahead` ended outside the time around now that is kept
 * - `service-limit` the span of a new service without a workload, beyond `maxServices`
 * - `trace-too-large` beyond twice `maxSpansPerTrace`
 * - `late` its trace was evaluated already, and it is no request, or one that was counted
 * - `no-application` of another namespace, cluster or environment, or of a service that none of several applications has
 *
 * Left out when its trace is evaluated:
 * - `duplicate` another span of the trace has the same id and is no other side of the same call
 * - `cyclic-parent` its parents form a cycle (or it is its own parent)
 * - `orphan` its parent never came and it is not the start of a request itself
 * - `lost-root` the first span of a trace did not come within `maxTraceSeconds`: its flow is unknown, its services count
 * - `late-request` a request of a window that was built already
 * - `flow-limit` the request of a new flow beyond `maxFlows`: its services count, the flow does not
 * - `pod-limit` own latency of a pod beyond the 200 of a service that are told apart: its service counts, the pod does not
 * - `callee-limit` a called service beyond the 1,000 that a window lists
 */
export const ARRIVAL_DROPS = [
  "invalid-id",
  "invalid-service",
  "unfinished",
  "negative-duration",
  "too-long",
  "too-old",
  "too-far-ahead",
  "service-limit",
  "trace-too-large",
  "late",
  "no-application",
] as const;
export const EVALUATION_DROPS = [
  "duplicate",
  "cyclic-parent",
  "orphan",
  "lost-root",
  "late-request",
  "flow-limit",
  "pod-limit",
  "callee-limit",
] as const;
export const DROP_REASONS = [...ARRIVAL_DROPS, ...EVALUATION_DROPS] as const;

export type ArrivalDrop = (typeof ARRIVAL_DROPS)[number];
export type DropReason = (typeof DROP_REASONS)[number];

/** What became of one batch. */
export interface AddResult {
  readonly accepted: number;
  readonly rejected: number;
  /** Rejected spans by reason; reasons with none are absent. */
  readonly reasons: Readonly<Partial<Record<ArrivalDrop, number>>>;
}

/** Adds `count` under `reason`. */
export function countDrop<Reason extends DropReason>(
  counts: Partial<Record<Reason, number>>,
  reason: Reason,
  count = 1,
): void {
  counts[reason] = (counts[reason] ?? 0) + count;
}

/** The metric of spans that were dropped: counted in the whole process where it plans several applications, and in each that is planned. */
export const DROPPED_SPANS = {
  name: "tradewind_predictor_spans_dropped_total",
  help: "Spans or requests that were not counted, by reason.",
  labelNames: ["reason"],
} as const;
