import type { Command } from "commander";
import { z } from "zod";
import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { accessOf, addAccessFlags, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { DecisionRecord, RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Answer } from "@tradewind/core/terminal/answer.ts";
import { decisionsInWords, serviceStatusInWords, statusInWords } from "../serve/api/in-words.ts";

const EXAMPLES = `
Examples:
  $ tradewind status
  $ tradewind status --scaler http://127.0.0.1:9812 --service search
  $ tradewind status --json | jq '.recommendations[] | {service, replicas, setBy}'

Changes are listed newest first: of each service the newest decision that changed a size, with the reason it had then. With
--service: what the newest decision says now, and every kept decision that changed a size of that service.

${exitCodes("shown", "no answer")}`;

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
  addJsonFlag(addAccessFlags(command, "the scaler"), "the answer of /v1/recommendations")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const exporter = { name: "scaler" as const, url: flags.scaler, flag: "--scaler" };
      const answer = await asking(exporter, accessOf(flags), async (client) => shown(flags, client));
      printAnswer(answer, flags.json);
    });
}

async function shown({ service }: Flags, client: EndpointClient): Promise<Answer> {
  const list = await client.json({ path: "v1/recommendations" }, RecommendationList);
  const recommendations = list.recommendations.filter((each) => [undefined, each.service].includes(service));
  if (service !== undefined && recommendations.length === 0) {
    const known = list.recommendations.map((each) => each.service).slice(0, 20);
    throw new TradewindError(
      "unknown-service",
      `nothing is recommended for '${service}'; services: ${known.join(", ") || "none"}`,
    );
  }
  const json = { ...list, recommendations };
  if (service === undefined) return { json, text: (paint) => statusInWords(json, paint) };
  const histories: DecisionRecord[][] = [];
  for (const { namespace } of recommendations) {
    const { decisions } = await client.json(
      { path: "v1/decisions", query: { namespace, service } },
      Decisions,
    );
    histories.push(decisions);
  }
  const text: Answer["text"] = (paint) =>
    [serviceStatusInWords(json, paint), ...histories.map((each) => decisionsInWords(each))].join("\n\n");
  return { json, text };
}
