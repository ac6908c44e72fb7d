import { Command, InvalidArgumentError } from "commander";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { exitCodes } from "@tradewind/core/terminal/answer.ts";
import type { Forwarded } from "@tradewind/kubernetes/port-forward/forward.ts";
import type {
  Asked,
  PodPort,
  Release,
  ReleaseChoice,
  ScalerPod,
} from "@tradewind/kubernetes/port-forward/scaler-pods.ts";
import { ASKING_COMMANDS } from "./asking-commands.ts";
import type { CommandEntry } from "./entry.ts";

const EXAMPLES = `
Examples:
  $ kubectl tradewind status
  $ kubectl tradewind explain --service cart
  $ kubectl tradewind what-if --service cart --replicas +1
  $ kubectl tradewind -n platform approve 3f9a2b77c1 --token-file token
  $ kubectl tradewind --port 9900 console                          the console at that port, until Ctrl-C
  $ tradewind kubectl --context staging status                     the same without kubectl

Finds the scaler pods by the chart's labels, forwards free ports of this machine to them, and runs the command with its
--scaler and --predictor set. What follows the command are its own options: kubectl tradewind status --help.
This user needs the verbs list on pods, and get and create on pods/portforward, in that namespace.

${exitCodes("what the command did", "it failed, or no pod could be reached")}`;

interface Flags {
  readonly tradewindNamespace?: string;
  readonly release?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly port: number;
}

/** The word for the console in the place of a command. */
const CONSOLE = "console";
const CONSOLE_PORT = 9812;
const HELP = new Set(["--help", "-h"]);

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const names = [...ASKING_COMMANDS.map(({ name }) => name), CONSOLE];
  command
    .description("Run a command on the release in a cluster: finds its pods and port-forwards by itself.")
    .usage("[-n namespace] [--context name] <command> [options of that command]")
    .argument("[command]", names.join(", "))
    .argument("[words...]", "what follows it")
    .option("-n, --tradewind-namespace <name>", "namespace of the release (default: looked for)")
    .option("--release <name>", "name of the release, where there are several")
    .option("--kubeconfig <file>", "how to reach the cluster (default: as kubectl)")
    .option("--context <name>", "context of the kubeconfig")
    .option("--port <number>", "port of this machine for the console; 0 for any", portNumber, CONSOLE_PORT)
    // What follows the command's name belongs to that command.
    .passThroughOptions()
    .addHelpText("after", EXAMPLES)
    .action(async (name: string | undefined, words: readonly string[], flags: Flags) => {
      if (name === undefined || name === "help") command.outputHelp();
      else if (name === CONSOLE && words.length === 0) await showConsole(flags);
      else await runThere(name, words, flags);
    });
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new InvalidArgumentError("write a port, 0 to 65535");
}

/** @throws TradewindError `invalid-command` */
async function runThere(name: string, words: readonly string[], flags: Flags): Promise<void> {
  const entry = ASKING_COMMANDS.find((each) => each.name === name);
  if (entry === undefined) {
    const known = [...ASKING_COMMANDS.map((each) => each.name), CONSOLE].join(", ");
    throw new TradewindError(
      "invalid-command",
      `'${name}' is not asked of a cluster: kubectl tradewind runs ${known}`,
    );
  }
  const there = await named(entry);
  if (words.some((each) => HELP.has(each))) {
    there.outputHelp();
    return;
  }
  await withPorts(flags, async (open, release) => {
    for (const [at, pod] of release.pods.entries()) {
      const asked = { pod, pods: release.pods };
      try {
        const endpoints = await endpointFlags(entry, words, asked, open);
        await (await named(entry)).parseAsync([...words, ...endpoints], { from: "user" });
        return;
      } catch (error) {
        // Another pod may plan the application, or be well; a wrong command line is wrong for all of them.
        if (!mayTryAnother(error) || at === release.pods.length - 1) throw error;
      }
    }
  });
}

const mayTryAnother = (error: unknown): boolean =>
  error instanceof TradewindError && !error.code.startsWith("invalid-");

/** The command as kubectl's users name it. */
async function named({ load, name }: CommandEntry): Promise<Command> {
  const command = new Command(`kubectl tradewind ${name}`).exitOverride();
  command.showHelpAfterError(
    `(kubectl tradewind ${name} --help shows its options; -n, --context and --release stand before '${name}')`,
  );
  (await load()).configure(command);
  return command;
}

type OpenForward = (to: PodPort, localPort?: number) => Promise<Forwarded>;

/** What the user did not name: the address of a scaler, of all of them, of a predictor. @param pod the one that is asked first */
async function endpointFlags(
  { asks }: CommandEntry,
  words: readonly string[],
  { pod, pods }: { readonly pod: ScalerPod; readonly pods: readonly ScalerPod[] },
  open: OpenForward,
): Promise<string[]> {
  const { portOf } = await import("@tradewind/kubernetes/port-forward/scaler-pods.ts");
  const flags: string[] = [];
  for (const asked of ["scaler", "predictor"] as const satisfies readonly Asked[]) {
    const flag = `--${asked}`;
    const many = asks?.[asked];
    if (many === undefined || words.some((each) => each === flag || each.startsWith(`${flag}=`))) continue;
    const urls: string[] = [];
    for (const each of many === "one" ? [pod] : pods) {
      const to = portOf(each, asked);
      urls.push(`${to.isTls ? "https" : "http"}://127.0.0.1:${(await open(to)).port}`);
    }
    flags.push(flag, urls.join(","));
  }
  return flags;
}

async function showConsole(flags: Flags): Promise<void> {
  const { portOf } = await import("@tradewind/kubernetes/port-forward/scaler-pods.ts");
  await withPorts(flags, async (open, { name, namespace, pods }) => {
    const [pod] = pods;
    if (pod === undefined) return;
    const to = portOf(pod, "scaler");
    const { port } = await open(to, flags.port);
    const url = `${to.isTls ? "https" : "http"}://127.0.0.1:${port}/`;
    process.stdout.write(`Console of release '${name}' in '${namespace}': ${url}   (Ctrl-C ends it)\n`);
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
    });
  });
}

/** Finds the release, and closes every port that was opened when `use` is through. */
async function withPorts(
  { context, kubeconfig, release, tradewindNamespace }: Flags,
  use: (open: OpenForward, release: Release) => Promise<void>,
): Promise<void> {
  const [{ connectionOf, readKubeconfig }, { ApiClient }, { findRelease }, { forwardPort }] =
    await Promise.all([
      import("@tradewind/kubernetes/client/kubeconfig.ts"),
      import("@tradewind/kubernetes/client/client.ts"),
      import("@tradewind/kubernetes/port-forward/scaler-pods.ts"),
      import("@tradewind/kubernetes/port-forward/forward.ts"),
    ]);
  const read = readKubeconfig(kubeconfig, context);
  const client = new ApiClient(connectionOf(read));
  const opened: Forwarded[] = [];
  try {
    const choice: ReleaseChoice = { namespace: tradewindNamespace, release };
    const found = await findRelease(client, choice);
    const open: OpenForward = async (to, localPort) => {
      const forwarded = await forwardPort(read.config, to, localPort);
      opened.push(forwarded);
      return forwarded;
    };
    await use(open, found);
  } catch (error) {
    const problem = opened.map((each) => each.problem).find((each) => each !== undefined);
    if (problem === undefined || !(error instanceof TradewindError)) throw error;
    throw new TradewindError(error.code, `${error.message}; ${problem}`, { cause: error });
  } finally {
    for (const each of opened) await each.close();
    await client.close();
  }
}
