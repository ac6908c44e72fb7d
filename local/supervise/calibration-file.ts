import { readFile } from "node:fs/promises";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { replaceFile } from "@tradewind/core/process/state-file.ts";
import { Calibration } from "../application/work.ts";

/**
 * The calibration in a file, or where there is no such file a new one, which is then written there: runs that are to be
 * compared share it, so that a request is the same work in each of them.
 * @param path undefined measures for this run alone
 * @throws TradewindError `invalid-json` or `invalid-input` for what is no calibration, `calibration-file` when the file cannot be
 * read or written
 */
export async function sharedCalibration(
  path: string | undefined,
  measure: () => Calibration,
): Promise<Calibration> {
  if (path === undefined) return measure();
  const known = await textOf(path);
  if (known !== undefined) return parseJsonWith(Calibration, known, path);
  const measured = measure();
  try {
    await replaceFile(path, `${JSON.stringify(measured)}\n`);
  } catch (error) {
    throw failed("written", path, error);
  }
  return measured;
}

/** Undefined when there is no such file. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw failed("read", path, error);
  }
}

function failed(what: "read" | "written", path: string, cause: unknown): TradewindError {
  return new TradewindError("calibration-file", `the calibration could not be ${what}: ${path}`, { cause });
}
