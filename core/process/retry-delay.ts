import type { Rng } from "../values/rng.ts";

export interface RetryDelays {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const DEFAULT_RETRY_DELAYS: RetryDelays = { firstMs: 200, maxMs: 10_000 };

/**
 * Wait before attempt `attempt + 1`: exponential with full jitter, uniform in [0, min(max, first · 2^(attempt − 1))].
 * What the server asked for in `Retry-After` is a lower bound, up to ten times `maxMs`.
 */
export function retryDelayMs(
  attempt: number,
  retryAfterMs: number | undefined,
  delays: RetryDelays,
  rng: Rng,
): number {
  const ceiling = Math.min(delays.maxMs, delays.firstMs * 2 ** Math.min(30, Math.max(0, attempt - 1)));
  const jittered = rng() * ceiling;
  if (retryAfterMs === undefined) return jittered;
  return Math.min(retryAfterMs, delays.maxMs * 10) + jittered;
}

/** `Retry-After` as a number of seconds or an HTTP date (RFC 9110 §10.2.3); undefined when it is neither. */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
