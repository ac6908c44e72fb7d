import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { z } from "zod";
import { parseJsonWith, parseWith } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer, printJson } from "@tradewind/core/terminal/answer.ts";
import type { JsonFlag } from "@tradewind/core/terminal/answer.ts";
import { exported, ExportedRow } from "../keep/journal/exported.ts";
import { verifyChain } from "../keep/journal/chain.ts";
import type { ChainProblem, ChainVerdict } from "../keep/journal/chain.ts";

const EXAMPLES = `
Examples:
  $ tradewind audit export --state /var/lib/tradewind > audit.jsonl
  $ tradewind audit verify --state /var/lib/tradewind
  $ tradewind audit verify --state /var/lib/tradewind --seq 812 --head 6f1c…
  $ tradewind audit verify --file audit.jsonl --seq 812 --head 6f1c…
  $ tradewind audit export --state ./state | jq -r '.row | fromjson | select(.service == "search")'
  $ tradewind audit export --state ./state | jq -c 'select(.reason) | {reason: .reason.text, outcome: .outcome.text}'

Each line has a row and the SHA-256 of the hash before it and of the row. Beside the row of a decision stand its reason, which is in the
row too, and the outcome that a row three windows later says. A trail that was written again from the start, or lost
its end, follows from itself all the same: give --head and --seq, which the scaler's log says every hour.

${exitCodes("done", "the trail is broken or cannot be read")}`;

/** Adds description, options and actions to its command. */
export function configure(command: Command): void {
  command.description("Print or check the audit trail of a scaler.").addHelpText("after", EXAMPLES);
  command
    .command("export")
    .description("print all rows as JSON lines, oldest first")
    .requiredOption(
      "--state <dir>",
      "the scaler's state directory, or that of tradewind local; it may be running",
    )
    .action(async ({ state }: { readonly state: string }) => {
      const { openTrail } = await import("../keep/journal/journal.ts");
      using trail = openTrail(state);
      for (const row of exported(() => trail.rows())) printJson(row);
    });
  addJsonFlag(command.command("verify"))
    .description(
      "check that every row follows from the one before it, and the changes in force from the rows",
    )
    .option("--state <dir>", "the scaler's state directory, or that of tradewind local; it may be running")
    .option("--file <file>", "rows that 'export' printed; the changes in force are not in it")
    .option("--head <hash>", "hash that was noted elsewhere: the trail must contain its row")
    .option("--seq <number>", "number of that row")
    .action(async (flags: VerifyFlags) => {
      const verdict = sound(await verdictOf(flags));
      printAnswer({ json: verdict, text: () => inWords(verdict) }, flags.json);
    });
}

interface VerifyFlags extends JsonFlag {
  readonly state?: string;
  readonly file?: string;
  readonly head?: string;
  readonly seq?: string;
}

const Noted = z.object({
  seq: z.coerce.number().int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hex digits"),
});

async function verdictOf({ file, head, seq, state }: VerifyFlags): Promise<ChainVerdict> {
  if ((file === undefined) === (state === undefined)) {
    throw new TradewindError("invalid-input", "give either --state or --file");
  }
  if ((head === undefined) !== (seq === undefined)) {
    throw new TradewindError("invalid-input", "give both --head and --seq, or neither");
  }
  const noted = head === undefined ? undefined : parseWith(Noted, { seq, hash: head }, "--head and --seq");
  if (state !== undefined) {
    const { openTrail } = await import("../keep/journal/journal.ts");
    using trail = openTrail(state);
    return verifyChain(trail.rows(), { noted, changes: trail.changes() });
  }
  const rows: ExportedRow[] = [];
  for await (const line of createInterface({ input: createReadStream(file ?? "") })) {
    if (line !== "") rows.push(parseJsonWith(ExportedRow, line, `line ${rows.length + 1} of ${file}`));
  }
  if (rows.length === 0) {
    throw new TradewindError("audit-broken", `${file} has no rows: it is cut off, or empty`);
  }
  const verdict = verifyChain(rows, { noted });
  for (const [index, row] of [...exported(() => rows)].entries()) {
    const said = rows[index];
    const isSaid = said?.reason !== undefined || said?.outcome !== undefined;
    if (isSaid && !isDeepStrictEqual({ ...said }, row))
      return { ...verdict, problem: { code: "broken", seq: row.seq } };
  }
  return verdict;
}

/** @throws TradewindError `audit-broken` */
function sound(verdict: ChainVerdict): ChainVerdict {
  if (verdict.problem === undefined) return verdict;
  throw new TradewindError("audit-broken", problemInWords(verdict.problem, verdict));
}

function problemInWords(problem: ChainProblem, { lastSeq, leftOut }: ChainVerdict): string {
  switch (problem.code) {
    case "broken":
      return `row ${problem.seq} does not follow from those before it: it was changed, or rows before it were left out; the rows up to ${lastSeq} are sound`;
    case "rows-missing":
      return `the rows before ${problem.seq} are missing, and no row says why; rows of an earlier release are taken over when this release's scaler starts on them`;
    case "head-missing":
      return `row ${problem.seq} of the head is not in the trail, whose last row is ${lastSeq}: rows were removed or written again`;
    case "head-left-out":
      return `row ${problem.seq} of the head is not kept any more (${leftOutInWords(leftOut)}); give a newer head`;
    case "change-differs":
      return `change ${problem.change} is not as the trail says: it was written beside it`;
    case "change-missing":
    default:
      return `change ${problem.change} is in force by the trail, and is missing`;
  }
}

/** `12 rows follow from one another, 7 to 18; rows 1 to 6 were left out …; head 6f1c…` */
function inWords({ firstSeq, head, lastSeq, leftOut, rows }: ChainVerdict): string {
  const which = rows === 0 ? "" : `, ${firstSeq} to ${lastSeq}`;
  const why = leftOut === undefined ? "" : `; ${leftOutInWords(leftOut)}`;
  return `${rows} rows follow from one another${which}${why}; head ${head}`;
}

const WHY = {
  age: "older than rows are kept",
  count: "more rows than are kept",
  upgrade: "by an earlier release, which wrote no reason",
} as const;

function leftOutInWords(leftOut: ChainVerdict["leftOut"]): string {
  if (leftOut === undefined) return "";
  const { atMs, untilSeq, why } = leftOut;
  return `rows 1 to ${untilSeq} were left out at ${new Date(atMs).toISOString()}: ${WHY[why]}`;
}
