import type { LocalOptions } from "./options.ts";
import type { Outage } from "./outage.ts";
import { parsePolicy } from "./policy.ts";
import type { Processes } from "./supervise/processes.ts";

/** By then a few windows with load were planned on, which students decide from. s */
const STUDENTS_FROM_SECONDS = 30;

/**
 * Kills the predictor for good when its time has come, as `--kill-predictor` and policy `students` ask for it.
 * @returns to be called about once a second with the seconds since the start of the load
 */
export function endPredictor(
  { killPredictor, policy, silence }: Pick<LocalOptions, "killPredictor" | "policy" | "silence">,
  {
    outage,
    processes,
    say,
  }: {
    readonly processes: Pick<Processes, "end">;
    readonly outage: Outage;
    readonly say: (text: string) => void;
  },
): (atS: number) => void {
  const parsed = parsePolicy(policy);
  const isByStudents = parsed.kind === "tradewind" && parsed.isByStudents === true;
  const fromS = killPredictor ?? (isByStudents ? STUDENTS_FROM_SECONDS : undefined);
  let isEnded = false;
  return (atS) => {
    if (fromS === undefined || atS < fromS || isEnded) return;
    isEnded = true;
    processes.end("predictor");
    outage.begin(atS);
    const then = silence === "students" ? "decides by its students from then on" : "holds its last decision";
    say(`killed the predictor for good; once it is missed the scaler ${then}`);
  };
}
