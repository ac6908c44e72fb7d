import { once } from "node:events";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import type { Window } from "@tradewind/core/contract/window.ts";
import { parseDurationSeconds } from "@tradewind/core/units.ts";
import { HISTORY_FILE } from "../store/history-file.ts";
import { CSV_COLUMNS, csvRow } from "./rows.ts";

const EXAMPLES = `
Examples:
  $ tradewind export --state /var/lib/tradewind --format csv --from 2d > windows.csv
  $ tradewind export --state ./state --format jsonl --service cart --from 2026-08-01T00:00:00Z --to 2026-08-02T00:00:00Z

Every time comes in the finest resolution that is still kept. CSV sums containers up; JSONL has everything.`;

const FORMATS = ["csv", "jsonl"] as const;

interface Flags {
  readonly format: (typeof FORMATS)[number];
  readonly state: string;
  readonly from?: number;
  readonly to?: number;
  readonly service?: string;
  readonly namespace?: string;
}

/** Adds the export's description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Print the windows that the predictor has stored, oldest first, to standard output.")
    .requiredOption("--state <dir>", "the predictor's state directory; it may be running")
    .addOption(new Option("--format <format>", "csv or jsonl").choices(FORMATS).default("csv"))
    .option("--from <time>", "begin: an ISO time, or how long ago, for example 12h or 2d", time)
    .option("--to <time>", "end, as --from", time)
    .option("--service <name>", "only this service")
    .option("--namespace <name>", "only this namespace")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      // A reader such as head that closes early has what it wanted.
      process.stdout.on("error", (error: NodeJS.ErrnoException) =>
        process.exit(error.code === "EPIPE" ? 0 : 1),
      );
      await exportWindows(flags, process.stdout);
    });
}

/** Writes the windows and waits for the reader where it is slow. @throws TradewindError `no-store` */
export async function exportWindows(flags: Flags, out: Writable): Promise<number> {
  const { openStoreForReading } = await import("../store/database.ts");
  const { mergeByStart, withoutOverlap } = await import("../store/merge-order.ts");
  const tables = openStoreForReading(join(flags.state, HISTORY_FILE));
  try {
    const query = {
      fromMs: flags.from ?? 0,
      toMs: flags.to ?? Number.MAX_SAFE_INTEGER,
      service: flags.service,
      namespace: flags.namespace,
    };
    const streams = tables.resolutions("windows").map((resolution) => tables.windows(resolution, query));
    if (flags.format === "csv") await write(out, CSV_COLUMNS.join(","));
    let count = 0;
    for (const window of withoutOverlap(mergeByStart(streams))) {
      await write(out, line(flags.format, window));
      count += 1;
    }
    return count;
  } finally {
    tables.database.close();
  }
}

function line(format: Flags["format"], window: Window): string {
  return format === "csv" ? csvRow(window) : JSON.stringify(window);
}

async function write(out: Writable, text: string): Promise<void> {
  if (!out.write(`${text}\n`)) await once(out, "drain");
}

/** An ISO time or a time before now, ms since the epoch. */
function time(text: string): number {
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
