import { hostname } from "node:os";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";
import type { LogLevel } from "@tradewind/core/process/log.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { serve } from "@tradewind/core/process/serve.ts";
import { ADDRESS_RULE, DEFAULTS, FOLDER_RULE, isAddress, isFolder, tidyFolder } from "./defaults.ts";
import { frugal } from "./run/frugal.ts";
import { CONTAINER_SERIES } from "./container/columns.ts";
import type { ContainerSeries } from "./container/columns.ts";
import type { AgentOptions } from "./options.ts";

const EXAMPLES = `
Examples:
  tradewind agent                                            this machine, on http://127.0.0.1:9810
  tradewind agent --path.procfs /host/proc --path.sysfs /host/sys --path.cgroupfs /host/sys/fs/cgroup --node "$NODE_NAME"
  tradewind agent --workloads workloads.json --cgroup-root /tradewind-local-4711
  tradewind agent --link-speed eth0=1250000000               10 Gbit/s, where the driver does not tell
  curl -s http://127.0.0.1:9810/metrics | promtool check metrics`;

/** The flags as commander names them: `--path.procfs` by the text after the dashes. */
interface Flags {
  readonly listen: string;
  readonly probeListen?: string;
  readonly allowedHosts: string[];
  readonly maxSenderWork: number;
  readonly httpTokenFile?: string;
  readonly httpTlsCert?: string;
  readonly httpTlsKey?: string;
  readonly node: string;
  readonly "path.procfs": string;
  readonly "path.sysfs": string;
  readonly "path.cgroupfs": string;
  readonly cgroupRoot: string[];
  readonly workloads?: string;
  readonly kubernetes: "auto" | "off";
  readonly linkSpeed: Record<string, number>;
  readonly memoryBandwidth?: number;
  readonly containerSeries: ContainerSeries;
  readonly inventory: boolean;
  readonly window: number;
  readonly costBudget: number;
  readonly maxOpenFiles: number;
  readonly logLevel: LogLevel;
}

function optionsOf(flags: Flags): AgentOptions {
  const { httpTlsCert: cert, httpTlsKey: key } = flags;
  return {
    listen: flags.listen,
    probeListen: flags.probeListen,
    allowedHosts: flags.allowedHosts,
    maxSenderWork: flags.maxSenderWork,
    httpTokenFile: flags.httpTokenFile,
    httpTls: cert === undefined || key === undefined ? undefined : { cert, key },
    node: flags.node,
    procfs: flags["path.procfs"],
    sysfs: flags["path.sysfs"],
    cgroupfs: flags["path.cgroupfs"],
    cgroupRoots: flags.cgroupRoot,
    workloads: flags.workloads,
    kubernetes: flags.kubernetes,
    linkBytesPerSecond: flags.linkSpeed,
    memoryBandwidthBytesPerSecond: flags.memoryBandwidth,
    containerSeries: flags.containerSeries,
    inventory: flags.inventory,
    windowSeconds: flags.window,
    costBudgetRatio: flags.costBudget,
    maxOpenFiles: flags.maxOpenFiles,
    logLevel: flags.logLevel,
  };
}

function address(text: string): string {
  if (!isAddress(text)) throw new InvalidArgumentError(ADDRESS_RULE);
  return text;
}

function folder(text: string): string {
  if (!isFolder(text)) throw new InvalidArgumentError(FOLDER_RULE);
  return tidyFolder(text);
}

/** Separated by commas. */
function names(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function nodeName(text: string): string {
  if (text === "" || text.length > 253) throw new InvalidArgumentError("must have 1 to 253 characters");
  return text;
}

/** A number within [least, most]. */
function within(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (!(value >= least && value <= most)) {
      throw new InvalidArgumentError(`must be a number from ${least} to ${most}`);
    }
    return value;
  };
}

const BYTES = within(1, 1e15);

/** Seconds of a duration such as `15s`. */
function windowSeconds(text: string): number {
  let seconds = Number.NaN;
  try {
    seconds = parseDurationSeconds(text);
  } catch (error) {
    throw new InvalidArgumentError(describeError(error));
  }
  return within(0.5, 3_600)(String(seconds));
}

