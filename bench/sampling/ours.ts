import { Sampler } from "../../agent/sampling/sampler.ts";
import { CHANNEL, NONE } from "../../agent/sampling/signal.ts";
import { totalAt } from "./trace.ts";

/** What falls due within this time is read now, as in the agent (agent/read/schedule.ts). */
const AHEAD_MS = 100;
/** Readings are due this much before a window ends, as in the agent. */
const LEAD_MS = 1_000;

/** When within a second the agent's cycles come, [0, 1): the guard and the reads. */
export function cycleOffset(seed: number): number {
  return (seed * 0.37) % 1;
}

/**
 * Runs the agent's controller as the agent does: once a second the guard, and what is due.
 * @returns when it read the signal, s
 */
export function runOurs(options: {
  readonly total: Float64Array;
  readonly alarms: readonly boolean[];
  readonly tolerance: number;
  readonly seed: number;
}): number[] {
  const { total, alarms, tolerance } = options;
  const sampler = new Sampler({ capacity: 1 });
  sampler.align(-LEAD_MS);
  const id = sampler.add({ kind: "counter", tolerance, channels: CHANNEL.cpu }, 0);
  const times: number[] = [];
  for (let second = cycleOffset(options.seed); second <= total.length - 1; second += 1) {
    const nowMs = second * 1e3;
    if (alarms[Math.floor(second)] === true) sampler.wake(CHANNEL.cpu, nowMs);
    while (sampler.nextDue(nowMs, AHEAD_MS) !== NONE) {
      times.push(second);
      sampler.observe(id, totalAt(total, second), nowMs);
    }
  }
  return times;
}
