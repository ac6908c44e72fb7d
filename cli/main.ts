/** The `tradewind` command. Loads only the package of the command that was asked for. */
import { Command, CommanderError } from "commander";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { printable } from "@tradewind/core/values/printable.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { COMMANDS } from "./commands.ts";

const EXAMPLES = `
Examples:
  tradewind local                                    watch the whole of it work on this machine until Ctrl-C
  tradewind local --for 150s --seed 7 --json run.json    the same as a measured run that ends by itself
  tradewind agent --listen 0.0.0.0:9810              metrics of this node for Prometheus and the predictor
  tradewind status                                   what is recommended, what changed last and why
  tradewind what-if --service cart --replicas +1     p95 and cost with one more replica, before anything changes
  tradewind predictor --help                         options of one command

Exit codes: 0 done; 1 failed, or doctor found a problem; 2 the command line, or a file that it names, must be changed;
130 interrupted before it was done.`;

const USAGE = 2;

/** What the user gave is the user's to change, be it a flag or a file: codes that begin with `invalid-`. Anything else is a failure. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  return error instanceof TradewindError && error.code.startsWith("invalid-") ? USAGE : 1;
}

async function main(args: readonly string[]): Promise<void> {
  const program = new Command("tradewind")
    .description("Keeps microservice applications inside their latency objective at the lowest cost.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help; with a command, its options")
    .usage("<command> [options]")
    .addHelpText("after", EXAMPLES)
    .showHelpAfterError("(tradewind --help lists the commands)")
    // So that `tradewind kubectl` can leave what follows a command to that command.
    .enablePositionalOptions()
    .exitOverride();
  const asked = args[0] === "help" ? args[1] : args[0];
  for (const { alias, name, summary, group, load } of COMMANDS) {
    const command = program.command(name).summary(summary).helpGroup(group);
    if (alias !== undefined) command.alias(alias);
    command.exitOverride().showHelpAfterError(`(tradewind ${name} --help shows its options)`);
    // Completion is made of the options of all of them.
    const isAsked = asked !== undefined && (name === asked || alias === asked);
    if (isAsked || asked === "completion") (await load()).configure(command);
  }
  if (args.length === 0) program.outputHelp();
  else await program.parseAsync(args, { from: "user" });
}

// Whoever reads may have seen enough (`| head`), which is no failure. A command that listens too has things to end first.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (process.stdout.listenerCount("error") > 1) return;
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

// A process that was started with an IPC channel belongs to the one that started it, and ends with it.
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();
if ("connected" in process && !process.connected) process.exit(1);

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) console.error(`tradewind: ${printable(describeError(error))}`);
  process.exitCode = exitCodeOf(error);
}
