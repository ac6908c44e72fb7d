import protobuf from "protobufjs/minimal.js";
import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import type { SpanRecord } from "@tradewind/predictor/window/span.ts";

/** A span of Zipkin's model, version 2. */
export interface ZipkinSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parentId?: string;
  readonly name?: string;
  readonly kind?: string;
  readonly timestamp?: number;
  readonly duration?: number;
  readonly shared?: boolean;
  readonly localEndpoint?: { readonly serviceName?: string; readonly ipv4?: string; readonly port?: number };
  readonly tags?: Readonly<Record<string, string>>;
}

const KIND_NAMES = new Map<number, string>([
  [SPAN_KIND.client, "CLIENT"],
  [SPAN_KIND.server, "SERVER"],
]);

/** A span as a Zipkin server gives it back. */
export function zipkinSpan(span: SpanRecord): ZipkinSpan {
  const { durationMs, error, kind, name, parentId, resource, spanId, startMs, traceId, userAgent } = span;
  return {
    traceId: traceId.replace(/^0{16}/, ""),
    id: spanId,
    ...(parentId !== undefined && { parentId }),
    name: name ?? "",
    ...(KIND_NAMES.has(kind) && { kind: KIND_NAMES.get(kind)! }),
    timestamp: Math.round(startMs * 1e3),
    duration: Math.round(durationMs * 1e3),
    localEndpoint: { serviceName: resource.service, ipv4: "10.1.2.3", port: 8080 },
    tags: { ...(error === true && { error: "500" }), ...(userAgent && { "http.user_agent": userAgent }) },
  };
}

const tag = (field: number, wireType: number): number => (field << 3) | wireType;
const KINDS = ["", "CLIENT", "SERVER", "PRODUCER", "CONSUMER"];

/** `ListOfSpans` of zipkin.proto. */
export function zipkinProtobuf(spans: readonly ZipkinSpan[]): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const span of spans) {
    writer.uint32(tag(1, 2)).fork();
    writer.uint32(tag(1, 2)).bytes(Buffer.from(span.traceId, "hex"));
    if (span.parentId !== undefined) writer.uint32(tag(2, 2)).bytes(Buffer.from(span.parentId, "hex"));
    writer.uint32(tag(3, 2)).bytes(Buffer.from(span.id, "hex"));
    writer.uint32(tag(4, 0)).int32(Math.max(0, KINDS.indexOf(span.kind ?? "")));
    writer.uint32(tag(5, 2)).string(span.name ?? "");
    const time = BigInt(span.timestamp ?? 0);
    writer
      .uint32(tag(6, 1))
      .fixed32(Number(time & 0xffff_ffffn))
      .fixed32(Number(time >> 32n));
    writer.uint32(tag(7, 0)).uint64(span.duration ?? 0);
    const { ipv4 = "", serviceName = "" } = span.localEndpoint ?? {};
    writer.uint32(tag(8, 2)).fork().uint32(tag(1, 2)).string(serviceName);
    if (ipv4 !== "") writer.uint32(tag(2, 2)).bytes(Uint8Array.from(ipv4.split("."), Number));
    writer.ldelim();
    for (const [key, value] of Object.entries(span.tags ?? {})) {
      writer.uint32(tag(11, 2)).fork().uint32(tag(1, 2)).string(key).uint32(tag(2, 2)).string(value).ldelim();
    }
    writer.uint32(tag(13, 0)).bool(span.shared === true);
    writer.ldelim();
  }
  return writer.finish();
}
