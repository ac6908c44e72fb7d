import { userInfo } from "node:os";
import type { Command } from "commander";
import { Change, ChangeList } from "@tradewind/core/contract/change.ts";
import { addAccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Answer } from "@tradewind/core/terminal/answer.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";
import { changeText, deciderText } from "@tradewind/core/contract/sentences.ts";
import { utcSeconds } from "@tradewind/core/values/amounts.ts";
import { askAll, tellAll } from "./scalers.ts";
import type { ScalerFlags } from "./scalers.ts";

const EXAMPLES = `
Examples:
  $ tradewind approve                                            changes that wait, and those of the last day
  $ tradewind approve 3f9a2b77c1 --token-file token
  $ tradewind approve 3f9a2b77c1 --token-file token --at 2026-03-02T08:45:00+01:00
  $ tradewind approve 3f9a2b77c1 --token-file token --refuse
  $ tradewind approve 3f9a2b77c1 --token-file token --scaler http://10.0.0.7:9812,http://10.0.0.8:9812
  $ kubectl annotate application hotel tradewind.dev/approve=3f9a2b77c1 --overwrite
  $ kubectl annotate application hotel tradewind.dev/refuse=3f9a2b77c1 --overwrite

An approval counts until its change expires. Who decided is the name of the token, which needs the scope
'approve'. Each scaler decides for itself: give all of them, or annotate the Application.

${exitCodes("done", "no scaler took it")}`;

/** Of whoever runs the command; a user without an entry in `/etc/passwd`, as in many containers, has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env["USER"] ?? "unknown";
  }
}

interface Flags extends ScalerFlags {
  readonly refuse: boolean;
  readonly at?: string;
  readonly by: string;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("List changes that wait for a person, approve one, or refuse it.")
    .argument("[id]", "id of the change")
    .option("--scaler <urls>", "addresses of the scalers, separated by commas", "http://127.0.0.1:9812")
    .option("--refuse", "refuse it instead", false)
    .option("--at <time>", "carry it out no sooner, RFC 3339, at most a day ahead")
    .option("--by <note>", "kept as a note beside the name of the token, which says who decides", userName());
  addJsonFlag(addAccessFlags(command, "the scalers"), "one JSON object with the changes")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string | undefined, flags: Flags) => {
      printAnswer(await (id === undefined ? listed(flags) : decided(id, flags)), flags.json);
    });
}

async function listed(flags: Flags): Promise<Answer> {
  const lists = await askAll(flags, async (client) => client.json({ path: "v1/changes" }, ChangeList));
  const all = new Map(lists.flatMap(({ changes }) => changes).map((change) => [change.id, change]));
  return changesAnswer([...all.values()]);
}

async function decided(id: string, flags: Flags): Promise<Answer> {
  const { at, by, refuse } = flags;
  const query = { verdict: refuse ? "refuse" : "approve", by, ...(at !== undefined && { at }) };
  const path = `v1/changes/${encodeURIComponent(id)}`;
  const { problems, replies } = await tellAll(flags, async (client) =>
    client.json({ path, query, asForm: true }, Change),
  );
  return changesAnswer(replies, problems);
}

const COLUMNS = [
  { title: "id" },
  { title: "service" },
  { title: "namespace" },
  { title: "change" },
  { title: "state" },
  { title: "when" },
];
const TONES = {
  awaiting: "yellow",
  approved: "green",
  refused: "red",
  expired: "dim",
  executed: "green",
  withdrawn: "dim",
} as const;

/** @param problems scalers that did not take a decision, and why */
function changesAnswer(changes: readonly Change[], problems: readonly string[] = []): Answer {
  return {
    json: { changes, ...(problems.length > 0 && { problems }) },
    text(paint) {
      if (changes.length === 0) return "No change waits for a person.";
      const rows = changes.map((change) => {
        const { id, namespace, service, state } = change;
        const decided = paint(TONES[state], `${state}${deciderText(change)}`);
        return [id, service, namespace, changeText(change), decided, whenOf(change)];
      });
      return [renderTable(COLUMNS, rows, paint), ...problems.map((each) => `not taken: ${each}`)].join("\n");
    },
  };
}

/** `from 2026-03-02T08:45:00Z until …`; when it was proposed where it is over. */
function whenOf({ expiresMs, kind, proposedAtMs, state, ...rest }: Change): string {
  const notBeforeMs = "notBeforeMs" in rest ? rest.notBeforeMs : undefined;
  if (kind === "calendar" && state === "approved") return "until the load needs it no longer";
  if (state !== "awaiting" && state !== "approved") return `proposed ${utcSeconds(proposedAtMs)}`;
  return `${notBeforeMs === undefined ? "" : `from ${utcSeconds(notBeforeMs)} `}until ${utcSeconds(expiresMs)}`;
}
