import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { Sampler } from "../../agent/sampling/sampler.ts";
import { CHANNEL, NONE } from "../../agent/sampling/signal.ts";

const SIGNALS = 1320;
const SECONDS = 1800;

/**
 * What the controller itself costs with 220 containers of 6 signals: CPU time of half an hour with an alarm every 20 s and
 * a new cost balance every 5 s, without the reads.
 */
export function controllerCost(seed: number): Record<string, number> {
  const rng = seededRng(seed);
  const sampler = new Sampler({ capacity: SIGNALS });
  const total = new Float64Array(SIGNALS);
  const noise = Float64Array.from({ length: 4096 }, () => 0.1 + 0.01 * standardNormal(rng));
  for (let signal = 0; signal < SIGNALS; signal += 1) {
    sampler.add({ kind: "counter", tolerance: 0.05, channels: CHANNEL.cpu }, 0);
  }
  let samples = 0;
  let busyMs = 0;
  for (let second = 0; second < SECONDS; second += 1) {
    for (let signal = 0; signal < SIGNALS; signal += 1) {
      total[signal] = (total[signal] ?? 0) + (noise[(second * 31 + signal * 17) & 4095] ?? 0);
    }
    const start = performance.now();
    if (second % 20 === 0) sampler.wake(CHANNEL.cpu, second * 1e3);
    if (second % 5 === 0) sampler.rebalance();
    for (let id = sampler.nextDue(second * 1e3, 500); id !== NONE; id = sampler.nextDue(second * 1e3, 500)) {
      sampler.observe(id, total[id] ?? 0, second * 1e3);
      samples += 1;
    }
    busyMs += performance.now() - start;
  }
  return {
    signals: SIGNALS,
    samplesPerSecond: samples / SECONDS,
    microsPerSample: (busyMs * 1e3) / samples,
    cpuRatio: busyMs / 1e3 / SECONDS,
  };
}
