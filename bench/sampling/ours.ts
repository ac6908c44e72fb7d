import { seededRng } from "@tradewind/core/rng.ts";
import { Sampler } from "../../agent/sampling/sampler.ts";
import { CHANNEL, NONE } from "../../agent/sampling/signal.ts";

/** The agent reads what is due within half a tick of its one-second timer. */
const HALF_TICK_MS = 500;

/**
 * Runs the agent's controller as the agent does: the guard once a second, reads at any moment.
 * @returns when it read the signal, s
 */
export function runOurs(options: {
  readonly total: Float64Array;
  readonly alarms: Float64Array;
  readonly tolerance: number;
  readonly seed: number;
}): number[] {
  const { total, alarms, tolerance } = options;
  const sampler = new Sampler({ rng: seededRng(options.seed), capacity: 1 });
  const id = sampler.add({ kind: "counter", tolerance, channels: CHANNEL.cpu }, 0);
  const times: number[] = [];
  const end = total.length - 1;
  for (let second = 0; second <= end; second += 1) {
    const nowMs = second * 1e3;
    const excess = alarms[second] ?? 0;
    if (excess !== 0) sampler.wake(CHANNEL.cpu, nowMs, excess);
    while (sampler.nextDue(nowMs, HALF_TICK_MS) !== NONE) {
      times.push(second);
      sampler.observe(id, total[second] ?? 0, nowMs);
    }
  }
  return times;
}
