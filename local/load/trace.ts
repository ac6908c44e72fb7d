import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { TradewindError } from "@tradewind/core/values/errors.ts";

/** Requests per second, one value for each of as many equal parts of the run. */
export type RateTrace = readonly number[];

const MAX_VALUES = 100_000;
/** Far more than two cores can serve; a larger value is a mistake in the unit. */
const MAX_RATE = 5_000;

/**
 * Reads a trace: one number a line, requests per second. Empty lines and lines that start with `#` do not count.
 * @throws TradewindError `invalid-load` that names the line
 */
export function parseTrace(text: string, what: string): RateTrace {
  const trace: number[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const value = line.trim();
    if (value === "" || value.startsWith("#")) continue;
    const rate = Number(value);
    if (!Number.isFinite(rate) || rate < 0 || rate > MAX_RATE) {
      throw new TradewindError(
        "invalid-load",
        `${what}, line ${index + 1}: '${value.slice(0, 40)}' is not a rate; write requests per second, 0 to ${MAX_RATE}`,
      );
    }
    trace.push(rate);
    if (trace.length > MAX_VALUES) {
      throw new TradewindError("invalid-load", `${what} has more than ${MAX_VALUES} values`);
    }
  }
  if (!trace.some((rate) => rate > 0)) {
    throw new TradewindError(
      "invalid-load",
      `${what} holds no rate above 0; write one value a line, requests per second`,
    );
  }
  return trace;
}

/** @throws TradewindError `invalid-load` when the file cannot be read or does not parse */
export async function readTrace(path: string): Promise<RateTrace> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new TradewindError("invalid-load", `cannot read the load file ${path}`, { cause: error });
  }
  return parseTrace(text, path);
}

/** A trace that ships with the project, by the name of its file in this folder. */
export function shippedTrace(name: string): RateTrace {
  return parseTrace(readFileSync(new URL(name, import.meta.url), "utf8"), name);
}
