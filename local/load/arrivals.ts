import { exponential } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { Flow } from "../application/topology.ts";
import type { RateTrace } from "./trace.ts";

export interface Arrival {
  /** Seconds since the start of the load. */
  readonly atSeconds: number;
  readonly route: string;
  /** Number from which every service draws what this request costs it, 1 to 2³¹-1. */
  readonly demandSeed: number;
}

function pickFlow(flows: readonly Flow[], point: number): string {
  const total = flows.reduce((sum, { share }) => sum + share, 0);
  let left = point * total;
  for (const { route, share } of flows) {
    left -= share;
    if (left < 0) return route;
  }
  return flows.at(-1)?.route ?? "";
}

/**
 * Poisson arrivals whose rate follows the trace, stretched over `durationSeconds` and repeated for ever. Unit-exponential
 * gaps are turned into times through the integral of the rate (Çinlar's inversion), so that a step of the trace takes
 * effect at once and the same random numbers give the same requests.
 * @param flows routes with their shares, or what gives them for a time
 */
export function* arrivals(
  trace: RateTrace,
  durationSeconds: number,
  flows: readonly Flow[] | ((atSeconds: number) => readonly Flow[]),
  rng: Rng,
): Generator<Arrival, never> {
  const partSeconds = durationSeconds / trace.length;
  let part = 0;
  let atSeconds = 0;
  for (;;) {
    let events = exponential(rng, 1);
    for (;;) {
      const rate = trace[part % trace.length] ?? 0;
      const endSeconds = (part + 1) * partSeconds;
      const inPart = rate * (endSeconds - atSeconds);
      if (events <= inPart && rate > 0) {
        atSeconds += events / rate;
        break;
      }
      events -= inPart;
      atSeconds = endSeconds;
      part += 1;
    }
    const mix = typeof flows === "function" ? flows(atSeconds) : flows;
    const route = pickFlow(mix, rng());
    yield { atSeconds, route, demandSeed: 1 + Math.floor(rng() * (2 ** 31 - 1)) };
  }
}
