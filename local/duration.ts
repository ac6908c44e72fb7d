import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { z } from "zod";

/** A duration on the command line, within bounds. @returns a schema from text to seconds */
export const duration = (
  minSeconds: number,
  maxSeconds: number,
  what: string,
  parseSeconds = parseDurationSeconds,
) =>
  z.string().transform((text, context) => {
    try {
      const seconds = parseSeconds(text);
      if (seconds >= minSeconds && seconds <= maxSeconds) return seconds;
      context.addIssue(`${what} must be between ${minSeconds} s and ${maxSeconds} s, not ${text}`);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : `${text} is not a duration`);
    }
    return z.NEVER;
  });
