import { once } from "node:events";
import type { Writable } from "node:stream";
import { Option } from "commander";
import type { Command } from "commander";
import type { Window } from "@tradewind/core/contract/window.ts";
import { findHistory } from "../../store/history-file.ts";
import { CSV_COLUMNS, csvRow } from "./rows.ts";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";

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
  readonly application?: string;
}

/** Adds the export's description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Print the windows that the predictor has stored, oldest first, to standard output.")
    .requiredOption(
      "--state <dir>",
      "the predictor's state directory, or that of tradewind local; it may be running",
    )
    .addOption(new Option("--format <format>", "csv or jsonl").choices(FORMATS).default("csv"))
    .option("--from <time>", "begin: an ISO time, or how long ago, for example 12h or 2d", timeArgument)
    .option("--to <time>", "end, as --from", timeArgument)
    .option("--service <name>", "only this service")
    .option("--namespace <name>", "only this namespace")
    .option("--application <name>", "only this application, where the predictor has several")
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
  const { openHistory } = await import("../../store/read-history.ts");
  const { application, namespace } = flags;
  const place = { ...(application && { application }), ...(namespace && { namespace }) };
  using history = openHistory(findHistory(flags.state, place));
  const query = {
    fromMs: flags.from ?? 0,
    toMs: flags.to ?? Number.MAX_SAFE_INTEGER,
    service: flags.service,
    namespace: flags.namespace,
  };
  if (flags.format === "csv") await write(out, CSV_COLUMNS.join(","));
  let count = 0;
  for (const window of history.windows(query)) {
    await write(out, line(flags.format, window));
    count += 1;
  }
  return count;
}

function line(format: Flags["format"], window: Window): string {
  return format === "csv" ? csvRow(window) : JSON.stringify(window);
}

async function write(out: Writable, text: string): Promise<void> {
  if (!out.write(`${text}\n`)) await once(out, "drain");
}
