import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";

export type { Logger } from "pino";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** JSON lines on standard error, so that standard output stays free for results. Secrets are never passed to it. */
export function createLog(
  processName: string,
  level: LogLevel,
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Logger {
  return pino(
    { level, base: { process: processName }, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  );
}
