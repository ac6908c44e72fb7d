import { mkdir, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { ApplicationMode } from "@tradewind/core/contract/plan.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { replaceFile } from "@tradewind/core/process/state-file.ts";
import { applicationOf } from "./application/applications.ts";
import { createBalancer } from "./application/balance.ts";
import type { Balancer } from "./application/balance.ts";
import { applicationConfiguration } from "./application/configuration.ts";
import { createFleet } from "./application/fleet.ts";
import type { Fleet } from "./application/fleet.ts";
import { calibrate, createMachine, processCpuMillis } from "./application/work.ts";
import type { LocalOptions } from "./options.ts";
import { parsePolicy } from "./policy.ts";
import { chooseQuota, sweepGroups } from "./quota/choose.ts";
import type { Quota } from "./quota/quota.ts";
import { sharedCalibration } from "./supervise/calibration-file.ts";
import { shownName, startProcesses } from "./supervise/processes.ts";
import type { Processes } from "./supervise/processes.ts";
import { isAlive, openRunDirectory, RUNS_DIRECTORY, sweepRuns } from "./supervise/run-directory.ts";
import type { ProcessRegister } from "./supervise/run-directory.ts";
import { createWorkloadsFile, NAMESPACE, workloadListOf } from "./supervise/workloads.ts";
import { stringify } from "yaml";

const CGROUP_ROOT = "/sys/fs/cgroup";
const START_TIMEOUT_MILLIS = 60_000;

/** A window long enough for a few dozen requests and short enough for a run of minutes. */
const WINDOW_SECONDS = 5;

export interface PlatformOptions extends Pick<
  LocalOptions,
  "application" | "state" | "quota" | "objective" | "policy" | "ports" | "calibration" | "logLevel"
> {
  /** Default `students`. */
  readonly silence?: LocalOptions["silence"];
  /** What is done with the plans. Default `act`; `recommend` where nobody carries them out. */
  readonly mode?: ApplicationMode;
  /** Length of the predictor's windows, s. */
  readonly windowSeconds?: number;
}

export interface PlatformEvents {
  /** A line for people. */
  readonly say: (text: string) => void;
  /** A process of Tradewind died, or is ready again. */
  readonly onProcess?: (name: string, state: "up" | "down") => void;
  /** The platform cannot go on. */
  readonly onFailure: (error: Error) => void;
  /** Gives up the start. */
  readonly signal: AbortSignal;
}

/** The application and the three processes of Tradewind, started and ready, without any load yet. */
export interface Platform {
  readonly fleet: Fleet;
  /** Where the load goes. */
  readonly entryBalancer: Balancer;
  readonly quota: Quota;
  readonly processes: Processes;
  readonly register: ProcessRegister;
  readonly stateDirectory: string;
  /** Stops everything and removes what the run left on the machine. Safe to call twice. */
  stop(): Promise<void>;
}

/** Stops in reverse order of starting, the rest even when one fails. */
class Teardown {
  readonly #steps: { readonly name: string; readonly run: () => Promise<void> }[] = [];
  #done: Promise<void> | undefined;

  add(name: string, run: () => Promise<void>): void {
    this.#steps.unshift({ name, run });
  }

  async run(say: (text: string) => void): Promise<void> {
    this.#done ??= this.#all(say);
    return this.#done;
  }

  async #all(say: (text: string) => void): Promise<void> {
    for (const { name, run } of this.#steps) {
      await run().catch((error: unknown) => say(`while stopping, ${name}: ${describeError(error)}`));
    }
  }
}

async function sweepLeftovers(say: (text: string) => void): Promise<void> {
  for (const line of await sweepRuns(RUNS_DIRECTORY)) say(line);
  for (const name of await sweepGroups(CGROUP_ROOT, isAlive)) say(`removed the stale cgroup ${name}`);
}

/**
 * Starts everything but the load.
 * @throws TradewindError naming the process or replica that failed; everything else has been stopped again then
 */
