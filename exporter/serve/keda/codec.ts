import protobuf from "protobufjs/minimal.js";

const { Reader, Writer } = protobuf;
type Reader = protobuf.Reader;

/** Limits on trigger metadata: anybody who may write a ScaledObject may write anything there. */
export const REQUEST_LIMITS = { metadataEntries: 256, nameBytes: 1_024, valueBytes: 1_024 } as const;

/** Metadata keys that mean something to us. KEDA resolves `…FromEnv` but keeps the key. */
const KNOWN_KEYS = ["service", "serviceFromEnv", "application", "applicationFromEnv"] as const;
export type KnownKey = (typeof KNOWN_KEYS)[number];

/** Who asks for what, or in `problem` what is wrong with the question. */
export interface ScalerRequest {
  readonly name: string;
  readonly namespace: string;
  readonly metadata: ReadonlyMap<KnownKey, string>;
  readonly metricName: string;
  readonly problem?: string;
}

interface Draft {
  name: string;
  namespace: string;
  metricName: string;
  metadata: Map<KnownKey, string>;
  entries: number;
}

/** Reads a ScaledObjectRef. Never throws: whatever is wrong with the bytes ends up in `problem`. */
export const decodeScaledObjectRef = (bytes: Uint8Array): ScalerRequest => decodeWith(bytes, readRef);

/** Reads a GetMetricsRequest. Never throws, see {@link decodeScaledObjectRef}. */
export const decodeGetMetricsRequest = (bytes: Uint8Array): ScalerRequest =>
  decodeWith(bytes, readMetricsRequest);

function decodeWith(
  bytes: Uint8Array,
  read: (reader: Reader, end: number, draft: Draft) => void,
): ScalerRequest {
  const draft: Draft = { name: "", namespace: "", metricName: "", metadata: new Map(), entries: 0 };
  try {
    const reader = Reader.create(bytes);
    read(reader, reader.len, draft);
    return draft;
  } catch (error) {
    const problem =
      error instanceof LimitError ? error.message : "the request is not a valid protobuf message";
    return { ...draft, problem };
  }
}

class LimitError extends Error {}

function readMetricsRequest(reader: Reader, end: number, draft: Draft): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === field(1, LENGTH_DELIMITED)) readRef(reader, endOfMessage(reader), draft);
    else if (tag === field(2, LENGTH_DELIMITED)) draft.metricName = text(reader, "metricName");
    else reader.skipType(tag & 7);
  }
}

function readRef(reader: Reader, end: number, draft: Draft): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === field(1, LENGTH_DELIMITED)) draft.name = text(reader, "name");
    else if (tag === field(2, LENGTH_DELIMITED)) draft.namespace = text(reader, "namespace");
    else if (tag === field(3, LENGTH_DELIMITED)) readMetadataEntry(reader, endOfMessage(reader), draft);
    else reader.skipType(tag & 7);
  }
  if (reader.pos !== end) throw new RangeError("a field reaches past its message");
}

function readMetadataEntry(reader: Reader, end: number, draft: Draft): void {
  draft.entries += 1;
  if (draft.entries > REQUEST_LIMITS.metadataEntries) {
    throw new LimitError(`the trigger metadata has more than ${REQUEST_LIMITS.metadataEntries} entries`);
  }
  let key: KnownKey | undefined;
  let valueStart = end;
  let valueEnd = end;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === field(1, LENGTH_DELIMITED)) {
      key = readKnownKey(reader);
    } else if (tag === field(2, LENGTH_DELIMITED)) {
      valueEnd = endOfMessage(reader);
      valueStart = reader.pos;
      reader.pos = valueEnd;
    } else {
      reader.skipType(tag & 7);
    }
  }
  if (reader.pos !== end) throw new RangeError("a field reaches past its message");
  if (key === undefined) return;
  const valueBytes = valueEnd - valueStart;
  if (valueBytes > REQUEST_LIMITS.valueBytes) {
    throw new LimitError(`metadata key '${key}' holds ${valueBytes} bytes, more than a name can have`);
  }
  draft.metadata.set(key, utf8(reader, valueStart, valueEnd));
}

const LENGTH_DELIMITED = 2;
const field = (number: number, wireType: number): number => (number << 3) | wireType;

function endOfMessage(reader: Reader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError("a message reaches past the request");
  return end;
}

function text(reader: Reader, what: string): string {
  const end = endOfMessage(reader);
  const start = reader.pos;
  if (end - start > REQUEST_LIMITS.nameBytes) {
    throw new LimitError(`${what} holds ${end - start} bytes, more than a name can have`);
  }
  reader.pos = end;
  return utf8(reader, start, end);
}

function readKnownKey(reader: Reader): KnownKey | undefined {
  const end = endOfMessage(reader);
  const start = reader.pos;
  reader.pos = end;
  if (!KNOWN_KEYS.some(({ length }) => length === end - start)) return undefined;
  const key = utf8(reader, start, end);
  return KNOWN_KEYS.find((known) => known === key);
}

/** Text straight from the request: a view of its bytes for each field would cost more than reading them. */
function utf8({ buf }: Reader, start: number, end: number): string {
  const bytes = Buffer.isBuffer(buf) ? buf : Buffer.from(buf.buffer, buf.byteOffset, buf.byteLength);
  return bytes.toString("utf8", start, end);
}

/** @param active whether the workload should run */
export function encodeIsActive(active: boolean): Buffer {
  const writer = Writer.create();
  if (active) writer.uint32(8).bool(true);
  return Buffer.from(writer.finish());
}

/** One metric with the same target in the integer and in the floating-point field. */
export function encodeMetricSpec(metricName: string, target: number): Buffer {
  const writer = Writer.create();
  writer.uint32(field(1, LENGTH_DELIMITED)).fork();
  writeMetric(writer, metricName, target);
  return Buffer.from(writer.ldelim().finish());
}

/** One metric value, in the integer and in the floating-point field alike. */
export function encodeMetricValue(metricName: string, value: number): Buffer {
  const writer = Writer.create();
  writer.uint32(field(1, LENGTH_DELIMITED)).fork();
  writeMetric(writer, metricName, value);
  return Buffer.from(writer.ldelim().finish());
}

/** Name in field 1, whole number in field 2, double in field 3: MetricSpec and MetricValue look alike on the wire. */
function writeMetric(writer: protobuf.Writer, metricName: string, value: number): void {
  writer.uint32(field(1, LENGTH_DELIMITED)).string(metricName);
  if (value !== 0) writer.uint32(field(2, 0)).int64(value).uint32(field(3, 1)).double(value);
}
