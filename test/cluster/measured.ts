import { appendFileSync } from "node:fs";

/** Names the file that takes measurements; without it nothing is kept. */
export const MEASURED_FILE = "TRADEWIND_CLUSTER_MEASURED";

/** Keeps one measured time for the person who runs the tests. Tests do not depend on it. */
export function measured(what: string, seconds: number): void {
  const file = process.env[MEASURED_FILE];
  if (file !== undefined) appendFileSync(file, `${seconds.toFixed(1).padStart(7)} s  ${what}\n`);
}
