import { Accuracy } from "@tradewind/core/contract/accuracy.ts";
import type { CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import { ApplicationContext } from "@tradewind/core/contract/context.ts";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer, printJson } from "@tradewind/core/terminal/answer.ts";
import { Option } from "commander";
import type { Command } from "commander";
import { Transcripts } from "@tradewind/core/contract/transcript.ts";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";
import { concerning, explanationInWords, isAbout } from "./in-words.ts";
import { accuracyInWords } from "./in-words.ts";
import { anonymised, causeOf, chatsOf, pairsOf, rewarded, scored, TRANSCRIPT_FORMS } from "./transcripts.ts";

const EXAMPLES = `
Examples:
  $ tradewind explain
  $ tradewind explain --service cart
  $ tradewind explain --at 10m
  $ tradewind explain --transcripts --at 10m --cause cart:C --anonymise >> transcripts.jsonl
  $ tradewind explain --at 10m --cause cart:C
      Tells the predictor what the cause was: it counts how often it is right.
  $ tradewind explain --ask
      Asks the language model that the predictor was started with, and waits for what it says.
  $ tradewind explain --accuracy
  $ tradewind explain --context | jq '.services[] | select(.unusual != [])'
  $ tradewind explain --json | jq '.causes[] | {service, type, confidence}'

How to read it:
  p95 412 ms, objective 300 ms. Cause: 'geo', CPU: share of throttled periods 62 % (before: 1 %), …
  Every value is of the window named, and of the windows before in which the objective was met. 'Run on the models'
  are changes that the live models were asked about: a size, or the service answering as fast as before. Without
  models (policy queue or reactive) there are none. Nothing is changed by asking.

${exitCodes("shown", "no answer")}`;

const MOST_ANSWER_SECONDS = 1_800;

interface Flags extends ApplicationFlags {
  readonly service?: string;
  readonly at?: number;
  readonly json: boolean;
  readonly accuracy: boolean;
  readonly ask: boolean;
  readonly context: boolean;
  readonly transcripts: boolean;
  readonly cause: readonly string[];
  readonly anonymise: boolean;
  readonly form: (typeof TRANSCRIPT_FORMS)[number];
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const described = command.description(
    "Say why the objective is missed: which service, which resource, on what evidence, and what would end it.",
  );
  addJsonFlag(addApplicationFlags(described), "the answer of /v1/explain")
    .option("--service <name>", "only what concerns this service")
    .option(
      "--at <time>",
      "what was explained then: an ISO time, or how long ago, for example 10m",
      timeArgument,
    )
    .option(
      "--context",
      "print all that is known of the application now, as JSON: the answer of /v1/context",
      false,
    )
    .option(
      "--transcripts",
      "print kept transcripts as JSON lines, for training and scores; with --at that one",
      false,
    )
    .option(
      "--cause <service:type>",
      "what the cause was: with --at kept as a judgement, with --transcripts a label that may be repeated",
      oneMore,
      [],
    )
    .option(
      "--accuracy",
      "how often named causes were right, and how well the self time of each service is known",
      false,
    )
    .option(
      "--ask",
      "ask the language model of the predictor about now, whether the objective is missed or not",
      false,
    )
    .addOption(
      new Option(
        "--form <form>",
        "of --transcripts: as they are, chats for tuning, or pairs of a better and a worse answer",
      )
        .choices(TRANSCRIPT_FORMS)
        .default("lines"),
    )
    .option("--anonymise", "with --transcripts, numbers instead of names", false)
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      if (flags.context) {
        const asked = { path: "v1/context", schema: ApplicationContext, absent: "no-context" };
        printJson(await askPredictor(flags, asked));
        return;
      }
      if (flags.accuracy) {
        const accuracy = await askPredictor(flags, {
          path: "v1/accuracy",
          schema: Accuracy,
          absent: "no-accuracy",
        });
        printAnswer({ json: accuracy, text: () => accuracyInWords(accuracy) }, flags.json);
        return;
      }
      if (flags.transcripts) {
        for (const line of await transcripts(flags)) printJson(line);
        return;
      }
      const { service } = flags;
      const whole =
        flags.cause.length > 0 ? await label(flags) : flags.ask ? await consult(flags) : await ask(flags);
      if (service !== undefined && !isAbout(whole, service)) {
        throw new TradewindError("no-such-service", `the explanation says nothing of '${service}'`);
      }
      const explanation = service === undefined ? whole : concerning(whole, service);
      const text = (): string => explanationInWords(explanation);
      printAnswer({ json: explanation, text }, flags.json);
    });
}

function oneMore(text: string, before: readonly string[]): string[] {
  return [...before, text];
}

async function transcripts({ anonymise, at, cause, form, ...flags }: Flags): Promise<readonly object[]> {
  const asked = { path: "v1/transcripts", schema: Transcripts, absent: "no-transcripts" };
  const { transcripts: all } = await askPredictor(flags, asked);
  const nearest =
    at === undefined
      ? all
      : all.toSorted((a, b) => Math.abs(a.atMs - at) - Math.abs(b.atMs - at)).slice(0, 1);
  const labelled = cause.length === 0 ? nearest.map(rewarded) : nearest.map((line) => scored(line, cause));
  const lines = anonymise ? anonymised(labelled) : labelled;
  return { lines: (): readonly object[] => lines, chat: () => chatsOf(lines), pairs: () => pairsOf(lines) }[
    form
  ]();
}

/** Tells the predictor what the cause of a missed objective was. @returns what it had named */
async function label({ at, cause, ...flags }: Flags): Promise<Explanation> {
  const [text = "", ...others] = cause;
  if (at === undefined || others.length > 0)
    throw new TradewindError("invalid-input", "--cause takes one cause and --at, or goes with --transcripts");
  const body: CauseLabel = { fromMs: at, toMs: at, ...causeOf(text), source: "operator" };
  return askPredictor(flags, { path: "v1/labels", body, schema: Explanation, absent: "no-explanation" });
}

/** A model may think for minutes: the predictor ends it in time. */
async function consult(flags: Flags): Promise<Explanation> {
  const timeout = Math.max(flags.timeout, MOST_ANSWER_SECONDS);
  const asked = { path: "v1/ask", body: {}, schema: Explanation, absent: "no-explanation" };
  return askPredictor({ ...flags, timeout }, asked);
}

async function ask({ at, ...flags }: Flags): Promise<Explanation> {
  const query = { at: at === undefined ? undefined : String(at) };
  return askPredictor(flags, { path: "v1/explain", query, schema: Explanation, absent: "no-explanation" });
}
