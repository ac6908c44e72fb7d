import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Command } from "commander";
import { SensitivityList } from "@tradewind/core/contract/sensitivities.ts";
import type { ServiceSensitivity, UnitWorth } from "@tradewind/core/contract/sensitivities.ts";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";
import { percentileName } from "@tradewind/core/values/amounts.ts";

const EXAMPLES = `
Examples:
  $ tradewind sensitivities
  $ tradewind sensitivities --predictor http://127.0.0.1:9811 --service cart
  $ tradewind sensitivities --json | jq '.services[] | {service, perCore}'

How to read it:
  cart: 3 x 0.50 cores, p95 180 ms on GET /cart
    10 % more CPU     -12.0 ms (-16.0 to -8.5)   costs 0.0047/h   saves 0.0180/h
  10 % more CPU for cart (0.15 cores, shared by its three containers) takes 12 ms off the predicted p95 of the slowest
  route through it; 8.5 to 16 ms with 90 % probability. It costs 0.0047 an hour and saves 0.0180 of what missed
  objectives are expected to cost. --json and the metrics have the slope for a whole core, here -80 ms: a whole core
  gains less than its slope says. Services that gain most come first.

${exitCodes("shown", "no answer")}`;

/** A slope is shown for this share of a service's CPU: for a whole core it says nothing where containers are small. */
const SHARE = 0.1;

interface Flags extends ApplicationFlags {
  readonly service?: string;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const described = command.description(
    "Show what more CPU and one more replica of each service are worth right now.",
  );
  addJsonFlag(addApplicationFlags(described), "the answer of /v1/sensitivities")
    .option("--service <name>", "only this service")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const { service } = flags;
      const asked = { path: "v1/sensitivities", query: { service }, schema: SensitivityList };
      const list = await askPredictor(flags, { ...asked, absent: "no-sensitivities" });
      printAnswer({ json: list, text: () => inWords(list) }, flags.json);
    });
}

/** Two lines for each service, those that gain most first. */
export function inWords(list: SensitivityList): string {
  const { decidedAtMs, objective, policy, services, unavailable } = list;
  const percentile = percentileName(objective.percentile);
  const decided = new Date(decidedAtMs).toISOString();
  const head = `Decision of ${decided} by ${policy}; objective: ${percentile} ${ms(objective.seconds)} ms.`;
  if (unavailable !== undefined) return `${head}\n${unavailable}`;
  if (services.length === 0) return `${head}\nNo service on a user's route has a calibrated model.`;
  const blocks = [...services]
    .sort((a, b) => net(a) - net(b))
    .map((each) =>
      [
        `${each.service}: ${each.replicas} x ${each.cpuCores.toFixed(2)} cores, ${percentile} ${ms(each.latencySeconds)} ms on ${each.slowestRoute}`,
        `  10 % more CPU     ${unitInWords(each.perCore, SHARE * each.replicas * each.cpuCores)}`,
        `  one more replica  ${unitInWords(each.perReplica)}`,
      ].join("\n"),
    );
  const { costPerHour, reason } = services[0]?.perGibibyte ?? { costPerHour: 0, reason: "" };
  const memory = `One more gibibyte, of any service: 0 ms, costs ${costPerHour.toFixed(4)}/h; ${reason}.`;
  return [head, ...blocks, memory].join("\n\n");
}

/** What the better unit of a service changes of all costs for an hour. */
const net = ({ cpuCores, perCore, perReplica, replicas }: ServiceSensitivity): number =>
  Math.min(
    SHARE * replicas * cpuCores * (perCore.costPerHour + perCore.missCostPerHour),
    perReplica.costPerHour + perReplica.missCostPerHour,
  );

function unitInWords(unit: UnitWorth, units = 1): string {
  const [seconds, low, high] = [unit.seconds, unit.lowSeconds, unit.highSeconds].map((each) =>
    ms(units * each),
  );
  const costs = (units * unit.costPerHour).toFixed(4);
  const saves = Math.abs(units * unit.missCostPerHour).toFixed(4);
  return `${`${seconds} ms (${low} to ${high})`.padEnd(28)} costs ${costs}/h   saves ${saves}/h`;
}

/** Milliseconds: three digits, none after the point from 100 on. */
function ms(seconds: number): string {
  const value = 1e3 * seconds;
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  return Number(text) === 0 ? "0" : text;
}
