import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

export const dataDirectory = (): string => process.env["TRADEWIND_DATA"] ?? join("..", "shared", "data");

/**
 * Rows of a gzip-compressed CSV without quotes, by column name.
 * @throws Error naming the path when the file is not there
 */
export function readCsv(...path: string[]): Record<string, string>[] {
  const file = join(dataDirectory(), ...path);
  if (!existsSync(file)) throw new Error(`${file} is not there; set TRADEWIND_DATA to the data folder`);
  const [header = "", ...lines] = gunzipSync(readFileSync(file)).toString("utf8").trim().split(/\r?\n/);
  const names = header.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    return Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ""]));
  });
}

/** A cell as a number; NaN where it is empty. */
export const numberIn = (row: Record<string, string>, name: string): number => {
  const cell = row[name] ?? "";
  return cell === "" ? Number.NaN : Number(cell);
};
