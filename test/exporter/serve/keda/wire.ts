/**
 * The external scaler's messages written and read by hand from the field numbers of the contract, with nothing of the
 * server's own code: varints, length-delimited fields and little-endian doubles.
 */
export type Bytes = Buffer;

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;

function varint(value: number | bigint): Bytes {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}

const tag = (number: number, wireType: number): Bytes => varint((number << 3) | wireType);

export function lengthDelimited(number: number, content: string | Uint8Array): Bytes {
  const bytes = Buffer.from(content as string);
  return Buffer.concat([tag(number, LENGTH_DELIMITED), varint(bytes.length), bytes]);
}

/** ScaledObjectRef: name 1, namespace 2, scalerMetadata 3 as entries of key 1 and value 2. */
export interface Ref {
  readonly name?: string;
  readonly namespace?: string;
  readonly metadata?: Record<string, string> | readonly (readonly [string, string])[];
}

export function encodeRef({ name, namespace, metadata = {} }: Ref): Bytes {
  const entries = Array.isArray(metadata) ? metadata : Object.entries(metadata);
  return Buffer.concat([
    name === undefined ? Buffer.alloc(0) : lengthDelimited(1, name),
    namespace === undefined ? Buffer.alloc(0) : lengthDelimited(2, namespace),
    ...(entries as [string, string][]).map(([key, value]) =>
      lengthDelimited(3, Buffer.concat([lengthDelimited(1, key), lengthDelimited(2, value)])),
    ),
  ]);
}

/** GetMetricsRequest: scaledObjectRef 1, metricName 2. */
export function encodeMetricsRequest(ref: Ref, metricName: string): Bytes {
  return Buffer.concat([lengthDelimited(1, encodeRef(ref)), lengthDelimited(2, metricName)]);
}

interface Field {
  readonly number: number;
  readonly value: bigint | number | Bytes;
}

function fields(bytes: Bytes): Field[] {
  const found: Field[] = [];
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) throw new RangeError("message ends inside a varint");
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
  };
  while (at < bytes.length) {
    const key = Number(readVarint());
    const number = key >> 3;
    if ((key & 7) === VARINT) found.push({ number, value: readVarint() });
    else if ((key & 7) === FIXED64) {
      found.push({ number, value: bytes.readDoubleLE(at) });
      at += 8;
    } else if ((key & 7) === LENGTH_DELIMITED) {
      const length = Number(readVarint());
      if (at + length > bytes.length) throw new RangeError("field reaches past its message");
      found.push({ number, value: bytes.subarray(at, at + length) });
      at += length;
    } else throw new RangeError(`wire type ${key & 7} is not in the contract`);
  }
  return found;
}

/** A metric as MetricSpec and MetricValue carry it: name 1, int64 2, double 3. */
export interface WireMetric {
  readonly metricName: string;
  readonly int: number;
  readonly float: number;
}

/** GetMetricSpecResponse.metricSpecs 1 and GetMetricsResponse.metricValues 1. */
export function decodeMetrics(bytes: Bytes): WireMetric[] {
  return fields(bytes)
    .filter(({ number }) => number === 1)
    .map(({ value }) => {
      const metric = { metricName: "", int: 0, float: 0 };
      for (const field of fields(value as Bytes)) {
        if (field.number === 1) metric.metricName = (field.value as Bytes).toString("utf8");
        if (field.number === 2) metric.int = Number(field.value);
        if (field.number === 3) metric.float = Number(field.value);
      }
      return metric;
    });
}

/** IsActiveResponse: result 1. */
export function decodeIsActive(bytes: Bytes): boolean {
  return fields(bytes).some(({ number, value }) => number === 1 && value !== 0n);
}
