import type { Command } from "commander";
import { z } from "zod";
import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { accessOf, addAccessFlags, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { DecisionRecord, RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Answer } from "@tradewind/core/terminal/answer.ts";
import { applicationRefKey } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import { Fleet } from "@tradewind/core/contract/fleet.ts";
import { applicationsOf } from "../decide/course/fleet.ts";
import { fleetInWords } from "../serve/api/fleet-in-words.ts";
import { decisionsInWords, serviceStatusInWords, statusInWords } from "../serve/api/in-words.ts";

const EXAMPLES = `
Examples:
  $ tradewind status
  $ tradewind status --application hotel
  $ tradewind status --scaler http://127.0.0.1:9812 --service search
  $ tradewind status --json | jq '.recommendations[] | {service, replicas, setBy}'

Of several applications it shows one line each, the worst first; --application shows the services of one.

Changes are listed newest first: of each service the newest decision that changed a size, with the reason it had then. With
--service: what the newest decision says now, and every kept decision that changed a size of that service.

${exitCodes("shown", "no answer")}`;

const Decisions = z.object({ decisions: z.array(DecisionRecord) });

interface Flags extends AccessFlags {
  readonly scaler: string;
  readonly service?: string;
  readonly application?: string;
  readonly namespace?: string;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Show what is recommended now, and which decision set it.")
    .option("--scaler <url>", "address of the scaler", "http://127.0.0.1:9812")
    .option("--application <name>", "only this application, where there are several")
    .option("--namespace <name>", "only this namespace")
    .option("--service <name>", "only this service, with the decisions that changed its size");
  addJsonFlag(addAccessFlags(command, "the scaler"), "the answer of /v1/recommendations")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const exporter = { name: "scaler" as const, url: flags.scaler, flag: "--scaler" };
      const answer = await asking(exporter, accessOf(flags), async (client) => shown(flags, client));
      printAnswer(answer, flags.json);
    });
}

async function shown(flags: Flags, client: EndpointClient): Promise<Answer> {
  const { application, namespace, service } = flags;
  const all = await client.json({ path: "v1/recommendations" }, RecommendationList);
  const list = ofApplication(all, flags);
  const isNamed = application !== undefined || namespace !== undefined || service !== undefined;
  if (!isNamed && (list.applications?.length ?? 0) > 1) {
    const fleet = await client.json({ path: "v1/fleet" }, Fleet);
    return { json: list, text: (paint) => fleetInWords(fleet, list, paint) };
  }
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
  for (const each of recommendations) {
    const { decisions } = await client.json(
      { path: "v1/decisions", query: { namespace: each.namespace, service } },
      Decisions,
    );
    histories.push(decisions);
  }
  const text: Answer["text"] = (paint) =>
    [serviceStatusInWords(json, paint), ...histories.map((each) => decisionsInWords(each))].join("\n\n");
  return { json, text };
}

/** What is of one application or namespace. @throws TradewindError `unknown-application` */
function ofApplication(list: RecommendationList, { application, namespace }: Flags): RecommendationList {
  if (application === undefined && namespace === undefined) return list;
  const isAsked = (each: ApplicationRef): boolean =>
    each.application === (application ?? each.application) &&
    each.namespace === (namespace ?? each.namespace);
  const served = applicationsOf(list).map(({ name, namespace: of }) => ({
    application: name,
    namespace: of,
  }));
  if (!served.some(isAsked)) {
    const names = served.slice(0, 20).map(applicationRefKey).join(", ");
    const asked = [namespace, application].filter((part) => part !== undefined).join("/");
    throw new TradewindError(
      "unknown-application",
      `there is no application '${asked}'; applications: ${names}`,
    );
  }
  const applications = list.applications?.filter(({ name, namespace: of }) =>
    isAsked({ application: name, namespace: of }),
  );
  return {
    ...list,
    ...(applications && { applications }),
    recommendations: list.recommendations.filter(isAsked),
  };
}
