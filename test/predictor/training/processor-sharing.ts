import type { Window } from "@tradewind/core/contract/window.ts";
import { exponential } from "@tradewind/core/rng.ts";
import type { Rng } from "@tradewind/core/rng.ts";

/**
 * Sojourn times of an M/M/1-PS queue by its virtual time: a job leaves when the service given to each job present has grown
 * by the job's size.
 */
export function sojournSeconds(
  arrivalsPerSecond: number,
  meanSeconds: number,
  jobs: number,
  rng: Rng,
): number[] {
  const present: { doneAt: number; arrived: number }[] = [];
  const out: number[] = [];
  let now = 0;
  let given = 0;
  let nextArrival = exponential(rng, 1 / arrivalsPerSecond);
  while (out.length < jobs) {
    const first = present[0];
    const departure = first === undefined ? Infinity : now + (first.doneAt - given) * present.length;
    const until = Math.min(departure, nextArrival);
    if (present.length > 0) given += (until - now) / present.length;
    now = until;
    if (departure <= nextArrival && first !== undefined) {
      present.shift();
      out.push(now - first.arrived);
    } else {
      const job = { doneAt: given + exponential(rng, meanSeconds), arrived: now };
      const place = present.findIndex(({ doneAt }) => doneAt > job.doneAt);
      present.splice(place === -1 ? present.length : place, 0, job);
      nextArrival = now + exponential(rng, 1 / arrivalsPerSecond);
    }
  }
  return out;
}

/** Windows that a size is kept for. */
const WINDOWS_PER_SIZE = 45;

/** Windows of a service of 8 ms CPU per request on containers of several sizes in turn, up to nine tenths busy. */
export function simulatedWindows(cores: readonly number[], count: number, rng: Rng): Window[] {
  return Array.from({ length: count }, (_, i) => {
    const cpuCores = cores[Math.floor(i / WINDOWS_PER_SIZE) % cores.length]!;
    const used = 0.05 + 0.85 * rng();
    const load = (used * cpuCores) / 0.008;
    const times = sojournSeconds(load, 0.008 / cpuCores, 600, rng).sort((a, b) => a - b);
    const startMs = 1_700_000_000_000 + i * 15_000;
    return {
      namespace: "shop",
      service: "cart",
      startMs,
      endMs: startMs + 15_000,
      replicasReady: 2,
      requestsPerSecond: 2 * load,
      ownLatency: {
        count: times.length,
        meanSeconds: times.reduce((sum, time) => sum + time, 0) / times.length,
        p50Seconds: times[300]!,
        p95Seconds: times[570]!,
        p99Seconds: times[594]!,
      },
      callees: [],
      containers: ["a", "b"].map((id) => ({
        id,
        cpuLimitCores: cpuCores,
        cpuUsageCores: load * 0.008 * (1 + 0.05 * (rng() - 0.5)),
        memoryLimitBytes: 5e8,
      })),
    };
  });
}
