import { z } from "zod";

/** What our HTTP servers answer in place of what was asked for. */
export const Problem = z.object({
  error: z.object({
    /** A stable word, for programs. */
    code: z.string(),
    /** What happened, to what, and what to do, for people. */
    message: z.string(),
  }),
});
export type Problem = z.infer<typeof Problem>;

const MOST_CHARACTERS = 1_000;

export const problemOf = (code: string, message: string): Problem => ({
  error: { code, message: message.slice(0, MOST_CHARACTERS) },
});
