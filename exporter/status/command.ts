import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { Agent, request } from "undici";
import { z } from "zod";
import { readJsonWith } from "@tradewind/core/config.ts";
import { DecisionRecord, RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { decisionsInWords, statusInWords } from "./in-words.ts";

const EXAMPLES = `
Examples:
  $ tradewind status
  $ tradewind status --scaler http://127.0.0.1:9812 --service search
  $ tradewind status --json | jq '.recommendations[] | {service, replicas, setBy}'

'last change' is the newest decision that changed a size of the service, with the reason it had then; 'now' is what the
newest decision says. With --service all decisions that are kept and changed a size follow.

Exit codes: 0 shown, 1 no answer, 2 not understood.`;

const MAX_BYTES = 256 * 2 ** 20;
const Decisions = z.object({ decisions: z.array(DecisionRecord) });
const Refusal = z.object({ message: z.string() });

interface Flags {
  readonly scaler: string;
  readonly service?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly timeout: number;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Show what is recommended now, and which decision set it.")
    .option("--scaler <url>", "address of the exporter", "http://127.0.0.1:9812")
    .option("--service <name>", "only this service, with the decisions that changed its size")
    .option("--token-file <file>", "token that the exporter asks for")
    .option("--ca-file <file>", "authority of its certificate, PEM")
    .option("--timeout <seconds>", "how long it may take", Number, 5)
    .option("--json", "print the answer of /v1/recommendations instead of text", false)
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      process.stdout.write(await show(flags));
    });
}

async function show(flags: Flags): Promise<string> {
  const { json, service } = flags;
  const list = await ask(flags, "v1/recommendations", RecommendationList);
  const recommendations = list.recommendations.filter((each) => [undefined, each.service].includes(service));
  if (service !== undefined && recommendations.length === 0) {
    const known = list.recommendations.map((each) => each.service).slice(0, 20);
    throw new TradewindError(
      "unknown-service",
      `nothing is recommended for '${service}'; services: ${known.join(", ") || "none"}`,
    );
  }
  if (json) return `${JSON.stringify({ ...list, recommendations })}\n`;
  const texts = [statusInWords({ ...list, recommendations })];
  for (const { namespace } of service === undefined ? [] : recommendations) {
    const query = new URLSearchParams({ namespace, service: service ?? "" }).toString();
    const { decisions } = await ask(flags, `v1/decisions?${query}`, Decisions);
    texts.push(decisionsInWords(decisions));
  }
  return texts.join("\n");
}

/** What sits between may answer a page instead of the exporter's words. */
function reasonIn(text: string): string {
  try {
    return readJsonWith(Refusal, text, "the refusal").message;
  } catch {
    return "it gives no reason";
  }
}

/** @throws TradewindError `invalid-url`, `no-answer` or `refused`, saying what to do */
async function ask<Schema extends z.ZodType>(
  { caFile, scaler, timeout, tokenFile }: Flags,
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  if (!/^https?:/.test(scaler) || !URL.canParse(scaler)) {
    throw new TradewindError("invalid-url", `--scaler ${scaler} is not an http:// or https:// address`);
  }
  const connect = caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") };
  const headers = tokenFile && { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };
  const dispatcher = new Agent({ connect, maxResponseSize: MAX_BYTES });
  try {
    const { body, statusCode } = await request(new URL(path, `${scaler.replace(/\/+$/, "")}/`), {
      dispatcher,
      ...(headers && { headers }),
      signal: AbortSignal.timeout(1e3 * timeout),
    });
    const text = await body.text();
    if (statusCode === 200) return readJsonWith(schema, text, `the answer of ${scaler}`);
    const said = reasonIn(text);
    throw new TradewindError("refused", `the exporter at ${scaler} answered ${statusCode}: ${said}`);
  } catch (error) {
    if (error instanceof TradewindError) throw error;
    throw new TradewindError(
      "no-answer",
      `no answer from the exporter at ${scaler}; start \`tradewind exporter\`, or correct --scaler`,
      { cause: error },
    );
  } finally {
    await dispatcher.close();
  }
}
