import type { Call, Candidate, Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import { SIGNAL_NAMES } from "@tradewind/predictor/answers/reason/signals.ts";

const PAST = 120;
const SINCE = 4;
const FAN_OUT = 3;

/** An incident of as many services as asked for in a tree, every signal of each present: what the time limits are measured on. */
export function largeIncident(services: number, rng: () => number): Incident {
  const slow = Math.floor(rng() * services);
  const candidates = Array.from({ length: services }, (_, at): Candidate => {
    const series = SIGNAL_NAMES.map((signal) => {
      const level = 0.1 + rng();
      const around = (factor: number) => (): number => factor * level * (0.9 + 0.2 * rng());
      return {
        signal,
        normal: Float64Array.from({ length: PAST }, around(1)),
        now: Float64Array.from({ length: SINCE }, around(at === slow ? 3 : 1)),
      };
    });
    return { name: `service-${at}`, series };
  });
  const calls = candidates
    .slice(1)
    .map(({ name }, at): Call => ({ caller: `service-${Math.floor(at / FAN_OUT)}`, callee: name }));
  return { entry: "service-0", candidates, calls, leastPast: 40 };
}
