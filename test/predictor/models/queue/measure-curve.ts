/** Error of the curve against the simulator's processor, for docs/models.md: `node test/predictor/models/queue/measure-curve.ts`. */
import {
  CFS_PERIOD_SECONDS,
  emptyAnswer,
  P95,
  responseRatio,
} from "@tradewind/predictor/models/queue/queue-curve.ts";
import { quantileOf, SimulatedContainer } from "./simulated-container.ts";
import type { Truth } from "./simulated-container.ts";

const UTILISATIONS = [0.2, 0.4, 0.6, 0.75, 0.88];
const cell = (cores: number, threads: number, demandMs: number, cv: number, nodeCores = 64): Truth => ({
  cores,
  threads,
  demandMs,
  cv,
  nodeCores,
});
const GROUPS: Readonly<Record<string, readonly Truth[]>> = {
  "nine containers": [
    cell(0.12, 1, 7, 0.5),
    cell(0.2, 4, 7, 0.5),
    cell(0.5, 1, 5, 0.5),
    cell(0.5, 8, 5, 0.5),
    cell(1, 1, 5, 0.5),
    cell(1, 8, 5, 0.5),
    cell(2, 1, 5, 0.5),
    cell(2, 16, 5, 0.5),
    cell(4, 32, 8, 0.5),
  ],
  "shared cores": [
    cell(0.2, Infinity, 7, 0.5, 1),
    cell(0.5, Infinity, 5, 0.3, 1),
    cell(1, Infinity, 5, 1, 1),
    cell(1, Infinity, 5, 2, 4),
    cell(0.35, Infinity, 12, 1, 3),
    cell(3, Infinity, 20, 0.8, 4),
    cell(1.5, Infinity, 50, 1.5, 2),
    cell(1, Infinity, 500, 0.5, 4),
  ],
  variation: [
    cell(1, 8, 5, 0.3),
    cell(1, 8, 5, 1),
    cell(1, 8, 5, 2),
    cell(0.5, 2, 30, 1),
    cell(0.5, 4, 500, 0.5),
  ],
};

function modelled({ cores, cv, demandMs, nodeCores, threads }: Truth, utilisation: number): number {
  const out = emptyAnswer();
  const parallelism = Math.min(threads, nodeCores ?? 64);
  responseRatio(
    {
      utilisation,
      parallelism,
      quotaShare: cores / parallelism,
      logPeriodDemands: Math.log((1e3 * CFS_PERIOD_SECONDS) / demandMs),
      logVariation: Math.log(cv),
      isInOrder: threads === 1,
      windowDemands: 0,
    },
    P95,
    out,
  );
  return out.ratio * demandMs;
}

const requests = Number(process.argv[2] ?? 40_000);
for (const [name, truths] of Object.entries(GROUPS)) {
  const errors: number[] = [];
  for (const truth of truths) {
    const row = UTILISATIONS.map((utilisation) => {
      const capacity = Math.min(truth.cores, truth.threads, truth.nodeCores ?? 64);
      const rate = (utilisation * capacity * 1e3) / truth.demandMs;
      const { latencies } = new SimulatedContainer(truth, 7).run(rate, requests / rate);
      return modelled(truth, utilisation) / quantileOf(latencies, 0.95) - 1;
    });
    errors.push(...row);
    const { cores, cv, demandMs, nodeCores, threads } = truth;
    const text = row.map((error) => `${(100 * error).toFixed(0)} %`).join(", ");
    console.log(
      `${cores} cores, ${threads} threads on ${nodeCores ?? 64}, ${demandMs} ms, cv ${cv}: ${text}`,
    );
  }
  const absolute = errors.map(Math.abs);
  const average = absolute.reduce((sum, each) => sum + each, 0) / absolute.length;
  console.log(
    `${name}: mean |error| ${(100 * average).toFixed(1)} %, worst ${(100 * Math.max(...absolute)).toFixed(0)} %`,
  );
}
