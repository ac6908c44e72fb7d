import type { Command } from "commander";
import { z } from "zod";
import type { EndpointClient } from "@tradewind/core/endpoint/client.ts";
import { accessOf, addAccessFlags, asking } from "@tradewind/core/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/endpoint/own-process.ts";
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

const Decisions = z.object({ decisions: z.array(DecisionRecord) });

interface Flags extends AccessFlags {
  readonly scaler: string;
  readonly service?: string;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Show what is recommended now, and which decision set it.")
    .option("--scaler <url>", "address of the scaler", "http://127.0.0.1:9812")
    .option("--service <name>", "only this service, with the decisions that changed its size");
  addAccessFlags(command, "the scaler")
    .option("--json", "print the answer of /v1/recommendations instead of text", false)
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const exporter = { name: "scaler" as const, url: flags.scaler, flag: "--scaler" };
      process.stdout.write(await asking(exporter, accessOf(flags), async (client) => show(flags, client)));
    });
}

async function show({ json, service }: Flags, client: EndpointClient): Promise<string> {
  const list = await client.json({ path: "v1/recommendations" }, RecommendationList);
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
    const query = { namespace, service: service ?? "" };
    const { decisions } = await client.json({ path: "v1/decisions", query }, Decisions);
    texts.push(decisionsInWords(decisions));
  }
  return texts.join("\n");
}
