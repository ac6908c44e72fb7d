import { rm } from "node:fs/promises";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { formatBytes } from "@tradewind/core/values/units.ts";
import { memoryLeftBytes, planAnomaly } from "../interference/anomaly.ts";
import type { Anomaly, AnomalyResource } from "../interference/anomaly.ts";
import { startNoise } from "../interference/interference.ts";
import type { Interference } from "../interference/interference.ts";
import { measureCopyRate, readMachine } from "../interference/machine.ts";
import { noiseOf } from "../interference/programs.ts";
import type { Progress } from "../screen/progress.ts";
import { formatSeconds } from "@tradewind/core/values/amounts.ts";
import { choosePort } from "../supervise/ports.ts";
import { openRunDirectory, RUNS_DIRECTORY, sweepRuns } from "../supervise/run-directory.ts";
import type { InjectOptions } from "./options.ts";

const LOOK_EVERY_MILLIS = 1_000;
/** Below this share of what should stay free somebody else needs the memory more. */
const EMERGENCY_RATIO = 0.5;

function describeAnomaly(anomaly: Anomaly): string {
  const { resource, intensity, cpuCores, memoryBytes, networkBytesPerSecond } = anomaly;
  const taken: Record<AnomalyResource, string> = {
    cpu: `${cpuCores.toFixed(2)} cores`,
    memory: `${formatBytes(memoryBytes)} of memory`,
    bandwidth: `${Math.round(100 * intensity)} % of what one core can copy in memory`,
    network: `${((networkBytesPerSecond * 8) / 1e9).toFixed(1)} Gbit/s over loopback`,
    disk: `a disk for ${Math.round(100 * intensity)} % of the time of one writer`,
  };
  return taken[resource];
}

/** Looks after a running anomaly until it has ended, is stopped, or memory runs low. */
async function follow(
  noise: Interference,
  seconds: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  await noise.ready;
  const startMs = performance.now();
  const emergencyBytes = EMERGENCY_RATIO * memoryLeftBytes(readMachine());
  let isLow = false;
  const timer = setInterval(() => {
    const elapsed = (performance.now() - startMs) / 1e3;
    progress.show(
      `${formatSeconds(elapsed)} of ${formatSeconds(seconds)}, ${formatSeconds(seconds - elapsed)} left; Ctrl-C stops`,
    );
    isLow ||= process.availableMemory() < emergencyBytes;
    if (isLow) void noise.stop();
  }, LOOK_EVERY_MILLIS);
  const stop = (): void => void noise.stop();
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    await noise.ended;
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", stop);
  }
  if (isLow) {
    throw new TradewindError(
      "memory-low",
      "stopped: less memory is available than others need; repeat it with a lower --intensity",
    );
  }
}

/**
 * Puts this machine under an anomaly for a while.
 * @throws TradewindError `invalid-intensity`, `anomaly-refused`, `interference-failed` or `memory-low`
 */
export async function inject(options: InjectOptions, progress: Progress, signal: AbortSignal): Promise<void> {
  const { resource, intensity, for: seconds } = options;
  for (const line of await sweepRuns(RUNS_DIRECTORY)) progress.say(line);
  const machine = readMachine();
  const anomaly = planAnomaly(resource, intensity, machine);
  const noise = noiseOf(anomaly, {
    seconds,
    machine,
    searchPath: options.tool === "auto" ? (process.env["PATH"] ?? "") : "",
    port: resource === "network" ? (await choosePort(0)).port : 0,
    copyBytesPerSecond: resource === "bandwidth" ? measureCopyRate() : 1,
  });
  const run = await openRunDirectory(RUNS_DIRECTORY);
  try {
    progress.say(`${noise.source} takes ${describeAnomaly(anomaly)} for ${formatSeconds(seconds)}`);
    const running = startNoise(noise, seconds, (pid) => run.register.add("interference", pid));
    await follow(running, seconds, progress, signal);
    progress.say("ended; nothing is left running");
  } finally {
    await run.register.flush();
    await rm(run.path, { recursive: true, force: true });
  }
}
