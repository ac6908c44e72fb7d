import protobuf from "protobufjs/minimal.js";
import type { MadeSpan } from "./traffic.ts";

export const serviceName = (service: number): string => `service-${String(service).padStart(4, "0")}`;

/** A span within the export of its service. */
export type SentSpan = Omit<MadeSpan, "service">;

const tag = (field: number, wireType: number): number => (field << 3) | wireType;

/** One `ExportTraceServiceRequest` as the SDK of one process sends it, with the attributes of usual HTTP instrumentation. */
export function exportRequest(service: string, spans: readonly SentSpan[]): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(tag(1, 2)).fork();
  resource(writer, service);
  writer.uint32(tag(2, 2)).fork();
  writer.uint32(tag(1, 2)).fork().uint32(tag(1, 2)).string("@opentelemetry/instrumentation-http").ldelim();
  for (const span of spans) encodeSpan(writer, span);
  return writer.ldelim().ldelim().finish();
}

function resource(writer: protobuf.Writer, name: string): void {
  writer.uint32(tag(1, 2)).fork();
  attribute(writer, 1, "telemetry.sdk.language", "nodejs");
  attribute(writer, 1, "telemetry.sdk.name", "opentelemetry");
  attribute(writer, 1, "service.name", name);
  attribute(writer, 1, "k8s.pod.name", `${name}-7c9d8f6b5-x2x4v`);
  attribute(writer, 1, "k8s.node.name", "node-17");
  writer.ldelim();
}

function encodeSpan(writer: protobuf.Writer, span: SentSpan): void {
  writer.uint32(tag(2, 2)).fork();
  writer.uint32(tag(1, 2)).bytes(bigEndian(span.trace));
  writer.uint32(tag(2, 2)).bytes(bigEndian(span.id));
  if (span.parent !== undefined) writer.uint32(tag(4, 2)).bytes(bigEndian(span.parent));
  writer.uint32(tag(5, 2)).string(span.name);
  writer.uint32(tag(6, 0)).int32(span.kind);
  fixedNanos(writer.uint32(tag(7, 1)), span.startMs);
  fixedNanos(writer.uint32(tag(8, 1)), span.endMs);
  attribute(writer, 9, "http.request.method", "GET");
  attribute(writer, 9, "url.path", "/v1/resource/1234567");
  attribute(writer, 9, "server.address", "service-0001.shop.svc.cluster.local");
  attribute(writer, 9, "network.protocol.version", "1.1");
  attribute(writer, 9, "user_agent.original", "node");
  attribute(writer, 9, "http.response.status_code", span.failed ? "500" : "200");
  writer.uint32(tag(15, 2)).fork();
  if (span.failed) writer.uint32(tag(3, 0)).int32(2);
  writer.ldelim().ldelim();
}

function attribute(writer: protobuf.Writer, field: number, key: string, value: string): void {
  writer.uint32(tag(field, 2)).fork().uint32(tag(1, 2)).string(key);
  writer.uint32(tag(2, 2)).fork().uint32(tag(1, 2)).string(value).ldelim().ldelim();
}

function fixedNanos(writer: protobuf.Writer, ms: number): void {
  const nanos = BigInt(Math.round(ms * 1e3)) * 1_000n;
  writer.fixed32(Number(nanos & 0xffff_ffffn));
  writer.fixed32(Number(nanos >> 32n));
}

function bigEndian(words: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * words.length);
  words.forEach((word, index) => bytes.writeUInt32BE(word, 4 * index));
  return bytes;
}
