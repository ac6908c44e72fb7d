import protobuf from "protobufjs";

/** Remote write 1.0 (prometheus/prompb), as far as tests need it: samples and native histograms. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message WriteRequest { repeated TimeSeries timeseries = 1; }
  message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; repeated Histogram histograms = 4; }
  message Label { string name = 1; string value = 2; }
  message Sample { double value = 1; int64 timestamp = 2; }
  message BucketSpan { sint32 offset = 1; uint32 length = 2; }
  message Histogram {
    uint64 count_int = 1; double sum = 3; sint32 schema = 4; double zero_threshold = 5; uint64 zero_count_int = 6;
    repeated BucketSpan positive_spans = 11; repeated sint64 positive_deltas = 12; int64 timestamp = 15;
  }
`);
const WriteRequest = root.lookupType("WriteRequest");

export interface NativeSample {
  readonly timestamp: number;
  readonly countInt: number;
  readonly sum: number;
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCountInt: number;
  readonly positiveSpans: readonly { readonly offset: number; readonly length: number }[];
  /** Count of each bucket less that of the one before. */
  readonly positiveDeltas: readonly number[];
}

export interface PushedSeries {
  readonly labels: Readonly<Record<string, string>>;
  /** [ms, value] by rising time. */
  readonly samples?: readonly (readonly [number, number])[];
  readonly histograms?: readonly NativeSample[];
}

/** Pushes series to a server's remote-write address. @throws Error with the server's words when it refuses */
export async function push(url: string, series: readonly PushedSeries[]): Promise<void> {
  const message = {
    timeseries: series.map(({ labels, samples = [], histograms = [] }) => ({
      labels: Object.entries(labels)
        .map(([name, value]) => ({ name, value }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
      samples: samples.map(([timestamp, value]) => ({ timestamp, value })),
      histograms,
    })),
  };
  const response = await fetch(`${url}/api/v1/write`, {
    method: "POST",
    headers: { "content-encoding": "snappy", "content-type": "application/x-protobuf" },
    body: snappy(WriteRequest.encode(message).finish()),
  });
  if (!response.ok) throw new Error(`push answered ${response.status}: ${await response.text()}`);
}

/** The block format of Snappy with nothing but literals: valid, and not smaller. */
function snappy(raw: Uint8Array): Buffer {
  const parts: Uint8Array[] = [varint(raw.length)];
  for (let at = 0; at < raw.length; at += 65_536) {
    const literal = raw.subarray(at, at + 65_536);
    const last = literal.length - 1;
    parts.push(Uint8Array.of(61 << 2, last & 0xff, last >> 8), literal);
  }
  return Buffer.concat(parts);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
