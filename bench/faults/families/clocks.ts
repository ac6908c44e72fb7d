import type { Fault } from "../fault.ts";
import type { Pod } from "../stage/setting.ts";

const GROWS_WITHIN = 9;

/** A step of the wall clock of nodes, while users wait 2.5 times the objective; the monotonic clock goes on. */
function stepped(name: string, summary: string, pods: readonly Pod[], seconds: number): Fault {
  return {
    name,
    summary,
    stage: "clocks",
    seconds: 12,
    growsWithin: GROWS_WITHIN,
    survives: true,
    begin: async (stage) => {
      for (const pod of pods) await stage.setClock(pod, seconds);
    },
    end: async (stage) => {
      for (const pod of pods) await stage.setClock(pod, 0);
    },
  };
}

export const CLOCK_FAULTS: readonly Fault[] = [
  stepped("clock-ahead", "the wall clock of the younger pod's node jumps a minute ahead", [1], 60),
  stepped("clock-back", "the wall clocks of both nodes jump two minutes back", [0, 1], -120),
  stepped("clock-back-one", "the wall clock of the older pod's node jumps two minutes back", [0], -120),
];
