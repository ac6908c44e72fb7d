import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";

/**
 * What stored JSON mostly consists of: with it a window shrinks to about a quarter. Part of the format: a change needs
 * a new version of the schema.
 */
const DICTIONARY = Buffer.from(
  '"memoryCapacity":{"supported":true,"value":0."source":"others-share+psi+refaults"},"others-share+refaults"' +
    '"memoryBandwidth":{"supported":false},"network":{"supported":true,"source":"others-share+loss"}}' +
    '"interference":{"cpu":{"supported":true,"value":0."source":"others-share+psi+steal"},"others-share+steal"' +
    '"podName":"","node":"","cpuRequestCores":0."cpuLimitCores":1,"memoryRequestBytes":"memoryLimitBytes":' +
    '"cpuUsageCores":0."cpuThrottledRatio":0,"memoryWorkingSetBytes":"containers":[{"id":"' +
    '"callees":[{"callee":"","callsPerSecond":,"parallelRatio":0}],"ownLatencyDerived":true,"flow":"entryService":"' +
    '"inFlight":0."ownInFlight":0."responseLatency":{"count":,"meanSeconds":0.0,"p50Seconds":0.0,"p95Seconds":0.0' +
    '"p99Seconds":0.0},"ownLatency":{"count":"requestsPerSecond":,"errorRatio":0,"replicasReady":1,' +
    '"replicasWanted":1,"lastStartedAtMs":1,"startMs":1,"endMs":1,"namespace":"default","service":"',
  "utf8",
);

const MAX_UNPACKED_BYTES = 64 * 1_048_576;

export interface Packed {
  readonly body: Buffer;
  readonly checksum: number;
}

/** A value as compressed JSON and the CRC-32 of that. */
export function pack(value: unknown): Packed {
  const body = deflateRawSync(JSON.stringify(value), { dictionary: DICTIONARY, level: 4 });
  return { body, checksum: crc32(body) };
}

/** The value again; undefined when a bit of it has changed. */
export function unpack(body: unknown, checksum: unknown): unknown {
  if (!(body instanceof Uint8Array) || crc32(body) !== checksum) return undefined;
  try {
    const text = inflateRawSync(body, { dictionary: DICTIONARY, maxOutputLength: MAX_UNPACKED_BYTES });
    return JSON.parse(text.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}
