import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { z } from "zod";
import { FAULT_KINDS } from "../application/service-fault.ts";
import type { ServiceFault } from "../application/service-fault.ts";

/** A fault with its time in the run. */
export interface TimedFault extends ServiceFault {
  /** Seconds since the start of the load. */
  readonly fromSeconds: number;
  readonly forSeconds: number;
}

/** What `--fault` takes. */
export const FAULT_FORM = "SERVICE:KIND[@FROM[+LENGTH]]";
const FORM = new RegExp(`^([^:@]+):(${FAULT_KINDS.join("|")})(?:@([^+]+)(?:\\+(.+))?)?$`);
const FROM = "45s";
const LENGTH = "40s";

/** `--fault rate:cpu@60s+30s`: a minute after the start of the load, for half a minute. */
export const faultText = z.string().transform((text, context): TimedFault => {
  const [, service = "", kind, from = FROM, length = LENGTH] = FORM.exec(text) ?? [];
  const known = FAULT_KINDS.find((each) => each === kind);
  if (known === undefined) {
    context.addIssue(`--fault takes ${FAULT_FORM} with one of ${FAULT_KINDS.join(", ")}, not '${text}'`);
    return z.NEVER;
  }
  try {
    const [fromSeconds, forSeconds] = [parseDurationSeconds(from), parseDurationSeconds(length)];
    return { service, kind: known, fromSeconds, forSeconds };
  } catch (error) {
    context.addIssue(`--fault ${text}: ${error instanceof Error ? error.message : "not a duration"}`);
    return z.NEVER;
  }
});
