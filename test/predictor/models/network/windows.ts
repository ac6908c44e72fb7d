import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { LatencyNetwork, NetworkWindow } from "@tradewind/predictor/models/network/latency-network.ts";
import type { NetworkState } from "@tradewind/predictor/models/network/latency-network.ts";
import { WEIGHT_COUNT } from "@tradewind/predictor/models/network/shape.ts";

/** A window of an M/M/1 container with 10 ms of CPU a request. */
export function windowAt(atMs: number, load: number, cores: number | undefined): NetworkWindow {
  const use = Math.min(0.95, (0.01 * load) / (cores ?? 1));
  const mean = 0.01 / (1 - use);
  return {
    observation: {
      atMs,
      windowSeconds: 15,
      cpuCores: cores,
      cpuUsageCores: 0.01 * load,
      loadPerContainer: load,
      calls: Math.round(15 * load),
      meanSeconds: mean,
      p50Seconds: 0.7 * mean,
      p95Seconds: 3 * mean,
      p99Seconds: 4.6 * mean,
      throttledRatio: use ** 4,
    },
    surroundings: { memoryRatio: 0.8, interference: [0.1, Number.NaN, 0.05, 0] },
  };
}

/** Weights of a network that nobody trained. */
export function randomWeights(seed: number, scale: number): Float64Array {
  const rng = seededRng(seed);
  return Float64Array.from({ length: WEIGHT_COUNT }, () => scale * standardNormal(rng));
}

/** What a network knows after some windows of moving load and size. */
export function stateAfter(network: LatencyNetwork, windows: number, seed: number): NetworkState {
  const rng = seededRng(seed);
  let state = network.empty();
  for (let i = 0; i < windows; i += 1)
    state = network.after(state, windowAt(15_000 * (i + 1), 10 + 60 * rng(), rng() < 0.3 ? 1.5 : 1));
  return state;
}

/** Places of all kinds: far below and far above what was seen. */
export const placeBy = (rng: () => number) => ({
  cpuCores: 0.05 * 100 ** rng(),
  loadPerContainer: 0.5 * 1_000 ** rng(),
  memoryScale: 0.4 + 1.6 * rng(),
  interference: [rng(), rng(), rng(), rng()],
});
