import type { Command } from "commander";
import { configure as trainProfile } from "./train-profile.ts";

/** Adds the commands that make what a release ships with. */
export function configure(command: Command): void {
  command.description("Make what a release ships with; nobody who runs Tradewind needs it.");
  const below = command
    .command("train-profile")
    .exitOverride()
    .showHelpAfterError("(--help shows its options)");
  trainProfile(below);
}
