/** Conversions between the base units used everywhere inside (seconds, bytes, cores, ratios) and the units of the outside. */

export const secondsFromMillis = (millis: number): number => millis / 1e3;
export const secondsFromMicros = (micros: number): number => micros / 1e6;
export const secondsFromNanos = (nanos: number): number => nanos / 1e9;

const DURATION_UNIT_SECONDS = { ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400 } as const;

/**
 * A duration such as `150s`, `2m`, `500ms`, `1h` or a bare number of seconds.
 * @returns seconds, finite and not negative
 * @throws RangeError naming the text when it is none of these
 */
export function parseDurationSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  const unit = (match?.[2] ?? "s") as keyof typeof DURATION_UNIT_SECONDS;
  const seconds = Number(match?.[1]) * DURATION_UNIT_SECONDS[unit];
  if (match === null || !Number.isFinite(seconds)) {
    throw new RangeError(`'${text}' is not a duration; write for example 150s, 2m or 500ms`);
  }
  return seconds;
}

/**
 * A latency objective: a duration with its unit, since a bare 250 may be meant in milliseconds.
 * @returns seconds, above 0
 * @throws RangeError naming the text and what to write
 */
export function parseObjectiveSeconds(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text.trim().slice(0, 40)))
    throw new RangeError(`'${text.slice(0, 40)}' has no unit; write ${text.trim().slice(0, 40)}ms or 0.25s`);
  const seconds = parseDurationSeconds(text);
  if (seconds > 0) return seconds;
  throw new RangeError("must be longer than nothing");
}

const BINARY_STEPS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** Bytes for people: `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let step = 0;
  while (Math.abs(value) >= 1024 && step < BINARY_STEPS.length - 1) {
    value /= 1024;
    step += 1;
  }
  return `${step === 0 ? value.toFixed(0) : value.toFixed(1)} ${BINARY_STEPS[step] ?? "B"}`;
}
