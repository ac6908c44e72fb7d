import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { createHttpClient } from "../application/call.ts";
import type { HttpClient } from "../application/call.ts";
import { HOTEL } from "../application/hotel.ts";
import { bearable, planAnomaly } from "../interference/anomaly.ts";
import { startNoise } from "../interference/interference.ts";
import type { Interference } from "../interference/interference.ts";
import { measureCopyRate, readMachine } from "../interference/machine.ts";
import { noiseOf } from "../interference/programs.ts";
import { arrivals } from "../load/arrivals.ts";
import { startLoad } from "../load/generator.ts";
import { startPlatform } from "../platform.ts";
import type { Platform } from "../platform.ts";
import type { Progress } from "../screen/progress.ts";
import { formatSeconds } from "@tradewind/core/values/amounts.ts";
import { coverageOf, describeCoverage } from "./coverage.ts";
import { designSweep, interferenceName, SWEEP_FLOWS } from "./design.ts";
import type { Configuration } from "./design.ts";
import type { ProfileOptions } from "./options.ts";
import { rowsOf } from "./rows.ts";
import type { Measured } from "./rows.ts";
import { openSweepFile } from "./sweep-file.ts";
import type { SweepFile } from "./sweep-file.ts";
import { collectWindows } from "./window-collector.ts";
import type { WindowCollector } from "./window-collector.ts";

/** From a new setting until queues have found their length. */
const SETTLE_SECONDS = 2;
/** Windows that are measured of each configuration: one long one, because the p95 of a few dozen calls is mostly chance. */
const WINDOWS_EACH = 1;
const RESCALE_TIMEOUT_MILLIS = 60_000;
/** After the end of a window: late spans, closing it, and the next poll. */
const WINDOW_TIMEOUT_MILLIS = 20_000;
const OBJECTIVE_SECONDS = 0.3;

/** Whole seconds, so that settling, half a window of alignment in the mean, and the measured windows fill the time. */
export const windowSecondsFor = (forEachSeconds: number): number =>
  Math.max(1, Math.floor((forEachSeconds - SETTLE_SECONDS) / (WINDOWS_EACH + 0.5)));

interface Sweep {
  readonly options: ProfileOptions;
  readonly windowSeconds: number;
  readonly platform: Platform;
  readonly client: HttpClient;
  readonly copyBytesPerSecond: number;
  readonly signal: AbortSignal;
}

async function setUp({ platform: { fleet }, signal }: Sweep, { services }: Configuration): Promise<void> {
  for (const { service, replicas, size } of services) {
    await fleet.resize(service, size);
    fleet.scale(service, replicas);
  }
  await fleet.settled(AbortSignal.any([signal, AbortSignal.timeout(RESCALE_TIMEOUT_MILLIS)]));
}

async function disturb(
  { options, copyBytesPerSecond, platform }: Sweep,
  { disturbance }: Configuration,
): Promise<Interference | undefined> {
  if (disturbance === undefined) return undefined;
  const machine = readMachine();
  const seconds = 3 * options.forEach;
  const searchPath = process.env["PATH"] ?? "";
  const anomaly = planAnomaly(disturbance.resource, disturbance.intensity, machine);
  const noise = noiseOf(anomaly, { seconds, machine, searchPath, port: 0, copyBytesPerSecond });
  const running = startNoise(noise, seconds, (pid) => platform.register.add("interference", pid));
  await running.ready;
  return running;
}

/** Brings the platform into a configuration and lets it run for the time of its windows. */
async function measure(sweep: Sweep, configuration: Configuration, seed: number): Promise<Measured> {
  const { platform, client, windowSeconds, signal } = sweep;
  await setUp(sweep, configuration);
  const noise = await disturb(sweep, configuration);
  const rate = [configuration.requestsPerSecond];
  const load = startLoad({
    arrivals: arrivals(rate, sweep.options.forEach, SWEEP_FLOWS, seededRng(seed)),
    balancer: platform.entryBalancer,
    client,
    clock: systemClock,
    onOutcome: () => undefined,
  });
  try {
    const fromMs = systemClock.nowMs();
    const lengthMs = windowSeconds * 1e3;
    const settledMs = Math.ceil((fromMs + SETTLE_SECONDS * 1e3) / lengthMs) * lengthMs;
    const toMs = settledMs + WINDOWS_EACH * lengthMs;
    await delay(toMs - fromMs, undefined, { signal });
    return { configuration, fromMs, settledMs, toMs };
  } finally {
    await noise?.stop();
    await load.stop();
  }
}