function linkSpeed(text: string, before: Readonly<Record<string, number>>): Record<string, number> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("must be INTERFACE=BYTES_PER_SECOND");
  return { ...before, [text.slice(0, at)]: BYTES(text.slice(at + 1)) };
}

export function configure(command: Command): void {
  command
    .description(
      "Reads pressure, CPU, memory, disk and network of this node and of every container on it, once a window and when something moves, and serves them for Prometheus and for the predictor.",
    )
    .option("--listen <host:port>", "where to serve HTTP; port 0 takes a free one", address, DEFAULTS.listen)
    .option(
      "--probe-listen <host:port>",
      "/healthz and /readyz on a port of their own (default: off)",
      address,
    )
    .option(
      "--allowed-hosts <names>",
      "names of --listen besides addresses and *.svc; *.domain for all",
      names,
      [],
    )
    .option(
      "--max-sender-work <ratio>",
      "share of a core that one sender may keep busy with its requests",
      within(0.01, 100),
      DEFAULTS.maxSenderWork,
    )
    .option("--http-token-file <file>", "token that requests to --listen must show")
    .option("--http-tls-cert <file>", "certificate of --listen, PEM; with it that port speaks TLS only")
    .option("--http-tls-key <file>", "its key, PEM")
    .option("--node <name>", "name of this node, as workload sources spell it", nodeName, hostname())
    .option("--path.procfs <dir>", "the node's proc file system", folder, DEFAULTS.procfs)
    .option("--path.sysfs <dir>", "the node's sys file system", folder, DEFAULTS.sysfs)
    .option("--path.cgroupfs <dir>", "the node's cgroup file system", folder, DEFAULTS.cgroupfs)
    .addOption(
      new Option("--cgroup-root <path>", "where pods are in the cgroup trees, repeatable")
        .argParser((text, before: string[]) => [...before, folder(text)])
        .default([], "look for kubepods"),
    )
    .option("--workloads <file>", "JSON file that names containers")
    .addOption(
      new Option(
        "--kubernetes <mode>",
        "pod names from the Kubernetes API; auto: where there is a service account",
      )
        .choices(["auto", "off"])
        .default(DEFAULTS.kubernetes),
    )
    .addOption(
      new Option("--link-speed <interface=bytes>", "link speed in bytes per second, repeatable")
        .argParser(linkSpeed)
        .default({}, "what the driver tells"),
    )
    .option("--memory-bandwidth <bytes>", "peak memory bandwidth of the node in bytes per second", BYTES)
    .addOption(
      new Option(
        "--container-series <which>",
        "series of containers to expose; own: those that the kubelet's cAdvisor lacks",
      )
        .choices(CONTAINER_SERIES)
        .default(DEFAULTS.containerSeries),
    )
    .option("--no-inventory", "do not look at the hardware, which takes one short-lived process at the start")
    .option(
      "--window <duration>",
      "length of the predictor's windows, by whose ends readings are timed",
      windowSeconds,
      DEFAULTS.windowSeconds,
    )
    .option(
      "--cost-budget <ratio>",
      "most CPU seconds per second that reading may cost",
      within(1e-5, 1),
      DEFAULTS.costBudgetRatio,
    )
    .option("--max-open-files <count>", "most kernel files held open", within(16, 1e6), DEFAULTS.maxOpenFiles)
    .addOption(
      new Option("--log-level <level>", "how much to log").choices(LOG_LEVELS).default(DEFAULTS.logLevel),
    )
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      if ((flags.httpTlsCert === undefined) !== (flags.httpTlsKey === undefined)) {
        command.error("error: give --http-tls-cert and --http-tls-key together");
      }
      return run(optionsOf(flags));
    });
}

async function run(options: AgentOptions): Promise<void> {
  const collectGarbage = frugal();
  const { startAgent } = await import("./agent.ts");
  await serve("agent", async () => startAgent(options, { collectGarbage }));
}
