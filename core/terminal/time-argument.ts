import { InvalidArgumentError } from "commander";
import { parseDurationSeconds } from "../values/units.ts";

/** `14:03`, `14:03:20`, `yesterday 14:03`, and `yesterday` alone for this time of the day before */
const CLOCK = /^(yesterday )?([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;
const MOST_CHARACTERS = 40;

/**
 * A time, ms since the epoch: an ISO time, how long ago, or a time of day in the local zone. A time of day that is still to come today is
 * yesterday's.
 * @throws InvalidArgumentError that shows the forms
 */
export function timeArgument(text: string, _before?: unknown, nowMs = Date.now()): number {
  const isoMs = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(isoMs)) return isoMs;
  if (text.trim() === "yesterday") return new Date(nowMs).setDate(new Date(nowMs).getDate() - 1);
  const [clock, yesterday, hours, minutes, seconds = "0"] =
    CLOCK.exec(text.trim().slice(0, MOST_CHARACTERS)) ?? [];
  if (clock !== undefined) {
    const time = new Date(nowMs);
    time.setHours(Number(hours), Number(minutes), Number(seconds), 0);
    if (yesterday !== undefined || time.getTime() > nowMs) time.setDate(time.getDate() - 1);
    return time.getTime();
  }
  try {
    return nowMs - parseDurationSeconds(text) * 1_000;
  } catch {
    throw new InvalidArgumentError(
      "write a local time such as 14:03 or 'yesterday 14:03', an ISO time such as 2026-08-01T00:00:00Z, or a duration such as 2d",
    );
  }
}