/**
 * Stores what was measured once its windows have come. Until then the configuration must stand: the predictor reads what
 * is declared when it closes a window.
 */
async function store(measured: Measured, collector: WindowCollector, file: SweepFile): Promise<number> {
  const sets = await collector.until(measured.toMs, WINDOW_TIMEOUT_MILLIS);
  const rows = rowsOf(measured, sets, HOTEL.entry, (id, startMs, endMs) =>
    collector.cpu.meanCores(id, startMs, endMs),
  );
  const isUseful = rows.some(({ settled }) => settled);
  if (isUseful) await file.append(rows);
  return isUseful ? rows.length : 0;
}

async function measureAll(
  sweep: Sweep,
  todo: readonly Configuration[],
  file: SweepFile,
  progress: Progress,
): Promise<void> {
  const { options, platform, signal } = sweep;
  const collector = collectWindows(platform.processes.addresses.predictor, () => platform.fleet.states());
  const startMs = performance.now();
  try {
    for (const [index, configuration] of todo.entries()) {
      const elapsed = (performance.now() - startMs) / 1e3;
      const each = index === 0 ? 1.5 * options.forEach : elapsed / index;
      progress.show(
        `configuration ${index + 1} of ${todo.length}: ${configuration.requestsPerSecond.toFixed(1)} req/s, ` +
          `interference ${interferenceName(configuration)}; ${formatSeconds(each * (todo.length - index))} left`,
      );
      const measured = await measure(sweep, configuration, options.seed + index);
      if ((await store(measured, collector, file)) === 0)
        progress.say(`${configuration.id} gave no settled window; --resume measures it again`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await collector.stop();
  }
}

function sayCoverage(file: SweepFile, progress: Progress): void {
  for (const line of describeCoverage(coverageOf(file.rows, HOTEL), HOTEL.services.length))
    progress.say(line);
}

/**
 * Sweeps the local platform and writes a row for each service and window.
 * @throws TradewindError when the file cannot be used or the platform cannot be started; what was measured is kept
 */
export async function runSweep(
  options: ProfileOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const file = await openSweepFile(options.out, options.resume);
  const design = designSweep(HOTEL, options.configurations, options.seed, bearable(readMachine()));
  const todo = design.filter(({ id }) => !file.isFinished(id));
  if (todo.length < design.length)
    progress.say(`${design.length - todo.length} of ${design.length} configurations are finished already`);
  if (todo.length > 0) await sweepPlatform(options, todo, { file, progress, signal });
  progress.say(`${options.out}: ${file.rows.length} rows`);
  sayCoverage(file, progress);
}

interface SweepParts {
  readonly file: SweepFile;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function sweepPlatform(
  options: ProfileOptions,
  todo: readonly Configuration[],
  { file, progress, signal }: SweepParts,
): Promise<void> {
  const windowSeconds = windowSecondsFor(options.forEach);
  const failed = new AbortController();
  progress.say(`starting the platform; one window of ${windowSeconds} s of each configuration`);
  const whole = AbortSignal.any([signal, failed.signal]);
  const platform = await startPlatform(
    {
      quota: options.quota,
      objective: OBJECTIVE_SECONDS,
      application: HOTEL.name,
      policy: "static",
      ports: "free",
      logLevel: "warn",
      windowSeconds,
    },
    { say: (text) => progress.say(text), onFailure: (error) => failed.abort(error), signal: whole },
  );
  const client = createHttpClient();
  const copyBytesPerSecond = measureCopyRate();
  try {
    await measureAll(
      { options, windowSeconds, platform, client, copyBytesPerSecond, signal: whole },
      todo,
      file,
      progress,
    );
  } finally {
    client.close();
    await platform.stop();
  }
  failed.signal.throwIfAborted();
}
