import { z } from "zod";
import { EpochMs, ObjectName } from "./quantity.ts";

/** What is looked at before an application may be set to `act`, in the order in which it is said. */
export const READY_CHECKS = [
  "seen",
  "plan",
  "telemetry",
  "model",
  "steady",
  "objective",
  "maximum",
  "autoscalers",
  "fallback",
] as const;

export const ReadyCheck = z.strictObject({
  code: z.enum(READY_CHECKS),
  isMet: z.boolean(),
  /** Where it is not met: worth knowing, and no reason against `act`. Absent: it is one. */
  isNote: z.literal(true).optional(),
  /** What was found, with its numbers, and what to do where it is not met. */
  text: z.string().max(1_000),
  facts: z.record(z.string().max(64), z.number()),
});
export type ReadyCheck = z.infer<typeof ReadyCheck>;

export const READY_SCHEMA = "tradewind.dev/ready/v1";

/** Whether an application can be set to `act`: `GET /v1/ready` of the scaler. */
export const Readiness = z.strictObject({
  schema: z.literal(READY_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  atMs: EpochMs,
  /** Every check is met, or not met and a note. */
  isSafe: z.boolean(),
  checks: z.array(ReadyCheck).max(READY_CHECKS.length),
});
export type Readiness = z.infer<typeof Readiness>;

/** A reason not to act yet. */
export const standsAgainst = ({ isMet, isNote }: ReadyCheck): boolean => !isMet && isNote !== true;

/** `act is safe`, or `not yet, because …` with the first sentence of each check that stands against it. */
export function verdictText({ checks }: Pick<Readiness, "checks">): string {
  const open = checks.filter(standsAgainst);
  if (open.length === 0) return "act is safe";
  return `not yet, because ${open.map(({ text }) => text.split(";")[0] ?? "").join("; ")}`;
}
