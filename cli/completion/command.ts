import { Argument } from "commander";
import type { Command } from "commander";
import { exitCodes } from "@tradewind/core/terminal/answer.ts";
import { bashCompletion } from "./bash.ts";
import { fishCompletion } from "./fish.ts";
import { completedCommands } from "./tree.ts";
import { zshCompletion } from "./zsh.ts";

const EXAMPLES = `
Examples:
  $ source <(tradewind completion bash)                                            this shell only
  $ tradewind completion bash > ~/.local/share/bash-completion/completions/tradewind
  $ source <(tradewind completion zsh)
  $ tradewind completion fish > ~/.config/fish/completions/tradewind.fish

${exitCodes("printed", "failed")}`;

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
type Shell = keyof typeof SHELLS;

/** Adds description, argument and action to its command, whose parent has every command with its options. */
export function configure(command: Command): void {
  command
    .description("Print what makes a shell complete commands, options and their values.")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SHELLS)))
    .addHelpText("after", EXAMPLES)
    .action((shell: Shell) => {
      process.stdout.write(SHELLS[shell](completedCommands(command.parent ?? command)));
    });
}
