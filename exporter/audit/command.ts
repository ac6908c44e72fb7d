import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { AuditRow } from "@tradewind/core/contract/audit.ts";
import { parseJsonWith } from "@tradewind/core/config.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { addJsonFlag, exitCodes, printAnswer, printJson } from "@tradewind/core/terminal/answer.ts";
import type { JsonFlag } from "@tradewind/core/terminal/answer.ts";
import { FIRST_HASH, verifyChain } from "../journal/chain.ts";
import type { ChainVerdict } from "../journal/chain.ts";

const EXAMPLES = `
Examples:
  $ tradewind audit export --state /var/lib/tradewind > audit.jsonl
  $ tradewind audit verify --state /var/lib/tradewind
  $ tradewind audit verify --file audit.jsonl
  $ tradewind audit export --state ./state | jq -r '.row | fromjson | select(.service == "search")'

Each line has a row and the SHA-256 of the hash before it and of the row. Note the head that 'verify' prints: rows cut off at
the end show by nothing else.

${exitCodes("done", "the trail is broken or cannot be read")}`;

/** Adds description, options and actions to its command. */
export function configure(command: Command): void {
  command.description("Print or check the audit trail of a scaler.").addHelpText("after", EXAMPLES);
  command
    .command("export")
    .description("print all rows as JSON lines, oldest first")
    .requiredOption("--state <dir>", "the scaler's state directory; it may be running")
    .action(async ({ state }: { readonly state: string }) => {
      const { openTrail } = await import("../journal/journal.ts");
      using trail = openTrail(state);
      for (const row of trail.rows()) printJson(row);
    });
  addJsonFlag(command.command("verify"))
    .description("check that every row follows from the one before it")
    .option("--state <dir>", "the scaler's state directory; it may be running")
    .option("--file <file>", "rows that 'export' printed")
    .action(async (flags: JsonFlag & { readonly state?: string; readonly file?: string }) => {
      const { firstSeq, verdict } = await verdictOf(flags);
      const { head, rows } = unbroken(verdict);
      const unchecked =
        firstSeq === undefined ? "" : `; row ${firstSeq}, the first, has nothing to follow from`;
      const text = (): string => `${rows} rows follow from one another${unchecked}; head ${head}`;
      printAnswer({ json: { rows, head }, text }, flags.json);
    });
}

/** @returns with `firstSeq` where that row could not be checked: rows before it are left out of the file */
async function verdictOf({
  file,
  state,
}: {
  file?: string;
  state?: string;
}): Promise<{ readonly verdict: ChainVerdict; readonly firstSeq?: number }> {
  if ((file === undefined) === (state === undefined)) {
    throw new TradewindError("invalid-input", "give either --state or --file");
  }
  if (state !== undefined) {
    const { openTrail } = await import("../journal/journal.ts");
    using trail = openTrail(state);
    return { verdict: verifyChain(trail.rows(), trail.before) };
  }
  const rows: AuditRow[] = [];
  for await (const line of createInterface({ input: createReadStream(file ?? "") })) {
    if (line !== "") rows.push(parseJsonWith(AuditRow, line, `line ${rows.length + 1} of ${file}`));
  }
  const [first] = rows;
  if (first === undefined)
    throw new TradewindError("audit-broken", `${file} has no rows: it is cut off, or empty`);
  if (first.seq === 1) return { verdict: verifyChain(rows, FIRST_HASH) };
  return { verdict: verifyChain(rows.slice(1), first.hash), firstSeq: first.seq };
}

/** @throws TradewindError `audit-broken` */
function unbroken(verdict: ChainVerdict): ChainVerdict {
  const { brokenAt, rows } = verdict;
  if (brokenAt === undefined) return verdict;
  throw new TradewindError(
    "audit-broken",
    `row ${brokenAt} does not follow from those before it: it was changed, or rows before it were left out; ${rows} rows before it are sound`,
  );
}
