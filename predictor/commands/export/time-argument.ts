import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { InvalidArgumentError } from "commander";

/** An ISO time or a time before now, ms since the epoch. @throws InvalidArgumentError that shows both forms */
export function timeArgument(text: string): number {
  const atMs = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(atMs)) return atMs;
  try {
    return Date.now() - parseDurationSeconds(text) * 1_000;
  } catch {
    throw new InvalidArgumentError(
      "write an ISO time such as 2026-08-01T00:00:00Z, or a duration such as 2d",
    );
  }
}