export async function startPlatform(options: PlatformOptions, events: PlatformEvents): Promise<Platform> {
  const teardown = new Teardown();
  try {
    return await assemble(options, events, teardown);
  } catch (error) {
    await teardown.run(events.say);
    throw error;
  }
}

async function assemble(
  options: PlatformOptions,
  { say, onFailure, onProcess, signal }: PlatformEvents,
  teardown: Teardown,
): Promise<Platform> {
  const topology = applicationOf(options.application);
  const policy = parsePolicy(options.policy);
  await sweepLeftovers(say);
  const run = await openRunDirectory(RUNS_DIRECTORY);
  const { register } = run;
  teardown.add("run directory", async () => {
    await register.flush();
    await rm(run.path, { recursive: true, force: true });
  });
  const stateDirectory = options.state === undefined ? join(run.path, "state") : resolve(options.state);
  const logDirectory = join(stateDirectory, "logs");
  for (const each of ["logs", "predictor", "exporter"])
    await mkdir(join(stateDirectory, each), { recursive: true });

  const quota = await chooseQuota({ cgroupRoot: CGROUP_ROOT, pid: process.pid, wanted: options.quota });
  teardown.add("cgroups", async () => quota.close());
  const calibration = await sharedCalibration(options.calibration, () =>
    calibrate(createMachine(), processCpuMillis),
  );

  const node = hostname().toLowerCase();
  const workloadsPath = join(stateDirectory, "workloads.json");
  const applicationPath = join(stateDirectory, "application.yaml");
  const compileCache = join(run.path, "compile-cache");
  const configuration = applicationConfiguration(topology, NAMESPACE, {
    mode: options.mode ?? "act",
    objectiveSeconds: options.objective,
  });
  await writeFile(applicationPath, stringify(configuration));

  const started: { fleet?: Fleet } = {};
  const workloads = createWorkloadsFile(
    workloadsPath,
    () => workloadListOf(started.fleet?.states() ?? [], node, systemClock.nowMs()),
    (error) => say(`the workloads file cannot be written: ${describeError(error)}`),
  );
  workloads.update();
  await workloads.flush();
  teardown.add("workloads file", async () => workloads.flush());

  const processes = await startProcesses({
    stateDirectory,
    logDirectory,
    applicationPath,
    workloadsPath,
    policy: policy.kind === "tradewind" ? policy.policy : "static",
    silence: options.silence ?? "students",
    windowSeconds: options.windowSeconds ?? WINDOW_SECONDS,
    logLevel: options.logLevel,
    cgroupPath: quota.cgroupPath,
    ports: options.ports,
    env: { NODE_COMPILE_CACHE: compileCache },
    node,
    onChange(name, state, pid) {
      onProcess?.(name, state);
      if (state === "up" && pid !== undefined) register.add(name, pid);
      if (state === "down") say(`the ${shownName(name)} died; starting it again`);
    },
    onGivenUp: onFailure,
    say,
  });
  teardown.add("processes", async () => processes.stop());
  signal.throwIfAborted();
  await replaceFile(join(stateDirectory, "addresses.json"), `${JSON.stringify(processes.addresses)}\n`);

  const entryBalancer = createBalancer();
  const fleet = createFleet({
    topology,
    calibration,
    quota,
    tracesUrl: `${processes.addresses.otlp}/v1/traces`,
    compileCache,
    nowMs: () => systemClock.nowMs(),
    entryBalancer,
    onChange: () => workloads.update(),
    onTrouble: say,
    onSpawn: (pid) => register.add("replica", pid),
  });
  started.fleet = fleet;
  teardown.add("replicas", async () => fleet.stop());
  for (const { name, minReplicas } of topology.services) fleet.scale(name, minReplicas);
  await fleet.settled(AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MILLIS)]));

  return {
    fleet,
    entryBalancer,
    quota,
    processes,
    register,
    stateDirectory,
    stop: async () => teardown.run(say),
  };
}
