import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { printable } from "@tradewind/core/values/printable.ts";
import { parseObjectiveSeconds } from "@tradewind/core/values/units.ts";
import { ApiClient } from "../client/client.ts";
import { connect } from "../client/connect.ts";
import type { Found } from "./found.ts";
import { initialise, InitRefusal } from "./init.ts";
import type { InitResult } from "./init.ts";
import { readCluster } from "./read-cluster.ts";
import type { InitFile } from "./read-back.ts";
import { readManifests } from "./read-manifests.ts";
import { readSlo } from "./slo.ts";
import { withEditorSchema } from "./editor-schema.ts";
import { writeNew } from "./write-new.ts";

const EXAMPLES = `
Examples:
  $ tradewind init --namespace shop --objective 250ms > tradewind.yaml
      Looks at a namespace of the cluster that kubectl talks to, changes nothing, and writes what to apply.
  $ tradewind init --manifests k8s/ --namespace shop --entry frontend --objective 250ms --output tradewind/
      The same from files. --manifests - reads what helm template or kustomize build write.

Next: read it, set the objective, kubectl apply --server-side --dry-run=server -f tradewind.yaml, then without --dry-run.`;

interface Flags {
  readonly namespace?: string;
  readonly manifests?: readonly string[];
  readonly name?: string;
  readonly entry?: string;
  readonly objective?: number;
  readonly slo?: string;
  readonly exclude: readonly string[];
  readonly include: readonly string[];
  readonly scalerAddress: string;
  readonly vpa?: boolean;
  readonly burnRateRules?: boolean;
  readonly accept?: boolean;
  readonly output?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Adds what `tradewind init` takes and does. */
export function configure(command: Command): void {
  command
    .description(
      "Look at a namespace or at manifests, and write the Application, ScaledObjects and VPAs for it.",
    )
    .option(
      "--namespace <name>",
      "namespace to look at (default: the kubeconfig context's; of manifests the only one that they name)",
    )
    .option(
      "--manifests <paths...>",
      "look at these files or folders instead of a cluster; - for standard input",
    )
    .option(
      "--name <name>",
      "name of the application, also written into each trigger (default: the namespace's, or 'app', and not in triggers)",
    )
    .option(
      "--entry <service>",
      "service that users call (default: what an Ingress, Gateway, Route or LoadBalancer leads to)",
    )
    .option(
      "--objective <duration>",
      "latency that 95 of 100 requests must be under, for example 250ms",
      objective,
    )
    .option("--slo <file>", "take the latency objective of an OpenSLO, Sloth or Pyrra file instead")
    .option("--exclude <names>", "workloads to leave alone, separated by commas", names, [])
    .option("--include <names>", "workloads to take although they would be left out", names, [])
    .option(
      "--scaler-address <host:port>",
      "address of Tradewind's headless Service, as KEDA reaches it",
      "tradewind-scaler.tradewind.svc.cluster.local:9813",
    )
    .option("--accept", "write although most workloads are left out for nothing but a name")
    .option("--vpa", "write VPAs (default: where the cluster knows them and cannot resize running pods)")
    .option("--no-vpa", "write no VPAs")
    .option("--burn-rate-rules", "write Prometheus rules for how fast the error budget burns, too")
    .option("--output <folder>", "write files into this folder instead of standard output")
    .option("--kubeconfig <file>", "how to reach the cluster")
    .option("--context <name>", "context of the kubeconfig")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const { notes, result } = await run(flags);
      // What a person should know comes before an error, which may be the last thing that is read.
      for (const note of notes) process.stderr.write(printable(`# ${note}\n`));
      if (result instanceof InitRefusal) throw result;
      await write(result.files, flags.output);
    });
}

interface Outcome {
  readonly result: InitResult | InitRefusal;
  readonly notes: readonly string[];
}

async function run(flags: Flags): Promise<Outcome> {
  if (flags.slo !== undefined && flags.objective !== undefined)
    throw new TradewindError("invalid-input", "give --objective or --slo, not both");
  const slo = flags.slo === undefined ? undefined : await readSlo(flags.slo);
  const { canResize, found, hasVpa, namespace, notes } = await look(flags);
  try {
    const result = initialise(found, {
      name: flags.name ?? (namespace === "default" ? "app" : namespace),
      nameGiven: flags.name !== undefined,
      namespace,
      entry: flags.entry,
      objectiveMilliseconds:
        slo?.milliseconds ?? (flags.objective === undefined ? undefined : flags.objective * 1e3),
      percentile: slo?.percentile,
      exclude: flags.exclude,
      include: flags.include,
      scalerAddress: flags.scalerAddress,
      vpa: flags.vpa ?? (hasVpa && !canResize),
      resize: canResize && flags.vpa !== true,
      burnRates: flags.burnRateRules,
      accept: flags.accept ?? false,
    });
    return { result, notes: [...notes, ...result.notes, ...longObjective(flags.objective)] };
  } catch (error) {
    if (!(error instanceof InitRefusal)) throw error;
    return { result: error, notes: [...notes, ...error.notes] };
  }
}

interface Looked {
  readonly found: Found;
  readonly namespace: string;
  readonly hasVpa: boolean;
  readonly canResize: boolean;
  readonly notes: readonly string[];
}

async function look({ context, kubeconfig, manifests, namespace }: Flags): Promise<Looked> {
  if (manifests !== undefined) {
    const reading = await readManifests(manifests, namespace, standardInput);
    return { ...reading, hasVpa: reading.found.vpas.length > 0, canResize: false };
  }
  const connection = await connect({ kubeconfig, context, environment: process.env });
  const client = new ApiClient(connection);
  try {
    const own = namespace ?? connection.namespace;
    const { absent, canResize, found, notes } = await readCluster(client, own);
    const missing = absent.includes("ScaledObject")
      ? ["KEDA is not installed in this cluster: its ScaledObjects cannot be applied yet"]
      : [];
    return {
      found,
      namespace: own,
      hasVpa: !absent.includes("VerticalPodAutoscaler"),
      canResize,
      notes: [...notes, ...missing],
    };
  } finally {
    await client.close();
  }
}

async function write(files: readonly InitFile[], folder: string | undefined): Promise<void> {
  if (folder === undefined) {
    process.stdout.write(printable(files.map(({ yaml }) => yaml).join("---\n")));
    return;
  }
  for (const path of await writeNew(withEditorSchema(files), folder))
    process.stderr.write(`# wrote ${path}\n`);
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** An objective beyond this is a slip more often than a promise to users. s */
const LONG_OBJECTIVE_SECONDS = 30;

const longObjective = (seconds = 0): string[] =>
  seconds > LONG_OBJECTIVE_SECONDS
    ? [
        `the objective is ${seconds} s: nearly no size misses it, so all are made as small as their load allows`,
      ]
    : [];

function objective(text: string): number {
  try {
    return parseObjectiveSeconds(text);
  } catch (error) {
    throw new InvalidArgumentError(describeError(error));
  }
}

const names = (text: string): string[] =>
  text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
