import { trimmedEnd } from "@tradewind/core/values/trimmed-end.ts";

const RANDOMNESS_BITS = 56;
const THRESHOLD_DIGITS = 14;
/** The largest number below 2^56. */
const MAX_THRESHOLD = 2 ** RANDOMNESS_BITS - 8;
/** Longer trace states are cut. */
export const MAX_TRACE_STATE = 512;

/**
 * How many requests a sampled span stands for, from the rejection threshold in a W3C trace state, for example
 * `ot=th:c;rv:1f…` (OpenTelemetry "TraceState: Probability Sampling", 56-bit threshold, trailing zeros left out):
 * 1 / (1 − T/2^56). Before it was the exponent of the probability: `ot=p:3;r:10` is 1 of 2^3.
 * @returns 1 to 2^56, or 0 when the trace state does not say
 */
export function adjustedCount(traceState: string): number {
  const members = traceState.slice(0, MAX_TRACE_STATE).split(",");
  const entry = members.map((member) => member.trim()).find((member) => member.startsWith("ot="));
  const fields = entry?.slice("ot=".length).split(";") ?? [];
  const valueOf = (name: string): string =>
    fields.find((field) => field.startsWith(name))?.slice(name.length) ?? "";
  const digits = valueOf("th:");
  if (digits === "") return byExponent(valueOf("p:"));
  if (digits.length > THRESHOLD_DIGITS || !/^[0-9a-f]+$/.test(digits)) return 0;
  const threshold = Number.parseInt(digits.padEnd(THRESHOLD_DIGITS, "0"), 16);
  // The largest threshold, 2^56 − 1, has more bits than a double and is rounded up to 2^56.
  return 1 / Math.max(2 ** -RANDOMNESS_BITS, 1 - threshold / 2 ** RANDOMNESS_BITS);
}

/** 63 is a probability of 0: it was kept for another reason. */
function byExponent(digits: string): number {
  if (digits.length > 2 || !/^[0-9]+$/.test(digits)) return 0;
  const exponent = Number(digits);
  return exponent > RANDOMNESS_BITS ? 0 : 2 ** exponent;
}

/** The shortest trace state whose {@link adjustedCount} is `count`, which is at least 1. */
export function traceStateOf(count: number): string {
  const threshold = Math.min(MAX_THRESHOLD, Math.round((1 - 1 / count) * 2 ** RANDOMNESS_BITS));
  const digits = threshold.toString(16).padStart(THRESHOLD_DIGITS, "0");
  return `ot=th:${trimmedEnd(digits, "0") || "0"}`;
}
