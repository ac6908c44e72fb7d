import { z } from "zod";

/** A program that the keeper starts and ends. */
export const KeptProgram = z.strictObject({
  file: z.string().min(1),
  args: z.array(z.string()),
  /** Runs under Node.js with a channel, and ends when that closes. */
  isNode: z.boolean(),
  /** The next program waits until this one has printed the text. */
  readyText: z.string().min(1).optional(),
});
export type KeptProgram = z.infer<typeof KeptProgram>;

/** What the keeper is told, as JSON in its first argument. */
export const KeeperOrder = z.strictObject({
  programs: z.array(KeptProgram).min(1).max(256),
  seconds: z.number().positive().max(86_400),
});
export type KeeperOrder = z.infer<typeof KeeperOrder>;

export const FromKeeper = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("started"), pid: z.number().int().positive() }),
  /** All programs run. */
  z.strictObject({ kind: z.literal("ready") }),
  z.strictObject({ kind: z.literal("failed"), why: z.string() }),
]);
export type FromKeeper = z.infer<typeof FromKeeper>;
