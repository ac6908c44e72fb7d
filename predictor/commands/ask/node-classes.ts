import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { formatLatency, percentileName } from "@tradewind/core/values/amounts.ts";
import { hardwareInWords, NodeClassList } from "@tradewind/core/contract/node-classes.ts";
import type { NodeClass, Placement } from "@tradewind/core/contract/node-classes.ts";
import type { Command } from "commander";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";

const EXAMPLES = `
Examples:
  $ tradewind node-classes
  $ tradewind node-classes --predictor http://127.0.0.1:9811 --patch
  $ tradewind node-classes --json | jq '.classes[] | {nodeClass, speed}'

How to read it:
  m7i.large   speed 1     reference
  m5.large    speed 0.61  0.59 to 0.63 from 240 comparisons
  Nodes of m5.large do 61 % of the work of m7i.large in the same CPU time, measured on services with pods on both.

  search on m7i.large: 0.76 times the CPU a request; p95 140 -> 118 ms with 4 replicas, or 3 replicas: 0.064 -> 0.048/h
  Nothing is moved. --patch prints the command that makes new pods prefer such nodes. Once all pods run there, what was
  measured before and since stands below.

${exitCodes("shown", "no answer")}`;

interface Flags extends ApplicationFlags {
  readonly patch: boolean;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const described = command.description(
    "Show how fast the kinds of nodes are, as measured, and what services would gain on faster ones.",
  );
  addJsonFlag(addApplicationFlags(described), "the answer of /v1/node-classes")
    .option("--patch", "print the command that makes new pods prefer a class", false)
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const asked = { path: "v1/node-classes", schema: NodeClassList, absent: "no-node-classes" };
      const list = await askPredictor(flags, asked);
      printAnswer({ json: list, text: () => inWords(list, flags.patch) }, flags.json);
    });
}

/** Classes, then placements, a blank line between them. */
export function inWords(list: NodeClassList, withPatch = false): string {
  const { classes, namespace, objective, placements } = list;
  if (classes.length === 0)
    return "Nodes of one class only are known, or no decision has been made on models yet: there is nothing to compare.";
  const width = Math.max(...classes.map(({ nodeClass }) => nodeClass.length));
  const percentile = percentileName(objective.percentile);
  const moves = placements.map((each) => {
    const measured = each.measured && measuredInWords(each.measured, percentile);
    const command = withPatch ? commandOf(each, namespace) : undefined;
    const there = classes.find(({ nodeClass }) => nodeClass === each.nodeClass);
    return [placementInWords(each, percentile, hardwareInWords(there ?? {})), measured, command]
      .filter(Boolean)
      .join("\n");
  });
  const none = "No service is expected to gain on a faster class that has room for it.";
  return [
    ...classes.map((each) => classInWords(each, width)),
    "",
    ...(moves.length > 0 ? moves : [none]),
  ].join("\n");
}

function classInWords(one: NodeClass, width: number): string {
  const { comparisons, highSpeed, isReference, lowSpeed, nodeClass, nodes, speed } = one;
  const head = `${nodeClass.padEnd(width)}  ${`${nodes ?? "?"} nodes`.padEnd(10)}speed ${speed.toFixed(2)}`;
  if (isReference) return `${head}  reference`;
  if (lowSpeed === undefined || highSpeed === undefined) return `${head}  not measured yet`;
  const interval = `${lowSpeed.toFixed(2)} to ${highSpeed.toFixed(2)} from ${comparisons.toFixed(0)} comparisons`;
  return `${head}  ${interval}${one.isCounted ? "" : "; not sure enough to count"}`;
}

function placementInWords(one: Placement, percentile: string, hardware: string): string {
  const { costPerHour, cpuRatio, latencySeconds, nodeClass, replicas, service } = one;
  const latency = `${percentile} ${formatLatency(latencySeconds.now)} -> ${formatLatency(latencySeconds.then)}`;
  const cost = `${costPerHour.now.toFixed(4)} -> ${costPerHour.then.toFixed(4)}/h`;
  const cheaper = replicas.then < replicas.now ? `, or ${replicas.then}: ${cost}` : "";
  return `${service} on ${nodeClass}${hardware === "" ? "" : ` (${hardware})`}: ${cpuRatio.toFixed(2)} times the CPU a request; ${latency} with ${counted(replicas.now)}${cheaper}`;
}

const counted = (replicas: number): string => (replicas === 1 ? "1 replica" : `${replicas} replicas`);

function measuredInWords(measured: NonNullable<Placement["measured"]>, percentile: string): string {
  const { cpuSecondsPerRequest: cpu, replicas, selfTimeSeconds: self, windows } = measured;
  const times = cpu.now > 0 ? `${(cpu.then / cpu.now).toFixed(2)} times the CPU a request` : "CPU unknown";
  const latency = `self-time ${percentile} ${formatLatency(self.now)} -> ${formatLatency(self.then)}`;
  return `  measured since, ${windows} windows: ${times}; ${latency}; ${replicas.now} -> ${replicas.then} replicas`;
}

function commandOf({ label, nodeClass, patch, service, workload }: Placement, namespace: string): string {
  const target = (workload ?? `Deployment/${service}`).toLowerCase();
  const labelled = label.startsWith("node.kubernetes.io/")
    ? []
    : [`  # first: kubectl label node NAME ${label}=${nodeClass}, for each node of the class`];
  const command = `  kubectl patch ${target} -n ${namespace} --type merge -p '${JSON.stringify(patch)}'`;
  return [...labelled, command].join("\n");
}
