import { median } from "@tradewind/core/values/statistics.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { slope } from "../statistics.ts";
import { replay } from "./run.ts";
import type { RunFigures } from "./run.ts";

const CONTAINERS_PER_SERVICE = 20;
const SIZES = [500, 1_000, 1_500, 2_000, 2_500];

/**
 * Synthetic traces from protobuf bytes to windows, as in the predictor: decode, add, assemble, sum up, build. All
 * figures but the exponent are of the largest size. `spansPerSecond` is spans per second of CPU time, all threads of
 * the process together; `windowBuildMs` the CPU time of the slowest build (wall times go to standard error); `containers` all containers of all
 * services; `rssBytes` the most the process ever held; `scalingExponent` the slope of log(CPU time per window) over
 * log(services) at the same load per service, 1 being linear.
 */
export const benchmark: Benchmark = {
  summary: "OTLP spans per second into windows, window build time and memory at 2,500 services",
  run,
};

async function run({ seed, quick, progress }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const windows = quick ? 1 : 5;
  const sizes = quick ? [100, 200] : SIZES;
  const rounds: Round[] = [];
  for (const services of sizes) {
    progress(`taking in the traffic of ${services} services, ${windows} windows of 15 s`);
    const figures = await replay({
      services,
      containersPerService: CONTAINERS_PER_SERVICE,
      windows,
      spansPerServiceSecond: 10,
      seed,
    });
    const round = { services, figures };
    progress(`  ${described(round)}`);
    rounds.push(round);
  }
  const largest = rounds.at(-1);
  if (largest === undefined) throw new Error("no size was measured");
  return {
    spansPerSecond: Math.round(spansPerSecond(largest)),
    services: largest.services,
    containers: largest.services * CONTAINERS_PER_SERVICE,
    windowBuildMs: Math.max(...largest.figures.buildCpuMs),
    rssBytes: process.resourceUsage().maxRSS * 1024,
    scalingExponent: slope(rounds.map((round) => [Math.log(round.services), Math.log(cpuMs(round))])),
  };
}

interface Round {
  readonly services: number;
  readonly figures: RunFigures;
}

const cpuMs = ({ figures }: Round): number =>
  figures.buildCpuMs.reduce((sum, ms) => sum + ms, figures.ingestCpuMs);
const spansPerSecond = ({ figures }: Round): number => (1e3 * figures.spans) / figures.ingestCpuMs;

function described(round: Round): string {
  const { spans, buildCpuMs, buildWallMs } = round.figures;
  return (
    `${spans} spans, ${spansPerSecond(round).toFixed(0)} per second of CPU; ${buildCpuMs.length} builds, ` +
    `CPU ${spread(buildCpuMs)}, wall ${spread(buildWallMs)}`
  );
}

function spread(valuesMs: readonly number[]): string {
  return `${median(valuesMs).toFixed(1)} ms (median) to ${Math.max(...valuesMs).toFixed(1)} ms (slowest)`;
}
