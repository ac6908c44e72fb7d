import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { siblingModule } from "@tradewind/core/process/sibling-module.ts";
import { memoryLeftBytes } from "./anomaly.ts";
import type { Anomaly, AnomalyResource } from "./anomaly.ts";
import type { HogOrder } from "./hog-order.ts";
import type { KeptProgram } from "./keeper-order.ts";
import type { MachineFacts } from "./machine.ts";

/** Finds a program in a search path. @returns its full path, or undefined */
export function findProgram(name: string, searchPath: string): string | undefined {
  for (const directory of searchPath.split(delimiter).filter((each) => each !== "")) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}

/** Programs that make the noise together, one after the other ready. */
export interface Noise {
  /** For people: `stress-ng`, `iperf3` or `built-in hog`. */
  readonly source: string;
  readonly programs: readonly KeptProgram[];
}

export function hog(...orders: readonly HogOrder[]): Noise {
  const script = siblingModule(import.meta.url, "./hog.ts");
  return {
    source: "built-in hog",
    programs: orders.map((order) => ({
      file: process.execPath,
      args: ["--disable-warning=ExperimentalWarning", script, JSON.stringify(order)],
      isNode: true,
    })),
  };
}

/** Every program ends by itself after `seconds`, whatever becomes of us. */
export function stressNg(path: string, seconds: number, flags: Readonly<Record<string, string>>): Noise {
  const common = ["--timeout", `${Math.ceil(seconds)}s`, "--quiet", "--oomable"];
  return {
    source: "stress-ng",
    programs: [{ file: path, args: [...Object.entries(flags).flat(), ...common], isNode: false }],
  };
}

/** A server for one client, and the client, both on loopback alone. */
function iperf(path: string, port: number, seconds: number, bytesPerSecond: number): Noise {
  const where = ["--port", String(port)];
  const server = ["--server", "--one-off", "--bind", "127.0.0.1", "--forceflush", ...where];
  const client = ["--client", "127.0.0.1", "--time", String(Math.ceil(seconds)), ...where];
  return {
    source: "iperf3",
    programs: [
      { file: path, args: server, isNode: false, readyText: "listening" },
      {
        file: path,
        args: [...client, "--bitrate", String(Math.round(bytesPerSecond * 8))],
        isNode: false,
      },
    ],
  };
}

export interface NoiseOptions {
  readonly seconds: number;
  readonly machine: MachineFacts;
  /** Search path for stress-ng and iperf3; empty for the built-in hog. */
  readonly searchPath: string;
  /** A free loopback port. */
  readonly port: number;
  /** What one core copies within memory, see `measureCopyRate`. */
  readonly copyBytesPerSecond: number;
}

function cpuNoise({ cpuCores }: Anomaly, seconds: number, path: string | undefined): Noise {
  const workers = Math.max(1, Math.ceil(cpuCores));
  const duty = cpuCores / workers;
  if (path === undefined) {
    return hog(...Array.from({ length: workers }, () => ({ kind: "cpu" as const, seconds, duty })));
  }
  return stressNg(path, seconds, {
    "--cpu": String(workers),
    "--cpu-load": String(Math.round(100 * duty)),
    "--cpu-method": "int64",
  });
}

/** Filled once and then held: it is the capacity that is missing, not the bandwidth. */
function memoryNoise(
  { memoryBytes }: Anomaly,
  { seconds, machine }: NoiseOptions,
  path: string | undefined,
): Noise {
  if (path === undefined) {
    return hog({ kind: "memory", seconds, bytes: memoryBytes, leaveBytes: memoryLeftBytes(machine) });
  }
  return stressNg(path, seconds, {
    "--vm": "1",
    "--vm-bytes": `${Math.round(memoryBytes)}b`,
    "--vm-method": "write64",
    "--vm-hang": "0",
  });
}

function bandwidthNoise(
  { intensity }: Anomaly,
  { seconds, copyBytesPerSecond }: NoiseOptions,
  path: string | undefined,
): Noise {
  if (path === undefined) return hog({ kind: "bandwidth", seconds, duty: intensity });
  const megabytes = String(Math.max(1, Math.round((intensity * copyBytesPerSecond) / 1e6)));
  return stressNg(path, seconds, {
    "--memrate": "1",
    "--memrate-bytes": "64m",
    "--memrate-rd-mbs": megabytes,
    "--memrate-wr-mbs": megabytes,
  });
}

function networkNoise(
  { networkBytesPerSecond }: Anomaly,
  { seconds, port }: NoiseOptions,
  path: string | undefined,
): Noise {
  return path === undefined
    ? hog({ kind: "network", seconds, bytesPerSecond: networkBytesPerSecond })
    : iperf(path, port, seconds, networkBytesPerSecond);
}

/** Chooses what makes the noise of an anomaly. */
export function noiseOf(anomaly: Anomaly, options: NoiseOptions): Noise {
  const stress = findProgram("stress-ng", options.searchPath);
  const makers: Record<AnomalyResource, () => Noise> = {
    cpu: () => cpuNoise(anomaly, options.seconds, stress),
    memory: () => memoryNoise(anomaly, options, stress),
    bandwidth: () => bandwidthNoise(anomaly, options, stress),
    network: () => networkNoise(anomaly, options, findProgram("iperf3", options.searchPath)),
    disk: () => hog({ kind: "disk", seconds: options.seconds, duty: anomaly.intensity }),
  };
  return makers[anomaly.resource]();
}
