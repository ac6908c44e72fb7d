import type { Command } from "commander";
import { configure as trainProfile } from "./train-profile.ts";

const EXAMPLES = `
Examples:
  tradewind lab train-profile --services 40 --steps 30 --held-out 5 --json
      A short run that shows it works.`;

/** Adds the commands that make what a release ships with. */
export function configure(command: Command): void {
  command
    .description("Make what a release ships with. Running Tradewind does not need it.")
    .addHelpText("after", EXAMPLES);
  const below = command
    .command("train-profile")
    .exitOverride()
    .showHelpAfterError("(--help shows its options)");
  trainProfile(below);
}
