import type { Fault } from "../fault.ts";
import type { Pod } from "../../stage/setting.ts";

/** As elsewhere, and the time in which an exporter takes the other predictor's plan. */
const GROWS_WITHIN = 12;

/** A step of the wall clock of nodes; the monotonic clock goes on, and so do the senders' clocks. */
function stepped(
  name: string,
  summary: string,
  pods: readonly Pod[],
  seconds: number,
  more: Partial<Fault> = { growsWithin: GROWS_WITHIN },
): Fault {
  return {
    name,
    summary,
    stage: "clocks",
    seconds: 15,
    survives: true,
    ...more,
    begin: async (stage) => {
      for (const pod of pods) await stage.setClock(pod, seconds);
    },
    end: async (stage) => {
      for (const pod of pods) await stage.setClock(pod, 0);
    },
  };
}

export const CLOCK_FAULTS: readonly Fault[] = [
  stepped(
    "clock-ahead",
    "the wall clock of the younger pod's node jumps a minute ahead, users wait",
    [1],
    60,
  ),
  stepped("clock-back", "the wall clocks of both nodes jump two minutes back", [0, 1], -120, {}),
  stepped(
    "clock-back-one",
    "the wall clock of the older pod's node jumps two minutes back, users wait",
    [0],
    -120,
  ),
];
