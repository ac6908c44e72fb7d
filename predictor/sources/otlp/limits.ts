import type { PartLimits } from "./part-count.ts";

/** What a receiver accepts at most. */
export interface ReceiverLimits extends PartLimits {
  /** Body as sent, when it is compressed. */
  readonly maxCompressedBytes: number;
  /** Body as sent uncompressed, or after decompression. */
  readonly maxBodyBytes: number;
  /** Message over gRPC, compressed or not; 4 MiB is what gRPC libraries expect of each other. */
  readonly maxMessageBytes: number;
  /** Bodies being received or decoded at once, in bytes; beyond it senders are told to come back later. */
  readonly maxBufferedBytes: number;
  readonly maxConcurrentRequests: number;
  readonly maxConnections: number;
  /** From the first byte of a request to its last; slower senders are cut off. */
  readonly requestTimeoutMs: number;
  /** What overloaded senders are told to wait. */
  readonly retryAfterSeconds: number;
}

export const DEFAULT_RECEIVER_LIMITS: ReceiverLimits = {
  maxCompressedBytes: 4 * 1024 * 1024,
  maxBodyBytes: 16 * 1024 * 1024,
  maxMessageBytes: 4 * 1024 * 1024,
  maxSpans: 100_000,
  maxParts: 500_000,
  maxSkipped: 2_000_000,
  maxBufferedBytes: 128 * 1024 * 1024,
  maxConcurrentRequests: 64,
  maxConnections: 1_000,
  requestTimeoutMs: 10_000,
  retryAfterSeconds: 2,
};
