import { MAX_SENDER_WORK } from "@tradewind/core/net/sender-work.ts";
import type { PartLimits } from "./part-count.ts";
import type { SenderRateLimits } from "./sender-rates.ts";

/** What a receiver accepts at most. A sender is a remote address; behind a proxy or a mesh many clients share one. */
export interface ReceiverLimits extends PartLimits, SenderRateLimits {
  /** Body as sent, when it is compressed. */
  readonly maxCompressedBytes: number;
  /** Body as sent uncompressed, or after decompression. */
  readonly maxBodyBytes: number;
  /** Message over gRPC, compressed or not; 4 MiB is what gRPC libraries expect of each other. */
  readonly maxMessageBytes: number;
  /** Bodies being received or waiting to be decoded, in bytes, as they were sent. */
  readonly maxBufferedBytes: number;
  /** As `maxBufferedBytes`, of one sender. */
  readonly maxSenderBufferedBytes: number;
  readonly maxConcurrentRequests: number;
  /** As `maxConcurrentRequests`, of one sender. */
  readonly maxSenderRequests: number;
  /** As `maxSenderRequests`, over one gRPC connection. */
  readonly maxConnectionRequests: number;
  readonly maxConnections: number;
  /** As `maxConnections`, of one sender. */
  readonly maxSenderConnections: number;
  /** A connection without a request is ended after it. ms */
  readonly firstRequestMs: number;
  /** A request is refused when no byte of its body comes for so long, after its head or the byte before. ms */
  readonly bodyIdleMs: number;
  /** From the first byte of a request to its last, and again until it is decoded. ms */
  readonly requestTimeoutMs: number;
  /** How long a sender is to wait when the receiver is overloaded. */
  readonly retryAfterSeconds: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_RECEIVER_LIMITS: ReceiverLimits = {
  maxCompressedBytes: 4 * MIB,
  maxBodyBytes: 16 * MIB,
  maxMessageBytes: 4 * MIB,
  // Collectors send 8,192 spans at once, SDKs 512. So many cost half a second of CPU at most, all told.
  maxSpans: 50_000,
  maxParts: 300_000,
  maxSkipped: 2_000_000,
  // A collector that passes on the traces of a few hundred pods stays below. Measured: 35 % of a core at 66,000 spans/s.
  maxSenderSpansPerSecond: 50_000,
  maxSenderBytesPerSecond: 32 * MIB,
  maxSenderWork: MAX_SENDER_WORK,
  senderBurstSeconds: 4,
  maxBufferedBytes: 128 * MIB,
  maxSenderBufferedBytes: 32 * MIB,
  maxConcurrentRequests: 512,
  maxSenderRequests: 64,
  maxConnectionRequests: 32,
  maxConnections: 1_000,
  maxSenderConnections: 256,
  firstRequestMs: 20_000,
  bodyIdleMs: 3_000,
  requestTimeoutMs: 10_000,
  retryAfterSeconds: 2,
};
