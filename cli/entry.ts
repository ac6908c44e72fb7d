import type { Command } from "commander";

/** What every `command.ts` exports. */
export interface CommandModule {
  /** Adds description, options, examples and the action. */
  configure(command: Command): void;
}

export interface CommandEntry {
  readonly name: string;
  /** An older name that goes on working. */
  readonly alias?: string;
  /** One line for the list of commands, which must not load the packages behind them. */
  readonly summary: string;
  readonly group: string;
  /** The processes that it asks, by its flags `--scaler` and `--predictor`; absent where it asks none. */
  readonly asks?: { readonly scaler?: "one" | "every"; readonly predictor?: "one" };
  readonly load: () => Promise<CommandModule>;
}

/** Headings of the list of commands. */
export const PROCESSES = "Processes, one for each image:";
export const TRY = "On one machine:";
export const BEGIN = "In a cluster:";
export const LOOK = "Looking after it:";
