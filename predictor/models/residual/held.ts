import { EpochMs, NonNegative } from "@tradewind/core/contract/quantity.ts";
import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import { z } from "zod";
import type { Surroundings } from "./inputs.ts";

/** A value, and the end of the window that it was seen in. */
const HeldValue = z.strictObject({ value: NonNegative, atMs: EpochMs });
type HeldValue = z.infer<typeof HeldValue>;

/** The worst surroundings of a service of late; null where never measured. */
export const HeldSurroundings = z.strictObject({
  memoryRatio: HeldValue.nullable(),
  interference: z.array(HeldValue.nullable()).length(INTERFERENCE_COMPONENTS.length),
});
export type HeldSurroundings = z.infer<typeof HeldSurroundings>;

/** A lower value takes the place of a higher one only when that is older than `holdMs`. */
export function hold(
  before: HeldSurroundings | undefined,
  { interference, memoryRatio }: Surroundings,
  { atMs, holdMs }: { readonly atMs: number; readonly holdMs: number },
): HeldSurroundings {
  const next = (had: HeldValue | null | undefined, value: number): HeldValue | null => {
    const kept = had ?? null;
    if (!Number.isFinite(value)) return kept;
    return kept !== null && kept.value > value && atMs - kept.atMs < holdMs ? kept : { value, atMs };
  };
  return {
    memoryRatio: next(before?.memoryRatio, memoryRatio),
    interference: interference.map((value, i) => next(before?.interference[i], value)),
  };
}

export const surroundingsHeld = ({ interference, memoryRatio }: HeldSurroundings): Surroundings => ({
  memoryRatio: memoryRatio?.value ?? Number.NaN,
  interference: interference.map((each) => each?.value ?? Number.NaN),
});

/** The same after the wall clock was set. */
export function shiftHeld(held: HeldSurroundings, at: (ms: number) => number): HeldSurroundings {
  const shifted = (each: HeldValue | null): HeldValue | null => each && { ...each, atMs: at(each.atMs) };
  return { memoryRatio: shifted(held.memoryRatio), interference: held.interference.map(shifted) };
}
