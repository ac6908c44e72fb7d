import { Option } from "commander";
import type { Command } from "commander";
import { parseWith } from "@tradewind/core/values/config.ts";
import { exitCodes } from "@tradewind/core/terminal/answer.ts";
import { ANOMALY_RESOURCES } from "../interference/anomaly.ts";
import { createProgress } from "../screen/progress.ts";
import { INTERRUPTED, onInterrupt } from "../supervise/interrupt.ts";
import { inject } from "./inject.ts";
import { InjectOptions } from "./options.ts";
import type { InjectInput } from "./options.ts";

const EXAMPLES = `
Examples:
  tradewind inject --resource cpu --intensity 0.5 --for 60s
      Half of the machine's cores are busy with somebody else's work for a minute.
  tradewind inject --resource memory --intensity 0.3
      30 % of the memory is held and not used.
  tradewind inject --resource network --intensity 0.4 --for 30s
      4 Gbit/s cross the loopback interface. Nothing leaves the machine.

What an intensity is a share of:
  cpu        all cores
  memory     all memory
  bandwidth  what one core can copy within memory; it keeps up to one core busy
  network    a link of 10 Gbit/s, over loopback only
  disk       the time of one writer that waits for each MiB

Refused is what would leave less than half a core, or less memory than 512 MiB or a tenth, whichever is more.
Everything it starts ends with it, also after kill -9; see docs/profiling.md.

${exitCodes("it ran for its time", "refused or failed", "130 stopped by Ctrl-C")}`;

async function run(input: InjectInput): Promise<void> {
  const options = parseWith(InjectOptions, input, "the command line");
  const interrupted = new AbortController();
  const release = onInterrupt(() => interrupted.abort());
  try {
    await inject(options, createProgress(process.stderr, process.env), interrupted.signal);
    if (interrupted.signal.aborted) process.exitCode = INTERRUPTED;
  } finally {
    release();
  }
}

/** Adds what `tradewind inject` takes and does. */
export function configure(command: Command): void {
  command
    .description(
      "Be a noisy neighbour: take CPU, memory, memory bandwidth, network or disk of this machine for a while.",
    )
    .addOption(
      new Option("--resource <resource>", "what to take").choices(ANOMALY_RESOURCES).makeOptionMandatory(),
    )
    .addOption(new Option("--intensity <share>", "how much of it, 0.3 to 0.8").makeOptionMandatory())
    .option("--for <duration>", "how long, 1s to 1h", "60s")
    .addOption(
      new Option("--tool <tool>", "stress-ng and iperf3 where installed, or what is built in")
        .choices(["auto", "built-in"])
        .default("auto"),
    )
    .addHelpText("after", EXAMPLES)
    .action(async (flags: InjectInput) => run(flags));
}
