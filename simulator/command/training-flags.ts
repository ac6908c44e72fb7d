import type { Command } from "commander";
import { z } from "zod";

/** A whole number on the command line, within bounds. */
export const wholeNumber = (flag: string, least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `${flag} takes a whole number`)
    .transform(Number)
    .refine((value) => value >= least && value <= most, `${flag} takes a number from ${least} to ${most}`);

/** Flags of every training. */
export const TrainingFlags = z.strictObject({
  seed: wholeNumber("--seed", 0, 2_147_483_647),
  json: z.boolean(),
});

/** @param trained what equal seeds give @param printed what `--json` prints */
export function addTrainingFlags(command: Command, trained: string, printed: string): Command {
  return command
    .option("--seed <n>", `equal seeds give equal ${trained}`, "1")
    .option("--json", `print ${printed} as JSON`, false);
}
