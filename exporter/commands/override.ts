import { randomBytes } from "node:crypto";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { OverrideList, targetText } from "@tradewind/core/contract/override.ts";
import type { ListedOverride, OverrideKind } from "@tradewind/core/contract/override.ts";
import { addAccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Answer } from "@tradewind/core/terminal/answer.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { parseQuantity } from "@tradewind/kubernetes/objects/quantity.ts";
import { askAll, tellAll } from "./scalers.ts";
import type { ScalerFlags } from "./scalers.ts";

type Verb = OverrideKind | "release";

const DESCRIPTIONS = {
  pause: "Leave a service, an application or everything alone: KEDA is answered the current replica count.",
  hold: "Keep a service, an application or everything exactly as it is, or at the sizes that are named.",
  floor: "Keep at least this many replicas, whatever the plan says.",
  undo: "Go back to the sizes before the last change, and hold them.",
  release: "End an override before its time; the plan decides again.",
} as const satisfies Record<Verb, string>;

const EXAMPLES = {
  pause: [
    "pause checkout --reason 'bad deploy' --token-file token",
    "pause --all --for 2h --reason 'network change' --token-file token",
  ],
  hold: [
    "hold checkout --reason 'watching it' --token-file token",
    "hold checkout --replicas 6 --cpu 500m --for 1h --reason 'load test' --token-file token",
  ],
  floor: ["floor checkout --replicas 4 --for 12h --reason 'campaign until tonight' --token-file token"],
  undo: [
    "undo checkout --reason 'slower since 14:03' --token-file token",
    "undo hotel --namespace shop --reason 'slower since the last plan' --token-file token",
  ],
  release: [
    "release                                              what is in force, and what ended within a day",
    "release checkout --token-file token",
  ],
} as const satisfies Record<Verb, readonly string[]>;

const help = (verb: Verb): string => `
Examples:
${EXAMPLES[verb].map((each) => `  $ tradewind ${each}`).join("\n")}

The name is of a service, else of an application. The nearest override counts: of the service, its application, its
namespace, everything; of two on the same the newer. Bounds, quotas and disruption budgets still hold. Who ordered it
is the name of the token, which needs the scope 'override'. Give all scalers, or use kubectl tradewind, which does.

${exitCodes("done", "no scaler took it")}`;

interface Flags extends ScalerFlags {
  readonly all: boolean;
  readonly namespace?: string;
  readonly application?: string;
  readonly for?: number;
  readonly until?: string;
  readonly reason?: string;
  readonly replicas?: number;
  readonly cpu?: number;
  readonly memory?: number;
  readonly json: boolean;
}

/** What adds description, options and action to the command of a verb. */
export function configureFor(verb: Verb): (command: Command) => void {
  return (command) => {
    command
      .description(DESCRIPTIONS[verb])
      .argument("[name]", "service or application")
      .option("--all", "everything; with --namespace or --application all of it", false)
      .option("--namespace <name>", "of the service or application, where several have its name")
      .option("--application <name>", "of the service, where several have its name")
      .option("--scaler <urls>", "addresses of the scalers, separated by commas", "http://127.0.0.1:9812");
    if (verb !== "release")
      command
        .option("--for <duration>", "how long, at most 24h", duration, 1_800)
        .addOption(new Option("--until <time>", "until when instead, RFC 3339").conflicts("for"))
        .requiredOption("--reason <text>", "why, for those who read it at the service");
    if (verb === "hold" || verb === "floor")
      command.option("--replicas <number>", "this many (default: as many as there are)", count);
    if (verb === "hold")
      command
        .option("--cpu <cores>", "of each container, for example 0.5 or 500m", quantity)
        .option("--memory <bytes>", "of each container, for example 256Mi", quantity);
    addJsonFlag(addAccessFlags(command, "the scalers"), "one JSON object with the overrides")
      .addHelpText("after", help(verb))
      .action(async (name: string | undefined, flags: Flags) => {
        const isNamed = name !== undefined || flags.all;
        if (!isNamed && verb !== "release")
          throw new TradewindError("invalid-input", "name a service or an application, or write --all");
        if (name !== undefined && flags.all)
          throw new TradewindError("invalid-input", "write a name or --all, not both");
        printAnswer(await (isNamed ? ordered(verb, name, flags) : listed(flags)), flags.json);
      });
  };
}

function duration(text: string): number {
  try {
    return parseDurationSeconds(text);
  } catch (error) {
    throw new InvalidArgumentError(describeError(error));
  }
}

function quantity(text: string): number {
  try {
    return parseQuantity(text);
  } catch (error) {
    throw new InvalidArgumentError(describeError(error));
  }
}

function count(text: string): number {
  const value = Number(text);
  if (/^\d{1,6}$/.test(text)) return value;
  throw new InvalidArgumentError("write a whole number, 0 or more");
}

async function listed(flags: Flags): Promise<Answer> {
  const lists = await askAll(flags, async (client) => client.json({ path: "v1/overrides" }, OverrideList));
  const all = new Map(lists.flatMap(({ overrides }) => overrides).map((each) => [each.id, each]));
  return answerOf([...all.values()]);
}

async function ordered(verb: Verb, name: string | undefined, flags: Flags): Promise<Answer> {
  const { application, cpu, for: forSeconds, memory, namespace, reason, replicas, until } = flags;
  const words = {
    id: randomBytes(5).toString("hex"),
    kind: verb,
    name,
    application,
    namespace,
    reason,
    until,
    replicas,
    cpuCores: cpu,
    memoryBytes: memory,
    forSeconds: until === undefined ? forSeconds : undefined,
  };
  const query = Object.fromEntries(
    Object.entries(words).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
  );
  const { problems, replies } = await tellAll(flags, async (client) =>
    client.json({ path: "v1/overrides", query, asForm: true }, OverrideList),
  );
  const taken = replies.flatMap(({ overrides }) => overrides);
  return answerOf(taken, problems);
}

const COLUMNS = [{ title: "of" }, { title: "state" }, { title: "what" }];

/** @param problems scalers that did not take an order, and why */
function answerOf(overrides: readonly ListedOverride[], problems: readonly string[] = []): Answer {
  return {
    json: { overrides, ...(problems.length > 0 && { problems }) },
    text(paint) {
      if (overrides.length === 0) return "Nothing is overridden.";
      const rows = overrides.map(({ ended, target, text }) => [
        targetText(target),
        ended === undefined ? paint("yellow", "in force") : paint("dim", ended.how),
        text,
      ]);
      const notes = new Set(overrides.flatMap((each) => each.notes ?? []));
      return [
        renderTable(COLUMNS, rows, paint),
        ...[...notes].map((each) => paint("yellow", each)),
        ...problems.map((each) => `not taken: ${each}`),
      ].join("\n");
    },
  };
}
