import protobuf from "protobufjs/minimal.js";
import { saidOf } from "../../window/conventions.ts";
import type { SpanBatch } from "../../window/span.ts";
import { USER_AGENT, ASKING_KEYS, userAgentText } from "../../window/user-agent.ts";
import { BYTES, FIXED64, tag, VARINT } from "./message-reader.ts";
import {
  CLUSTER_KEY,
  ENVIRONMENT_KEYS,
  GROUP_KEY,
  HOST_KEY,
  NAMESPACE_KEY,
  POD_KEY,
  REGION_KEY,
} from "./resource-attributes.ts";
import { traceStateOf } from "./trace-state.ts";

const WORD = 0x1_0000_0000;
const STATUS_CODE_ERROR = 2;
const RESOURCE_ATTRIBUTES = tag(1, BYTES);
const SPAN_ATTRIBUTES = tag(9, BYTES);

/**
 * The spans of a batch as `ExportTraceServiceRequest`, with what windows are made of and no more: events and attributes but
 * the user agent and what tells of the kind are gone. Decoded again it is the same batch. Several of them one after the other are one request.
 */
export function encodeSpans(batch: SpanBatch): Uint8Array {
  const writer = protobuf.Writer.create();
  const epochNs = BigInt(batch.epochMs) * 1_000_000n;
  const epoch = { high: Number(epochNs >> 32n), low: Number(epochNs & 0xffff_ffffn) };
  for (let from = 0; from < batch.length;) {
    const resource = batch.resource[from] ?? 0;
    let to = from + 1;
    while (to < batch.length && batch.resource[to] === resource) to += 1;
    writer.uint32(tag(1, BYTES)).fork();
    writeResource(writer, batch, resource);
    writer.uint32(tag(2, BYTES)).fork();
    for (let index = from; index < to; index += 1) writeSpan(writer, batch, index, epoch);
    writer.ldelim().ldelim();
    from = to;
  }
  return writer.finish();
}

function writeResource(writer: protobuf.Writer, { resources }: SpanBatch, index: number): void {
  const { cluster, environment, group, host, instance, isPod, namespace, region, service } = resources[
    index
  ] ?? {
    service: "",
  };
  writer.uint32(tag(1, BYTES)).fork();
  writeAttribute(writer, RESOURCE_ATTRIBUTES, "service.name", service);
  const instanceKey = isPod === true ? POD_KEY : "service.instance.id";
  if (instance !== undefined) writeAttribute(writer, RESOURCE_ATTRIBUTES, instanceKey, instance);
  if (host !== undefined) writeAttribute(writer, RESOURCE_ATTRIBUTES, HOST_KEY, host);
  if (namespace !== undefined) writeAttribute(writer, RESOURCE_ATTRIBUTES, NAMESPACE_KEY, namespace);
  if (cluster !== undefined) writeAttribute(writer, RESOURCE_ATTRIBUTES, CLUSTER_KEY, cluster);
  if (region !== undefined) writeAttribute(writer, RESOURCE_ATTRIBUTES, REGION_KEY, region);
  if (group !== undefined) writeAttribute(writer, RESOURCE_ATTRIBUTES, GROUP_KEY, group);
  if (environment !== undefined)
    writeAttribute(writer, RESOURCE_ATTRIBUTES, ENVIRONMENT_KEYS[0], environment);
  writer.ldelim();
}

function writeAttribute(writer: protobuf.Writer, field: number, key: string, value: string): void {
  writer.uint32(field).fork().uint32(tag(1, BYTES)).string(key);
  writer.uint32(tag(2, BYTES)).fork().uint32(tag(1, BYTES)).string(value).ldelim().ldelim();
}

function writeSpan(writer: protobuf.Writer, batch: SpanBatch, index: number, epoch: Nanoseconds): void {
  writer.uint32(tag(2, BYTES)).fork();
  writeId(writer, 1, batch.traceId.subarray(4 * index, 4 * index + 4));
  writeId(writer, 2, batch.spanId.subarray(2 * index, 2 * index + 2));
  const adjustedCount = batch.adjustedCount[index] ?? 0;
  if (adjustedCount > 0) writer.uint32(tag(3, BYTES)).string(traceStateOf(adjustedCount));
  const parent = batch.parentId.subarray(2 * index, 2 * index + 2);
  if (parent[0] !== 0 || parent[1] !== 0) writeId(writer, 4, parent);
  const name = batch.names[index];
  if (name !== undefined && name !== "") writer.uint32(tag(5, BYTES)).string(name);
  const { attribute, kind } = saidOf(batch.kind[index] ?? 0);
  writer.uint32(tag(6, VARINT)).uint32(kind);
  const start = sum(epoch, batch.startNs[index] ?? 0);
  writeTime(writer, 7, start);
  writeTime(writer, 8, sum(start, batch.durationNs[index] ?? 0));
  if (attribute !== undefined) writeAttribute(writer, SPAN_ATTRIBUTES, attribute.key, attribute.value);
  const userAgent = batch.userAgent[index] ?? USER_AGENT.unknown;
  if (userAgent !== USER_AGENT.unknown)
    writeAttribute(writer, SPAN_ATTRIBUTES, ASKING_KEYS[0], userAgentText(userAgent));
  if (batch.error[index] === 1) {
    writer.uint32(tag(15, BYTES)).fork().uint32(tag(3, VARINT)).uint32(STATUS_CODE_ERROR).ldelim();
  }
  writer.ldelim();
}

/** Ids are bytes in network order; the writer writes words the other way round. */
function writeId(writer: protobuf.Writer, field: number, words: Uint32Array): void {
  writer.uint32(tag(field, BYTES)).uint32(4 * words.length);
  for (const word of words) {
    const swapped = (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
    writer.fixed32(swapped >>> 0);
  }
}

/** A time in two words: nanoseconds since 1970 have more digits than a number holds. */
interface Nanoseconds {
  readonly high: number;
  readonly low: number;
}

function sum({ high, low }: Nanoseconds, ns: number): Nanoseconds {
  const upper = Math.floor(ns / WORD);
  const lower = low + (ns - upper * WORD);
  return { high: high + upper + (lower >= WORD ? 1 : 0), low: lower % WORD };
}

function writeTime(writer: protobuf.Writer, field: number, { high, low }: Nanoseconds): void {
  writer
    .uint32(tag(field, FIXED64))
    .fixed32(low)
    .fixed32(high >>> 0);
}
