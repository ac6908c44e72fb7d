import { SupposedService, WhatIfAnswer, WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { parseQuantity } from "@tradewind/kubernetes/objects/quantity.ts";
import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";
import { whatIfInWords } from "./what-if-in-words.ts";

const EXAMPLES = `
Examples:
  $ tradewind what-if --service cart --replicas +1
  $ tradewind what-if --service cart --replicas 3 --load 1.5
  $ tradewind what-if --service cart --cpu 750m --memory 512Mi
  $ tradewind what-if --load 200%
  $ tradewind what-if --service cart --replicas 3 --json | jq '.routes[] | {route, now, then}'

Runs the models of the last decision. 'now' are the sizes that decision started from, at the load that it planned for; 'then' is
what you ask for. CPU and memory are of each container. The range is of 90 %, by the models' own uncertainty; 'measured' is the
last window. 'Careful' says where models are far from what was measured, or young. Nothing is changed by asking. Without models (policy queue or reactive) there is no answer, and it says so.

${exitCodes("shown", "no answer")}`;

interface Flags extends ApplicationFlags {
  readonly service?: string;
  readonly replicas?: Replicas;
  readonly cpu?: number;
  readonly memory?: number;
  readonly load: number;
  readonly json: boolean;
}

/** So many, or so many more or fewer than now. */
interface Replicas {
  readonly count: number;
  readonly isRelative: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const described = command.description(
    "Show what p95 and cost would be at another load, or other replicas, CPU or memory, by the live models.",
  );
  addJsonFlag(addApplicationFlags(described), "the answer of /v1/what-if")
    .option("--service <name>", "the service that gets another size")
    .option("--replicas <count>", "its replicas: 3, or +1 and -1 for more and fewer than now", replicas)
    .option("--cpu <cores>", "CPU of each of its containers, for example 0.5 or 500m", quantity)
    .option("--memory <bytes>", "memory of each of its containers, for example 512Mi", quantity)
    .option("--load <ratio>", "load over that of now, for example 1.5 or 150%", ratio, 1)
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const answer = await answered(flags);
      printAnswer({ json: answer, text: (paint) => whatIfInWords(answer, paint) }, flags.json);
    });
}

const ask = async (flags: Flags, body: WhatIfRequest): Promise<WhatIfAnswer> =>
  askPredictor(flags, { path: "v1/what-if", body, schema: WhatIfAnswer, absent: "no-what-if" });

/** How often a relative number is reckoned anew because another decision was made while it was asked about. */
const MOST_NEW_DECISIONS = 3;

async function answered(flags: Flags): Promise<WhatIfAnswer> {
  const { replicas: wanted, service } = flags;
  if (service === undefined || wanted?.isRelative !== true) return ask(flags, requested(flags, 0));
  const unchanged = WhatIfRequest.parse({ services: [{ service }] });
  let replicasNow = nowIn(await ask(flags, unchanged), flags);
  for (let again = 0; ; again++) {
    const answer = await ask(flags, requested(flags, replicasNow));
    const found = nowIn(answer, flags);
    if (found === replicasNow || again === MOST_NEW_DECISIONS) return answer;
    replicasNow = found;
  }
}

const nowIn = ({ services }: WhatIfAnswer, flags: Flags): number =>
  services.find(({ service }) => service === flags.service)?.now.replicas ?? 0;

/**
 * @param replicasNow that a relative number is added to
 * @throws TradewindError `invalid-input` where sizes are given and no service, or no possible size
 */
function requested(flags: Flags, replicasNow: number): WhatIfRequest {
  const { cpu, load, memory, replicas: wanted, service } = flags;
  const hasSize = [cpu, memory, wanted].some((each) => each !== undefined);
  if (hasSize !== (service !== undefined)) {
    const missing = hasSize ? "--service" : "--replicas, --cpu or --memory";
    throw new TradewindError("invalid-input", `a service and a size belong together: give ${missing}, too`);
  }
  const asked = { load, services: [] };
  if (service === undefined) return parseWith(WhatIfRequest, asked, "the command line");
  const count = wanted && (wanted.isRelative ? replicasNow + wanted.count : wanted.count);
  const supposed = {
    service,
    ...(count !== undefined && { replicas: count }),
    ...(cpu !== undefined && { cpuCores: cpu }),
    ...(memory !== undefined && { memoryBytes: memory }),
  };
  const services = [parseWith(SupposedService, supposed, "the command line")];
  return parseWith(WhatIfRequest, { ...asked, services }, "the command line");
}

function replicas(text: string): Replicas {
  if (!/^[+-]?\d+$/.test(text)) throw new InvalidArgumentError("write a number such as 3, +1 or -1");
  return { count: Number(text), isRelative: /^[+-]/.test(text) };
}

function quantity(text: string): number {
  try {
    return parseQuantity(text);
  } catch {
    throw new InvalidArgumentError(`'${text}' is not a quantity; write for example 500m, 2 or 512Mi`);
  }
}

function ratio(text: string): number {
  const value = Number(text.replace(/[%x]$/, "")) / (text.endsWith("%") ? 100 : 1);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("write a ratio such as 1.5 or 150%");
}
