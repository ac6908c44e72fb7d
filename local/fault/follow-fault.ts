import { describeError } from "@tradewind/core/values/errors.ts";
import { carryOut } from "./carry-out.ts";
import type { FaultyFleet } from "./carry-out.ts";
import type { TimedFault } from "./fault-text.ts";
import { FAULT_WORDS } from "../application/service-fault.ts";

/** Brings a fault about when its time comes, and ends it when that is over. */
export interface FaultSchedule {
  /**
   * To be called about once a second. Never waits for a change and never throws: what fails is said, and not tried again.
   * @param atS seconds since the start of the load
   */
  follow(atS: number): void;
}

export interface FaultEvents {
  readonly say: (text: string) => void;
  readonly nowMs: () => number;
  /** Called when the fault ends, before it is undone. @returns what is to be said of it */
  readonly onOver: (
    fault: TimedFault,
    time: { readonly fromMs: number; readonly toMs: number },
  ) => Promise<string>;
}

export function scheduleFault(
  fault: TimedFault | undefined,
  fleet: FaultyFleet,
  { nowMs, onOver, say }: FaultEvents,
): FaultSchedule {
  let end: (() => Promise<void>) | undefined;
  let isBegun = false;
  let isChanging = false;
  let fromMs = 0;

  const begin = async (begun: TimedFault): Promise<void> => {
    say(`${begun.service}  fault: ${FAULT_WORDS[begun.kind]}; tradewind explain says what it makes of it`);
    fromMs = nowMs();
    end = await carryOut(begun, fleet);
  };
  const finish = async (over: TimedFault): Promise<void> => {
    const told = await onOver(over, { fromMs, toMs: nowMs() });
    say(`${over.service}  the fault ends; ${told}`);
    await end?.();
  };
  return {
    follow(atS) {
      if (fault === undefined || isChanging) return;
      const isOn = atS >= fault.fromSeconds && atS < fault.fromSeconds + fault.forSeconds;
      if (isOn === isBegun) return;
      isBegun = isOn;
      isChanging = true;
      (isOn ? begin(fault) : finish(fault))
        .catch((error: unknown) => say(`${fault.service}  the fault: ${describeError(error)}`))
        .finally(() => {
          isChanging = false;
        });
    },
  };
}
