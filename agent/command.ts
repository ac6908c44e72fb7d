import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { parseWith } from "@tradewind/core/config.ts";
import { AgentOptions } from "./options.ts";

const EXAMPLES = `
Examples:
  tradewind agent                                            this machine, on http://127.0.0.1:9810
  tradewind agent --path.procfs /host/proc --path.sysfs /host/sys --path.cgroupfs /host/sys/fs/cgroup --node "$NODE_NAME"
  tradewind agent --workloads workloads.json --cgroup-root /tradewind-local-4711
  tradewind agent --link-speed eth0=1250000000               10 Gbit/s, where the driver does not tell
  curl -s http://127.0.0.1:9810/metrics | promtool check metrics`;

interface Flags {
  readonly [flag: string]: unknown;
}

/** Commander names `--path.procfs` by the text after the dashes. */
function optionsOf(flags: Flags): AgentOptions {
  const given = {
    listen: flags["listen"],
    node: flags["node"],
    procfs: flags["path.procfs"],
    sysfs: flags["path.sysfs"],
    cgroupfs: flags["path.cgroupfs"],
    cgroupRoots: flags["cgroupRoot"],
    workloads: flags["workloads"],
    linkBytesPerSecond: flags["linkSpeed"],
    memoryBandwidthBytesPerSecond: flags["memoryBandwidth"],
    logLevel: flags["logLevel"],
  };
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return parseWith(AgentOptions, present, "the options of the agent");
}

const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("must be a number");
  return value;
}

function linkSpeed(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const [device, speed] = text.split("=", 2);
  if (device === undefined || device === "" || speed === undefined) {
    throw new InvalidArgumentError("must be INTERFACE=BYTES_PER_SECOND");
  }
  return { ...before, [device]: number(speed) };
}

export function configure(command: Command): void {
  command
    .description(
      "Reads pressure, CPU, memory, disk and network of this node and of every container on it, as often as they move, and serves them for Prometheus and for the predictor.",
    )
    .option("--listen <host:port>", "where to serve HTTP (default 127.0.0.1:9810; port 0 takes a free one)")
    .option("--node <name>", "name of this node, as workload sources spell it (default: the host name)")
    .option("--path.procfs <dir>", "the node's proc file system (default /proc)")
    .option("--path.sysfs <dir>", "the node's sys file system (default /sys)")
    .option("--path.cgroupfs <dir>", "the node's cgroup file system (default /sys/fs/cgroup)")
    .option(
      "--cgroup-root <path>",
      "where pods are in the cgroup trees, repeatable (default: look for kubepods)",
      collect,
    )
    .option("--workloads <file>", "JSON file that names containers")
    .option(
      "--link-speed <interface=bytes>",
      "link speed in bytes per second, repeatable, where the driver does not tell",
      linkSpeed,
    )
    .option("--memory-bandwidth <bytes>", "peak memory bandwidth of the node in bytes per second", number)
    .option("--log-level <level>", "trace, debug, info, warn, error or silent (default info)")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => run(optionsOf(flags)));
}

async function run(options: AgentOptions): Promise<void> {
  const { startAgent } = await import("./agent.ts");
  const agent = await startAgent(options);
  const ready = { process: "agent", ready: true, addresses: agent.addresses };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  const signal = await new Promise<string>((resolve) => {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => resolve(name));
  });
  await agent.stop();
  process.exitCode = signal === "" ? 1 : 0;
}
