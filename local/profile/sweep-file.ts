import { appendFile, mkdir, readFile, truncate } from "node:fs/promises";
import { dirname } from "node:path";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { SweepRow } from "@tradewind/core/contract/sweep.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";

/** The growing result of a sweep. */
export interface SweepFile {
  readonly rows: readonly SweepRow[];
  /** Configurations that need not be measured again. */
  isFinished(id: string): boolean;
  /** All rows of one configuration, in one write. */
  append(rows: readonly SweepRow[]): Promise<void>;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new TradewindError("invalid-out", `cannot read ${path}`, { cause: error });
  }
}

/**
 * Opens or begins a sweep. A last line that was cut off by a crash is dropped.
 * @param resume goes on with an existing file; without it an existing one is refused
 * @throws TradewindError `invalid-out`, or `invalid-json`/`invalid-input` naming the line that is no row
 */
export async function openSweepFile(path: string, resume: boolean): Promise<SweepFile> {
  const text = (await readText(path)) ?? "";
  if (text !== "" && !resume) {
    throw new TradewindError(
      "invalid-out",
      `${path} holds a sweep already: continue it with --resume, or write another one with --out`,
    );
  }
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  const rows = whole
    .split("\n")
    .flatMap((line, index) =>
      line === "" ? [] : [parseJsonWith(SweepRow, line, `${path} line ${index + 1}`)],
    );
  if (whole !== text) await truncate(path, Buffer.byteLength(whole));
  await mkdir(dirname(path), { recursive: true });
  const finished = new Set(
    rows.filter(({ settled }) => settled).map(({ configuration }) => configuration.id),
  );
  return {
    rows,
    isFinished: (id) => finished.has(id),
    async append(more) {
      await appendFile(path, more.map((row) => `${JSON.stringify(row)}\n`).join(""));
      rows.push(...more);
      for (const { settled, configuration } of more) if (settled) finished.add(configuration.id);
    },
  };
}
