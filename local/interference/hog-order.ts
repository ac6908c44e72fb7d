import { z } from "zod";

const seconds = z.number().positive().max(86_400);
const duty = z.number().positive().max(1);

/** What the built-in hog is told, as JSON in its first argument. */
export const HogOrder = z.discriminatedUnion("kind", [
  /** Arithmetic for this share of one core. */
  z.strictObject({ kind: z.literal("cpu"), seconds, duty }),
  /** Copies through memory for this share of the time. */
  z.strictObject({ kind: z.literal("bandwidth"), seconds, duty }),
  /** Two thirds arithmetic, one third memory traffic. */
  z.strictObject({ kind: z.literal("mixed"), seconds, duty }),
  /** Holds so many bytes, and gives up rather than leave fewer than `leaveBytes` free. */
  z.strictObject({
    kind: z.literal("memory"),
    seconds,
    bytes: z.number().positive(),
    leaveBytes: z.number(),
  }),
  /** Sends to itself over loopback. */
  z.strictObject({ kind: z.literal("network"), seconds, bytesPerSecond: z.number().positive() }),
  /** Writes to a disk for this share of the time, and waits until it is there. */
  z.strictObject({ kind: z.literal("disk"), seconds, duty }),
]);
export type HogOrder = z.infer<typeof HogOrder>;
