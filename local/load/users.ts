import { TradewindError } from "@tradewind/core/values/errors.ts";
import { readFile } from "node:fs/promises";
import type { Flow } from "../application/topology.ts";

/** Shares of the users' types, one row for each of as many equal parts of the run. */
export type UserTrace = readonly (readonly number[])[];

const MAX_ROWS = 100_000;

/**
 * Reads how users come and go: one row a line, one share for each route of the application in its order, by spaces or commas. Empty
 * lines and lines that start with `#` do not count. Shares of a row need not add up to 1.
 * @throws TradewindError `invalid-load` that names the line
 */
export function parseUsers(text: string, what: string, flows: readonly Flow[]): UserTrace {
  const rows: number[][] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const row = line.trim();
    if (row === "" || row.startsWith("#")) continue;
    const shares = row.split(/[\s,]+/).map(Number);
    const isValid =
      shares.every((share) => Number.isFinite(share) && share >= 0) && shares.some((share) => share > 0);
    if (!isValid || shares.length !== flows.length || rows.length === MAX_ROWS) {
      const routes = flows.map(({ route }) => route).join(", ");
      throw new TradewindError(
        "invalid-load",
        `${what}, line ${index + 1}: '${row.slice(0, 40)}' are not ${flows.length} shares; write one for each of ${routes}`,
      );
    }
    rows.push(shares);
  }
  if (rows.length === 0) throw new TradewindError("invalid-load", `${what} holds no row of shares`);
  return rows;
}

/** @throws TradewindError `invalid-load` when the file cannot be read or does not parse */
export async function readUsers(path: string, flows: readonly Flow[]): Promise<UserTrace> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new TradewindError("invalid-load", `cannot read the users file ${path}`, { cause: error });
  }
  return parseUsers(text, path, flows);
}

/** The routes with their shares at a time of a run of that length, which begins again at its end. */
export function mixOf(
  trace: UserTrace,
  durationSeconds: number,
  flows: readonly Flow[],
): (atSeconds: number) => readonly Flow[] {
  const mixes = trace.map((shares) => flows.map(({ route }, at) => ({ route, share: shares[at] ?? 0 })));
  const partSeconds = durationSeconds / mixes.length;
  return (atSeconds) => mixes[Math.floor(atSeconds / partSeconds) % mixes.length] ?? flows;
}
