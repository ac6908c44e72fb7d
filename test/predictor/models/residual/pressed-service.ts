import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { INPUT_COUNT, DIRECTIONS } from "@tradewind/predictor/models/residual/inputs.ts";
import { parameterCount, signsOf } from "@tradewind/predictor/models/residual/network.ts";
import type { ResidualModel } from "@tradewind/predictor/models/residual/residual-model.ts";
import type { ServiceWindow } from "@tradewind/predictor/models/residual/served-rows.ts";
import { standardNormal } from "@tradewind/core/values/rng.ts";
import { SimulatedService } from "../queue/simulated-container.ts";

export const NO_INTERFERENCE = [Number.NaN, Number.NaN, Number.NaN, Number.NaN] as const;

/** Factor on self time by memory working set over limit: nothing up to 0.7, twice as long at 0.95. */
export const pressed = (memoryRatio: number): number => 1 + 4 * Math.max(0, memoryRatio - 0.7);

/** Memory that fills and is freed every 13 windows. */
export const memoryAt = (at: number): number => 0.4 + (0.55 * (at % 13)) / 12;

/** A service on the simulator's processor; what its memory does to it no queue model knows. */
export function pressedWindows(count: number, factorOf = pressed, meanLoad = 45): ServiceWindow[] {
  const service = new SimulatedService(
    { cores: 1, threads: 8, demandMs: 8, cv: 0.7, housekeepingCores: 0.02, baseMs: 5, baseCv: 0.5 },
    2,
    3,
  );
  return Array.from({ length: count }, (_, at): ServiceWindow => {
    const observation = service.window(meanLoad - 25 * Math.cos(at / 5));
    const memoryRatio = memoryAt(at);
    const factor = factorOf(memoryRatio);
    const times = ["meanSeconds", "p50Seconds", "p95Seconds", "p99Seconds"] as const;
    const inflated = Object.fromEntries(times.map((name) => [name, factor * (observation[name] ?? 0)]));
    return {
      observation: { ...observation, ...inflated },
      surroundings: { memoryRatio, interference: NO_INTERFERENCE },
    };
  });
}

/** Any residual whatever that keeps its signs. */
export function randomResidual(rng: Rng = seededRng(1)): ResidualModel {
  const shape = { inputs: INPUT_COUNT, units: 6 };
  const signs = signsOf(shape, DIRECTIONS);
  const parameters = Float64Array.from({ length: parameterCount(shape) }, (_, i) => {
    const draw = 2 * standardNormal(rng);
    return Math.fround(signs[i] === 0 ? draw : Math.abs(draw) * (signs[i] ?? 1));
  });
  const span = (low: number, high: number): ResidualModel["spans"][number] => {
    const [a, b] = [low + (high - low) * rng(), low + (high - low) * rng()].sort((x, y) => x - y);
    return { low: a!, usual: (a! + b!) / 2, high: b! };
  };
  const ratios = Array.from({ length: INPUT_COUNT - 3 }, () => span(0, 1));
  return {
    namespace: "shop",
    service: "cart",
    version: 1,
    percentile: 0.95,
    trainedAtMs: 1,
    trainingRows: 40,
    reference: { cpuCores: 1, loadPerContainer: 40 },
    curve: -0.5 + 1.5 * rng(),
    curveSpan: span(-2, 2),
    spans: [span(-2, 2), span(0, 5), span(0, 3), ...ratios],
    units: 6,
    parameters,
  };
}
