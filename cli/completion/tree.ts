import type { Command } from "commander";

/** An option as a shell completes it. */
export interface CompletedOption {
  /** `--json`, and the short form where there is one. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly value: CompletedValue;
}

/** What follows an option: nothing, one of some words, a file or folder, or anything. */
export type CompletedValue =
  | { readonly kind: "none" | "file" | "any" }
  | { readonly kind: "choice"; readonly choices: readonly string[] };

/** A command as a shell completes it. */
export interface CompletedCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly CompletedOption[];
  /** Words that may follow it: commands below it, or what its argument takes. */
  readonly words: readonly { readonly name: string; readonly description: string }[];
}

const FILES = /<(file|dir|directory|folder|paths)\b/;

/** The commands of a program with their visible options, as it was put together. */
export function completedCommands(program: Command): CompletedCommand[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.summary(),
    options: [command, ...command.commands].flatMap(({ options }) =>
      options.filter(({ hidden }) => !hidden).map((option) => completedOption(option)),
    ),
    words: [
      ...command.commands.map((below) => ({ name: below.name(), description: below.description() })),
      ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
        argChoices.map((name) => ({ name, description: "" })),
      ),
    ],
  }));
}

function completedOption({
  argChoices,
  description,
  flags,
  long,
  short,
}: Command["options"][number]): CompletedOption {
  return {
    flags: [long, short].flatMap((flag) => flag ?? []),
    description,
    value: valueOf(flags, argChoices),
  };
}

function valueOf(flags: string, choices: readonly string[] | undefined): CompletedValue {
  if (choices !== undefined) return { kind: "choice", choices };
  if (FILES.test(flags)) return { kind: "file" };
  return { kind: /[<[]/.test(flags) ? "any" : "none" };
}
