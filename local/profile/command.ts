import { Option } from "commander";
import type { Command } from "commander";
import { parseWith } from "@tradewind/core/values/config.ts";
import { exitCodes } from "@tradewind/core/terminal/answer.ts";
import { createProgress } from "../screen/progress.ts";
import { INTERRUPTED, onInterrupt } from "../supervise/interrupt.ts";
import { ProfileOptions } from "./options.ts";
import type { ProfileInput } from "./options.ts";
import { runSweep } from "./sweep.ts";

const EXAMPLES = `
Examples:
  tradewind profile
      200 configurations of 14 s, about an hour, into .tradewind/sweep.jsonl.
  tradewind profile --resume
      Goes on where it was stopped. What is finished is not measured again.
  tradewind profile --resume --configurations 400
      Twice as many: the first 200 are the same.
  TRADEWIND_SWEEP=.tradewind/sweep.jsonl npm run -s bench -- profile --json
      How well latency profiles predict settings they have not seen.

Each configuration sets load, CPU and memory limit and replicas of every service, and what disturbs them, on real
processes; nothing scales meanwhile. At the end, and after Ctrl-C, it says which cells of load × CPU × interference
are still empty. See docs/profiling.md.

${exitCodes("all configurations are measured", "failed", "130 stopped by Ctrl-C")}`;

async function run(input: ProfileInput): Promise<void> {
  const options = parseWith(ProfileOptions, input, "the command line");
  const progress = createProgress(process.stderr, process.env);
  const interrupted = new AbortController();
  const release = onInterrupt(() => {
    progress.say("stopping; what is measured is kept, --resume goes on");
    interrupted.abort();
  });
  try {
    await runSweep(options, progress, interrupted.signal);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
  } finally {
    release();
  }
  if (interrupted.signal.aborted) process.exitCode = INTERRUPTED;
}

/** Adds what `tradewind profile` takes and does. */
export function configure(command: Command): void {
  command
    .description(
      "Measure the local platform under many settings, so that latency profiles can be trained and judged.",
    )
    .option("--out <file>", "JSON lines, one for each service and window", ".tradewind/sweep.jsonl")
    .option("--configurations <number>", "how many settings", "200")
    .option("--for-each <duration>", "time for each of them, 6s to 10m", "14s")
    .option("--resume", "go on with the file that is there", false)
    .option("--seed <number>", "the same seed gives the same settings", "1")
    .addOption(
      new Option("--quota <kind>", "how CPU limits are kept")
        .choices(["auto", "cgroup", "emulated"])
        .default("auto"),
    )
    .addHelpText("after", EXAMPLES)
    .action(async (flags: ProfileInput) => run(flags));
}
