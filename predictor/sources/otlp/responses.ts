import protobuf from "protobufjs/minimal.js";

/** The two encodings of OTLP/HTTP. */
export const PROTOBUF = "application/x-protobuf";
export const JSON_TYPE = "application/json";
/** Zipkin's list of spans, in the same two encodings. */
export const ZIPKIN_PROTOBUF = "zipkin protobuf";
export const ZIPKIN_JSON = "zipkin JSON";
export type OtlpEncoding = typeof PROTOBUF | typeof JSON_TYPE;

/** `google.rpc.Code` (and gRPC status) numbers in use. */
export const RPC_CODE = {
  ok: 0,
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const MAX_MESSAGE = 500;

/** What the number of rejected parts is called in JSON; on the wire it is field 1 of each. */
const REJECTED = {
  traces: "rejectedSpans",
  metrics: "rejectedDataPoints",
  logs: "rejectedLogRecords",
} as const;

/**
 * `ExportTraceServiceResponse`, and alike that of metrics and logs: `rejected` parts are told with a reason. Nothing to tell gives
 * the empty message of full success; a message without a rejected part is a warning.
 */
export function exportResponse(
  encoding: typeof PROTOBUF,
  rejected: number,
  message: string,
  signal?: keyof typeof REJECTED,
): Uint8Array;
export function exportResponse(
  encoding: OtlpEncoding,
  rejected: number,
  message: string,
  signal?: keyof typeof REJECTED,
): Uint8Array | string;
export function exportResponse(
  encoding: OtlpEncoding,
  rejected: number,
  message: string,
  signal: keyof typeof REJECTED = "traces",
): Uint8Array | string {
  if (encoding === JSON_TYPE) {
    const partialSuccess = { [REJECTED[signal]]: String(rejected), errorMessage: message };
    return JSON.stringify(message === "" ? {} : { partialSuccess });
  }
  const writer = protobuf.Writer.create();
  if (message === "") return writer.finish();
  // partial_success = 1 { rejected_spans, rejected_data_points or rejected_log_records = 1 (int64), error_message = 2 }
  return writer.uint32(10).fork().uint32(8).int64(rejected).uint32(18).string(message).ldelim().finish();
}

/** `google.rpc.Status` { code = 1, message = 2 }. */
export function statusBody(encoding: OtlpEncoding, code: number, message: string): Uint8Array | string {
  const text = message.slice(0, MAX_MESSAGE);
  if (encoding === JSON_TYPE) return JSON.stringify({ code, message: text });
  return protobuf.Writer.create().uint32(8).int32(code).uint32(18).string(text).finish();
}

/**
 * `google.rpc.Status` with a `RetryInfo` { retry_delay = 1 { seconds = 1 } }, for the trailer `grpc-status-details-bin`: with
 * it a sender of spans tries again after RESOURCE_EXHAUSTED, without it the spans are lost (OTLP specification).
 */
export function retryDetails(code: number, message: string, retryAfterSeconds: number): string {
  const writer = protobuf.Writer.create()
    .uint32(8)
    .int32(code)
    .uint32(18)
    .string(message.slice(0, MAX_MESSAGE));
  writer.uint32(26).fork().uint32(10).string("type.googleapis.com/google.rpc.RetryInfo");
  writer.uint32(18).fork().uint32(10).fork().uint32(8).int64(retryAfterSeconds).ldelim().ldelim().ldelim();
  return Buffer.from(writer.finish()).toString("base64");
}

/** What was not taken, for people: `too-old: 3, service-limit: 1`; empty when everything was. */
export function rejectionMessage(
  reasons: Readonly<Partial<Record<string, number>>>,
  notUnderstood: readonly string[] = [],
): string {
  const rejected = Object.entries(reasons).map(([reason, count]) => `${reason}: ${count ?? 0}`);
  const passedOver = notUnderstood.length === 0 ? [] : [`not understood: ${notUnderstood.join(", ")}`];
  return [...rejected, ...passedOver].join(", ").slice(0, MAX_MESSAGE);
}
