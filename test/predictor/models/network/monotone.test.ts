import { expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { emptyNetworkAnswer } from "@tradewind/predictor/models/network/head.ts";
import { LatencyNetwork } from "@tradewind/predictor/models/network/latency-network.ts";
import type { Question } from "@tradewind/predictor/models/network/latency-network.ts";
import { QUANTILES } from "@tradewind/predictor/models/network/shape.ts";
import { placeBy, randomWeights, stateAfter } from "./windows.ts";

const answer = emptyNetworkAnswer();
const worse = emptyNetworkAnswer();

it("a latency network of any weights never answers longer for more cores or memory, nor shorter for more load or interference, in 100,000 pairs of places", () => {
  const rng = seededRng(1);
  let wrong = 0;
  for (let round = 0; round < 50; round += 1) {
    const network = new LatencyNetwork(randomWeights(round, 0.02 + 0.6 * rng()));
    const state = stateAfter(network, 4 + Math.floor(20 * rng()), round);
    for (let pair = 0; pair < 2_000; pair += 1) {
      const place = placeBy(rng);
      const factor = 1 + 2 * rng() ** 3;
      const moved = [
        { ...place, cpuCores: place.cpuCores / factor },
        { ...place, loadPerContainer: place.loadPerContainer * factor },
        { ...place, memoryScale: place.memoryScale / factor },
        { ...place, interference: place.interference.map((each) => Math.min(1, each * factor)) },
      ][pair % 4] as Question;
      network.at(state, place, answer);
      network.at(state, moved, worse);
      for (let q = 0; q < QUANTILES.length; q += 1) {
        const here = answer.logs[q] ?? Number.NaN;
        if (!((worse.logs[q] ?? Number.NaN) >= here - 1e-9 * Math.max(1, Math.abs(here)))) wrong += 1;
      }
      if (!(answer.byCores <= 0 && answer.byLoad >= 0 && answer.byMemory <= 0)) wrong += 1;
    }
  }
  expect(wrong).toBe(0);
});
