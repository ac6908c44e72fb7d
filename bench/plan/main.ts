import { predictOwnTime } from "../../predictor/models/queue/tracked-profile.ts";
import { MixedShape } from "../../predictor/models/level/mixed-shape.ts";
import { shippedNetwork } from "../../predictor/models/network/shipped.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { measureDecisions } from "./decide.ts";
import { percentile } from "../statistics.ts";

const SIZES = [40, 1_000, 2_500];

export const benchmark: Benchmark = {
  summary: "time of a whole decision, from a window to sizes, for 40, 1,000 and 2,500 services on one core",
  run(options) {
    return Promise.resolve(measure(options));
  },
};

function measure(options: BenchmarkOptions): Record<string, unknown> {
  const sizes = measureDecisions(SIZES, options);
  const [small, , large] = sizes;
  const scalingExponent =
    small === undefined || large === undefined
      ? Number.NaN
      : Math.log(large.p50Ms / small.p50Ms) / Math.log(large.services / small.services);
  // `decide` is what reports called these decisions while there was another planner.
  return { sizes, gradientUs: gradientMicros(), scalingExponent, decide: sizes };
}

/** Value and slopes of one service's self time at another load each time, microseconds. */
function gradientMicros(): number {
  const network = shippedNetwork();
  let known = network.empty();
  for (let at = 1; at <= 10; at += 1) {
    const times = { meanSeconds: 0.008, p50Seconds: 0.006, p95Seconds: 0.02, p99Seconds: 0.03 };
    const load = { cpuCores: 0.5, loadPerContainer: 40 + at, cpuUsageCores: 0.005 * (40 + at), calls: 1_000 };
    const surroundings = { memoryRatio: 0.5, interference: [0.1, 0.1, 0.1, 0.1] };
    known = network.after(known, {
      observation: { atMs: 15_000 * at, windowSeconds: 15, ...load, ...times },
      surroundings,
    });
  }
  const here = { cpuCores: 0.5, loadPerContainer: 50 };
  const served = new MixedShape(known.profile, 0.95, {
    network: { network, state: known },
    level: undefined,
    here,
  });
  const out = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  let consumed = 0;
  const batch = (count: number): number => {
    const start = performance.now();
    for (let call = 0; call < count; call += 1) {
      const place = { cpuCores: 0.5, loadPerContainer: 40 + (call % 50) };
      predictOwnTime(known.profile, place, 0.95, out);
      served.apply(place, out, false);
      consumed += out.tailSeconds + out.tailByLoad;
    }
    return ((performance.now() - start) * 1e3) / count;
  };
  batch(20_000);
  const micros = Array.from({ length: 21 }, () => batch(10_000)).sort((a, b) => a - b);
  return Number.isFinite(consumed) ? percentile(micros, 0.5) : Number.NaN;
}
