import { userInfo } from "node:os";
import type { Command } from "commander";
import { Change, ChangeList } from "@tradewind/core/contract/change.ts";
import { accessOf, addAccessFlags, asking } from "@tradewind/core/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/endpoint/own-process.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";

const EXAMPLES = `
Examples:
  $ tradewind approve                                            changes that wait, and those of the last day
  $ tradewind approve 3f9a2b77c1 --token-file token
  $ tradewind approve 3f9a2b77c1 --token-file token --at 2026-03-02T08:45:00+01:00
  $ tradewind approve 3f9a2b77c1 --token-file token --refuse
  $ tradewind approve 3f9a2b77c1 --token-file token --scaler http://10.0.0.7:9812,http://10.0.0.8:9812
  $ kubectl annotate application hotel tradewind.dev/approve=3f9a2b77c1 --overwrite

An approval counts until its change expires. Each scaler decides for itself: give all of them, or annotate the Application.

Exit codes: 0 done, 1 no scaler took it.`;

interface Flags extends AccessFlags {
  readonly scaler: string;
  readonly refuse: boolean;
  readonly at?: string;
  readonly by: string;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("List changes that wait for a person, approve one, or refuse it.")
    .argument("[id]", "id of the change")
    .option("--scaler <urls>", "addresses of the scalers, separated by commas", "http://127.0.0.1:9812")
    .option("--refuse", "refuse it instead", false)
    .option("--at <time>", "carry it out no sooner, RFC 3339, at most a day ahead")
    .option("--by <name>", "who decides, for the audit trail", userInfo().username);
  addAccessFlags(command, "the scalers")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string | undefined, flags: Flags) => {
      process.stdout.write(await (id === undefined ? listed(flags) : decided(id, flags)));
    });
}

const addressesOf = ({ scaler }: Flags): string[] => scaler.split(",").map((each) => each.trim());
const scalerAt = (url: string) => ({ name: "scaler" as const, url, flag: "--scaler" });

async function listed(flags: Flags): Promise<string> {
  const all = new Map<string, Change>();
  for (const url of addressesOf(flags)) {
    const { changes } = await asking(scalerAt(url), accessOf(flags), async (client) =>
      client.json({ path: "v1/changes" }, ChangeList),
    );
    for (const change of changes) all.set(change.id, change);
  }
  const lines = [...all.values()].map((change) => `${changeInWords(change)}\n`);
  return lines.length === 0 ? "No change waits for a person.\n" : lines.join("");
}

async function decided(id: string, flags: Flags): Promise<string> {
  const { at, by, refuse } = flags;
  const query = { verdict: refuse ? "refuse" : "approve", by, ...(at !== undefined && { at }) };
  const path = `v1/changes/${encodeURIComponent(id)}`;
  const lines: string[] = [];
  const problems: string[] = [];
  for (const url of addressesOf(flags)) {
    try {
      const change = await asking(scalerAt(url), accessOf(flags), async (client) =>
        client.json({ path, query, asForm: true }, Change),
      );
      lines.push(`${changeInWords(change)}\n`);
    } catch (error) {
      problems.push(describeError(error));
    }
  }
  if (lines.length === 0) throw new TradewindError("not-taken", problems.join("; "));
  return [...lines, ...problems.map((each) => `not taken: ${each}\n`)].join("");
}

function changeInWords(change: Change): string {
  const { by, expiresMs, fromReplicas, id, namespace, notBeforeMs, service, state, toReplicas } = change;
  const until = state === "awaiting" || state === "approved" ? ` until ${time(expiresMs)}` : "";
  const from = notBeforeMs === undefined ? "" : `, from ${time(notBeforeMs)}`;
  const who = by === undefined ? "" : ` by ${by}`;
  return `${id}  ${service} (${namespace}) ${fromReplicas} → ${toReplicas} replicas: ${state}${who}${from}${until}`;
}

const time = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
