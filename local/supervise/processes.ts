import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LogLevel } from "@tradewind/core/process/log.ts";
import { superviseChild } from "./child.ts";
import type { Child } from "./child.ts";
import { choosePort } from "./ports.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/tradewind.mjs", import.meta.url));

/** The documented ports, by process and role. */
const PREFERRED_PORTS = { agent: 9810, predictor: 9811, otlp: 4318, exporter: 9812, grpc: 9813 } as const;
type PortRole = keyof typeof PREFERRED_PORTS;

/** Compressed like the actuator's timings: a cluster has 5 minutes and 2 minutes. */
const STALE_AFTER = "60s";
const RESTART_GRACE = "20s";

export interface ProcessesOptions {
  readonly stateDirectory: string;
  readonly logDirectory: string;
  readonly applicationPath: string;
  readonly workloadsPath: string;
  readonly policy: string;
  /** What the exporter does while no plan comes. */
  readonly silence: "students" | "hold";
  /** Length of the predictor's windows, s. */
  readonly windowSeconds: number;
  readonly logLevel: LogLevel;
  /** Root of the replicas' cgroups; absent when the quota is emulated. */
  readonly cgroupPath?: string | undefined;
  readonly ports: "preferred" | "free";
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly node: string;
  readonly onChange: (name: string, state: "up" | "down", pid: number | undefined) => void;
  readonly onGivenUp: (error: Error) => void;
  readonly say: (text: string) => void;
}

/** The three processes of Tradewind, running and looked after. */
export interface Processes {
  /** HTTP address of each, and where traces and KEDA go. */
  readonly addresses: {
    readonly agent: string;
    readonly predictor: string;
    readonly exporter: string;
    readonly otlp: string;
    readonly grpc: string;
  };
  /** Ends one at once, as a crash does; it is started again. @returns false when it was not running */
  kill(name: "agent" | "predictor" | "exporter"): boolean;
  /** The same for good: it is not started again. */
  end(name: "agent" | "predictor" | "exporter"): void;
  stop(): Promise<void>;
}

async function choosePorts(options: ProcessesOptions): Promise<Record<PortRole, string>> {
  const chosen: Partial<Record<PortRole, string>> = {};
  for (const [role, preferred] of Object.entries(PREFERRED_PORTS) as [PortRole, number][]) {
    const { port, isPreferred } = await choosePort(options.ports === "free" ? 0 : preferred);
    if (!isPreferred) options.say(`port ${preferred} is taken by somebody else; ${role} listens on ${port}`);
    chosen[role] = `127.0.0.1:${port}`;
  }
  return chosen as Record<PortRole, string>;
}

/** Command line of each process, as flag and value. */
function flagsOf(
  options: ProcessesOptions,
  ports: Record<PortRole, string>,
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const { workloadsPath, stateDirectory, logLevel, cgroupPath } = options;
  return {
    agent: {
      "--listen": ports.agent,
      "--node": options.node,
      "--workloads": workloadsPath,
      "--window": `${options.windowSeconds}s`,
      ...(cgroupPath !== undefined && { "--cgroup-root": cgroupPath }),
      "--log-level": logLevel,
    },
    predictor: {
      "--config": options.applicationPath,
      "--listen": ports.predictor,
      "--otlp-listen": ports.otlp,
      "--agents": `http://${ports.agent}`,
      "--workloads": workloadsPath,
      "--window": `${options.windowSeconds}s`,
      "--policy": options.policy,
      "--state": join(stateDirectory, "predictor"),
      "--log-level": logLevel,
    },
    exporter: {
      "--listen": ports.exporter,
      "--grpc-listen": ports.grpc,
      "--predictor": `http://${ports.predictor}`,
      "--config": options.applicationPath,
      ...(options.silence === "students" && { "--agents": `http://${ports.agent}` }),
      "--state": join(stateDirectory, "exporter"),
      "--stale-after": STALE_AFTER,
      "--restart-grace": RESTART_GRACE,
      "--log-level": logLevel,
    },
  };
}

/** What people call a process: the command `exporter` is the scaler. */
export const shownName = (name: string): string => (name === "exporter" ? "scaler" : name);

function killed(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

/**
 * Starts agent, predictor and exporter side by side.
 * @throws TradewindError `process-failed` when one does not become ready; the others are stopped again
 */
export async function startProcesses(options: ProcessesOptions): Promise<Processes> {
  const ports = await choosePorts(options);
  const starts = Object.entries(flagsOf(options, ports)).map(async ([name, flags]) =>
    superviseChild({
      name,
      args: [PROGRAM, name, ...Object.entries(flags).flat()],
      logPath: join(options.logDirectory, `${name}.log`),
      env: options.env,
      onChange: (state, pid) => options.onChange(name, state, pid),
      onGivenUp: options.onGivenUp,
    }),
  );
  const results = await Promise.allSettled(starts);
  const started = results.flatMap((each): Child[] => (each.status === "fulfilled" ? [each.value] : []));
  const stop = async (): Promise<void> => {
    // Readers first, so that nobody misses somebody who is stopping too.
    for (const name of ["exporter", "predictor", "agent"])
      await started.find((each) => each.name === name)?.stop();
  };
  const failed = results.find((each) => each.status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return {
    addresses: {
      agent: `http://${ports.agent}`,
      predictor: `http://${ports.predictor}`,
      exporter: `http://${ports.exporter}`,
      otlp: `http://${ports.otlp}`,
      grpc: ports.grpc,
    },
    kill(name) {
      const pid = started.find((each) => each.name === name)?.pid();
      return pid !== undefined && killed(pid);
    },
    end(name) {
      started.find((each) => each.name === name)?.end();
    },
    stop,
  };
}
