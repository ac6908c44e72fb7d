import type { Fleet } from "../application/fleet.ts";
import { carryOut } from "./carry-out.ts";
import type { TimedFault } from "./fault-text.ts";
import { FAULT_WORDS } from "./service-fault.ts";

/** Brings a fault about when its time comes, and ends it when that is over. */
export interface FaultSchedule {
  /** To be called about once a second. @param atS seconds since the start of the load */
  follow(atS: number): Promise<void>;
}

export function scheduleFault(
  fault: TimedFault | undefined,
  fleet: Fleet,
  say: (text: string) => void,
): FaultSchedule {
  let end: (() => Promise<void>) | undefined;
  return {
    async follow(atS) {
      if (fault === undefined) return;
      const isOn = atS >= fault.fromSeconds && atS < fault.fromSeconds + fault.forSeconds;
      if (isOn === (end !== undefined)) return;
      if (end === undefined) {
        end = await carryOut(fault, fleet);
        say(
          `${fault.service}  fault: ${FAULT_WORDS[fault.kind]}; tradewind explain says what it makes of it`,
        );
      } else {
        await end();
        end = undefined;
        say(`${fault.service}  the fault has ended`);
      }
    },
  };
}
