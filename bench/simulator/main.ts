/**
 * `simulator`: how fast simulated time goes.
 *
 * - `hotel`: Hotel Reservation at 1,000 requests a second for 400 minutes (4 with --quick), no traces.
 * - `traced`: the same for 20 minutes (2) with a tenth of the traces and a window set every 15 s.
 * - `generated`: 2,500 services at 100 requests a second for 10 minutes (1), traced and read in the same way.
 *
 * A run is measured in parts of one simulated minute; the first part is left out. `eventsPerSecond` is the median over parts by
 * wall clock, `eventsPerCpuSecond` by CPU time of the process, which is what counts on a shared machine. `rssBytes` is taken
 * after the first tenth and at the end: it must not grow. The hash of the account tells whether two runs were the same.
 */
import { median } from "@tradewind/core/values/statistics.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { generated } from "../../simulator/applications/generated.ts";
import { hotelReservation } from "../../simulator/applications/hotel-reservation.ts";
import type { ApplicationModel } from "../../simulator/model/application-model.ts";
import { replicasFor } from "../../simulator/model/demand.ts";
import { lognormal } from "../../simulator/model/distribution.ts";
import { steady } from "../../simulator/model/load.ts";
import { plantOf } from "../../simulator/plant.ts";
import { SimulatedWorld } from "../../simulator/simulated-world.ts";
import { NO_FAULTS } from "../../simulator/world.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";

const UTILISATION = 0.6;
const WINDOW_SECONDS = 15;
/** A window is read so long after its end. */
const GRACE_SECONDS = 5;

interface Case {
  readonly name: string;
  readonly application: ApplicationModel;
  readonly requestsPerSecond: number;
  readonly minutes: number;
  readonly sampledRatio: number;
}

function cases(quick: boolean): Case[] {
  const hotel = hotelReservation(replicasFor(hotelReservation(), 1_000, UTILISATION));
  return [
    {
      name: "hotel",
      application: hotel,
      requestsPerSecond: 1_000,
      minutes: quick ? 4 : 400,
      sampledRatio: 0,
    },
    {
      name: "traced",
      application: hotel,
      requestsPerSecond: 1_000,
      minutes: quick ? 2 : 20,
      sampledRatio: 0.1,
    },
    {
      name: "generated",
      application: generated({ services: 2_500, seed: 1 }),
      requestsPerSecond: 100,
      minutes: quick ? 2 : 10,
      sampledRatio: 0.1,
    },
  ];
}

function worldOf(
  { application, minutes, name, requestsPerSecond, sampledRatio }: Case,
  seed: number,
): SimulatedWorld {
  const pods = application.services.reduce((sum, { replicas }) => sum + replicas, 0);
  const model = {
    application,
    load: steady(requestsPerSecond),
    seconds: minutes * 60,
    cluster: {
      nodes: Math.ceil(pods / 12),
      nodeCores: 16,
      nodeMemoryBytes: 64e9,
      podStartMs: lognormal(45_000, 0.2),
    },
    telemetry: { sampledRatio, spanDelaySeconds: 1 },
  };
  const plant = plantOf({ name, about: "measures speed", objective: { milliseconds: 150 }, model });
  return new SimulatedWorld({
    model: { ...model, startMs: plant.startMs },
    application: plant.application,
    faults: NO_FAULTS,
    windowSeconds: WINDOW_SECONDS,
    seed,
  });
}

/** One simulated minute, with its windows where traces are kept. */
function minute(world: SimulatedWorld, startMs: number, traced: boolean): void {
  for (let second = WINDOW_SECONDS; second <= 60; second += WINDOW_SECONDS) {
    world.advanceTo(startMs + 1e3 * (second - WINDOW_SECONDS + GRACE_SECONDS));
    const endMs = startMs + 1e3 * (second - WINDOW_SECONDS);
    if (traced) world.windowSet(endMs - 1e3 * WINDOW_SECONDS, endMs);
    world.advanceTo(startMs + 1e3 * second);
  }
}

interface Part {
  readonly events: number;
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
}

function measure(world: SimulatedWorld, startMs: number, traced: boolean): Part {
  const events = world.eventCount;
  const wallMs = performance.now();
  const cpu = process.cpuUsage();
  minute(world, startMs, traced);
  const { system, user } = process.cpuUsage(cpu);
  return {
    events: world.eventCount - events,
    wallSeconds: (performance.now() - wallMs) / 1e3,
    cpuSeconds: (system + user) / 1e6,
  };
}

function run(each: Case, { progress, seed }: BenchmarkOptions): Record<string, unknown> {
  const world = worldOf(each, seed);
  const startMs = world.nowMs;
  const parts: Part[] = [];
  const early = Math.max(1, Math.floor(each.minutes / 10));
  let rssEarlyBytes = 0;
  let saidMs = performance.now();
  for (let at = 0; at < each.minutes; at += 1) {
    parts.push(measure(world, startMs + 60_000 * at, each.sampledRatio > 0));
    if (at === early) rssEarlyBytes = process.memoryUsage().rss;
    if (performance.now() - saidMs < 10_000) continue;
    saidMs = performance.now();
    const spent = parts.reduce((sum, { wallSeconds }) => sum + wallSeconds, 0);
    progress(
      `${each.name}: minute ${at + 1} of ${each.minutes}, ${Math.round((spent / (at + 1)) * (each.minutes - at - 1))} s left`,
    );
  }
  const account = world.account();
  const wallSeconds = parts.reduce((sum, part) => sum + part.wallSeconds, 0);
  const cpuSeconds = parts.reduce((sum, part) => sum + part.cpuSeconds, 0);
  const warm = parts.slice(1);
  return {
    services: each.application.services.length,
    requestsPerSecond: each.requestsPerSecond,
    simulatedMinutes: each.minutes,
    sampledRatio: each.sampledRatio,
    events: world.eventCount,
    requests: account.routes.reduce((sum, { requests }) => sum + requests, 0),
    wallSeconds,
    cpuSeconds,
    samples: warm.length,
    eventsPerSecond: median(warm.map(({ events, wallSeconds: wall }) => events / wall)),
    eventsPerCpuSecond: median(warm.map(({ cpuSeconds: cpu, events }) => events / cpu)),
    simulatedMinutesPerSecond: each.minutes / wallSeconds,
    simulatedMinutesPerCpuSecond: each.minutes / cpuSeconds,
    rssEarlyBytes,
    rssBytes: process.memoryUsage().rss,
    accountHash: contentHash(JSON.stringify(account)),
  };
}

export const benchmark: Benchmark = {
  summary: "events a second and memory of the discrete-event simulator",
  run: async (options) => {
    const results = new Map(cases(options.quick).map((each) => [each.name, run(each, options)]));
    const { eventsPerCpuSecond, eventsPerSecond, rssBytes, simulatedMinutesPerSecond } =
      results.get("hotel") ?? {};
    return Promise.resolve({
      eventsPerSecond,
      eventsPerCpuSecond,
      simulatedMinutesPerSecond,
      rssBytes,
      cases: Object.fromEntries(results),
    });
  },
};
