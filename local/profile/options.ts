import { z } from "zod";
import { duration } from "../duration.ts";

/** What `tradewind profile` can be told. */
export const ProfileOptions = z.strictObject({
  /** JSON lines of core/contract/sweep.ts. */
  out: z.string().min(1).default(".tradewind/sweep.jsonl"),
  configurations: z.coerce.number().int().min(1).max(10_000).default(200),
  /** Time for each configuration, s. */
  forEach: duration(6, 600, "--for-each").prefault("14s"),
  resume: z.boolean().default(false),
  seed: z.coerce.number().int().min(0).max(1_000_000).default(1),
  quota: z.enum(["auto", "cgroup", "emulated"]).default("auto"),
});
export type ProfileOptions = z.output<typeof ProfileOptions>;
export type ProfileInput = z.input<typeof ProfileOptions>;
