import type { Command } from "commander";
import { accessOf, addAccessFlags, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { EventList } from "@tradewind/core/contract/audit.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { eventText, rowText, sizeText } from "@tradewind/core/contract/sentences.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { scalerAt } from "./scalers.ts";

const EXAMPLES = `
Examples:
  $ tradewind why checkout
  $ tradewind why checkout --at 14:03
  $ tradewind why checkout --at 'yesterday 14:03'
  $ tradewind why checkout --at 2026-11-28T13:03:00Z --json | jq '.decisions[].decision.reason.facts'

Without --at: the last decision that changed the service, and what is recommended now. With --at: the change nearest to that time, with
those within a minute of it. Times are local. Each says what was measured, what was expected with and without it, its price, the best
size beside it, the guard step, and what was measured three windows later.

${exitCodes("shown", "no decision is known, or no answer")}`;

type DecisionEvent = Extract<AuditEvent, { kind: "decision" }>;
type OutcomeEvent = Extract<AuditEvent, { kind: "outcome" }>;

interface Flags extends AccessFlags {
  readonly scaler: string;
  readonly application?: string;
  readonly namespace?: string;
  readonly at?: number;
  readonly json: boolean;
}

/** Changes so close to the one asked for are shown with it. */
const NEAR_MS = 60_000;
/** A change farther from the time that was asked for is not the one that was meant. ms */
const FAR_MS = 900_000;

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Say why a service changed: measured, expected, price, alternative, guard, outcome.")
    .argument("<service>", "name of the service")
    .option(
      "--at <time>",
      "the change nearest to a time: 14:03, 'yesterday 14:03', ISO, or 10m ago",
      timeArgument,
    )
    .option("--application <name>", "of this application only")
    .option("--namespace <name>", "of this namespace only")
    .option("--scaler <url>", "address of the scaler", "http://127.0.0.1:9812");
  addJsonFlag(addAccessFlags(command, "the scaler"))
    .addHelpText("after", EXAMPLES)
    .action(async (service: string, flags: Flags) => {
      const { application, namespace } = flags;
      const place = { ...(application && { application }), ...(namespace && { namespace }) };
      const query = { service, ...place, most: "2000" };
      const [events, list] = await asking(scalerAt(flags.scaler), accessOf(flags), async (client) => {
        const asked = await client.json({ path: "v1/events", query }, EventList);
        return [asked.events, await client.json({ path: "v1/recommendations" }, RecommendationList)] as const;
      });
      const decisions = explained(events, flags.at);
      const now = list.recommendations.filter(
        (each) =>
          each.service === service &&
          each.application === (application ?? each.application) &&
          each.namespace === (namespace ?? each.namespace),
      );
      if (decisions.length === 0 && now.length === 0)
        throw new TradewindError("unknown-service", unknownText(service, list));
      const json = { service, decisions, recommendations: now };
      const text = (): string =>
        [
          ...(decisions.length === 0 ? [`No decision that changed ${service} is known.`] : []),
          ...farFrom(decisions, flags.at),
          ...decisions.map(decisionText),
          ...(flags.at === undefined ? now.map(nowText) : []),
        ].join("\n\n");
      printAnswer({ json, text }, flags.json);
    });
}

function unknownText(service: string, { recommendations }: RecommendationList): string {
  const services = [...new Set(recommendations.map((each) => each.service))].slice(0, 20);
  return `nothing is known of '${service}'; services: ${services.join(", ") || "none"}`;
}

interface ExplainedDecision {
  readonly decision: DecisionEvent;
  readonly outcome?: OutcomeEvent;
}

/** The newest decision, or the one nearest to a time with those close to it; newest first. */
function explained(events: readonly AuditEvent[], atMs: number | undefined): ExplainedDecision[] {
  const decisions = events.filter((event) => event.kind === "decision");
  const outcomes = new Map(
    events.flatMap((event) => (event.kind === "outcome" ? [[event.decisionId, event] as const] : [])),
  );
  const distance = (event: DecisionEvent): number => Math.abs(event.atMs - (atMs ?? Number.MAX_SAFE_INTEGER));
  const [nearest] = decisions.toSorted((a, b) => distance(a) - distance(b));
  if (nearest === undefined) return [];
  const nearMs = atMs === undefined ? 0 : NEAR_MS;
  return decisions
    .filter((event) => Math.abs(event.atMs - nearest.atMs) <= nearMs)
    .map((decision) => {
      const outcome = outcomes.get(decision.decisionId);
      return outcome === undefined ? { decision } : { decision, outcome };
    });
}

/** Said where nothing changed at the time that was asked for. */
function farFrom(decisions: readonly ExplainedDecision[], atMs: number | undefined): string[] {
  if (atMs === undefined || decisions.length === 0) return [];
  const isNear = decisions.some(({ decision }) => Math.abs(decision.atMs - atMs) <= FAR_MS);
  return isNear
    ? []
    : [`Nothing changed within ${FAR_MS / 60_000} min of ${localTime(atMs)}; the nearest change:`];
}

function decisionText({ decision, outcome }: ExplainedDecision): string {
  const { application, atMs, decisionId, mode, namespace, policy, service } = decision;
  return [
    `${localTime(atMs)}  ${service} of ${namespace}/${application} (${policy}, mode ${mode}, decision ${decisionId})`,
    ...eventText(decision)
      .split("; ")
      .map((part) => `  ${part}`),
    outcome === undefined ? "  no outcome is known yet" : `  ${eventText(outcome)}`,
  ].join("\n");
}

const nowText = (served: RecommendationList["recommendations"][number]): string =>
  `Now ${sizeText(served)}: ${served.refused ?? rowText(served)}`;

/** In the local zone: `2026-11-28 14:03:20`. */
function localTime(atMs: number): string {
  const time = new Date(atMs);
  const part = (value: number): string => String(value).padStart(2, "0");
  const day = [time.getFullYear(), part(time.getMonth() + 1), part(time.getDate())].join("-");
  return `${day} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(part).join(":")}`;
}
