import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { parseWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { siblingModule } from "@tradewind/core/process/sibling-module.ts";
import type { ContainerQuota, Quota } from "../quota/quota.ts";
import type { Endpoint } from "./balance.ts";
import type { ReplicaFault } from "./service-fault.ts";
import { FromReplica } from "./protocol.ts";
import type { Endpoints, ReplicaConfig, ToReplica } from "./protocol.ts";
import { applicableSize, isSameSize } from "./container-size.ts";
import type { ContainerSize, ServiceDefinition } from "./topology.ts";
import type { Calibration } from "./work.ts";

const START_TIMEOUT_MILLIS = 20_000;
const PROBE_EVERY_MILLIS = 50;
/** Drain time of the replica itself plus its last spans; then it is killed. */
const STOP_TIMEOUT_MILLIS = 5_000;
const STDERR_KEPT_CHARS = 2_000;

export interface ReplicaIdentity {
  readonly podUid: string;
  readonly podName: string;
  /** 64 hexadecimal digits, as container runtimes name containers. */
  readonly containerId: string;
  /** Which version of its service it runs, from 1. */
  readonly version: number;
}

export interface ReplicaUsage {
  /** When the replica read it, ms since the Unix epoch. */
  readonly atMs: number;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly requestsTotal: number;
  readonly refusedTotal: number;
}

/** A running replica, seen from the platform. */
export interface ReplicaProcess {
  readonly identity: ReplicaIdentity;
  readonly pid: number;
  readonly endpoint: Endpoint;
  readonly startedAtMs: number;
  /** When it answered for the first time. */
  readonly readyAtMs: number;
  /** As last reported by the replica, about once a second. */
  usage(): ReplicaUsage;
  /** The limits that hold now. */
  readonly limits: ContainerSize;
  /**
   * Moves the limits under the running process; memory stays above what is resident.
   * @returns true when something changed
   * @throws when the kernel refuses; the earlier limits hold then
   */
  resize(wanted: ContainerSize): Promise<boolean>;
  setEndpoints(endpoints: Endpoints): void;
  setFault(fault: ReplicaFault): void;
  /** Lets it finish what it has, then makes sure that it is gone and its cgroup removed. */
  stop(): Promise<void>;
  /** Settles when the process is gone, with what it last said on standard error. */
  readonly exited: Promise<string>;
}

export interface ReplicaStart {
  /** Name of the application that has the service. */
  readonly application: string;
  readonly definition: ServiceDefinition;
  readonly size: ContainerSize;
  readonly identity: ReplicaIdentity;
  readonly calibration: Calibration;
  readonly quota: Quota;
  readonly tracesUrl?: string | undefined;
  readonly compileCache: string;
  readonly nowMs: () => number;
  /** Called as soon as the process exists, so that it can be found again after a crash of the platform. */
  readonly onSpawn?: ((pid: number) => void) | undefined;
}

export function containerIdOf(podUid: string): string {
  return createHash("sha256").update(podUid).digest("hex");
}

/**
 * Both generations are bounded. By default V8 lets the young one grow with the rate of requests until both together are beyond the
 * limit of the old one; then it collects the whole heap ten times a second, and a request takes ten times the CPU, at any load.
 */
const HEAP_LIMITS = ["--max-old-space-size=96", "--max-semi-space-size=4"];

function spawnReplica(start: ReplicaStart): ChildProcess {
  const { application, definition, identity, calibration, tracesUrl } = start;
  const config: ReplicaConfig = {
    application,
    service: definition.name,
    podName: identity.podName,
    podUid: identity.podUid,
    calibration,
    ...(tracesUrl !== undefined && { tracesUrl }),
  };
  const script = siblingModule(import.meta.url, "./replica.ts");
  return spawn(process.execPath, [...HEAP_LIMITS, "--disable-warning=ExperimentalWarning", script], {
    // Its own process group: Ctrl-C in the terminal reaches the platform alone, which then drains its replicas.
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: start.compileCache,
      UV_THREADPOOL_SIZE: "1",
      TRADEWIND_REPLICA: JSON.stringify(config),
    },
  });
}

/** Asks `/readyz` until it answers 200, as a kubelet's readiness probe does. */
async function probeUntilReady(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  for (;;) {
    const ready = await fetch(`${endpoint}/readyz`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(1_000)]),
    })
      .then((response) => response.ok)
      .catch(() => false);
    if (ready) return;
    await delay(PROBE_EVERY_MILLIS, undefined, { signal });
  }
}

function watchExit(child: ChildProcess): {
  readonly exited: Promise<string>;
  readonly isGone: () => boolean;
} {
  let tail = "";
  let gone = false;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-STDERR_KEPT_CHARS);
  });
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => {
      gone = true;
      resolve(describeError(error));
    });
    child.once("close", (code, signal) => {
      gone = true;
      resolve(tail.trim() || `exit ${code ?? signal ?? "unknown"}`);
    });
  });
  return { exited, isGone: () => gone };
}

async function firstPort(child: ChildProcess, signal: AbortSignal): Promise<number> {
  for (;;) {
    const [raw] = (await once(child, "message", { signal })) as [unknown];
    const message = parseWith(FromReplica, raw, "message of a replica");
    if (message.kind === "listening") return message.port;
  }
}

/**
 * Starts one replica and waits until it is ready.
 * @throws TradewindError `replica-failed` when it exits first or takes too long; nothing is left of it then
 */
export async function startReplica(start: ReplicaStart): Promise<ReplicaProcess> {
  const { identity, quota, nowMs } = start;
  const place: ContainerQuota = await quota.open(identity.podUid, identity.containerId);
  const startedAtMs = nowMs();
  const child = spawnReplica(start);
  const { exited, isGone } = watchExit(child);
  const kill = (): void => {
    if (!isGone()) child.kill("SIGKILL");
  };
  const send = (message: ToReplica): void => {
    if (child.connected) child.send(message, () => undefined);
  };
  let usage: ReplicaUsage = {
    atMs: startedAtMs,
    cpuSeconds: 0,
    residentBytes: 0,
    requestsTotal: 0,
    refusedTotal: 0,
  };
  child.on("message", (raw) => {
    const message = FromReplica.safeParse(raw);
    if (message.success && message.data.kind === "usage") usage = message.data;
  });

  const failed = new AbortController();
  void exited.then(() => failed.abort());
  const signal = AbortSignal.any([failed.signal, AbortSignal.timeout(START_TIMEOUT_MILLIS)]);
  try {
    const { pid } = child;
    if (pid === undefined) throw new Error(await exited);
    start.onSpawn?.(pid);
    const listening = firstPort(child, signal);
    // Both are awaited below; a failure of the first must not leave the second unhandled.
    listening.catch(() => undefined);
    await place.admit(pid);
    const endpoint = `http://127.0.0.1:${await listening}`;
    await probeUntilReady(endpoint, signal);
    const limit = async (to: ContainerSize): Promise<void> => {
      await place.limit(to.cpuCores, to.memoryBytes);
      if (quota.kind === "token-bucket") send({ kind: "limit", cpuCores: to.cpuCores });
    };
    let limits = start.size;
    await limit(limits);
    const readyAtMs = nowMs();
    let stopping: Promise<void> | undefined;
    const stop = async (): Promise<void> => {
      send({ kind: "drain" });
      const timer = setTimeout(kill, STOP_TIMEOUT_MILLIS);
      await exited;
      clearTimeout(timer);
      await place.remove();
    };
    return {
      identity,
      pid,
      endpoint,
      startedAtMs,
      readyAtMs,
      exited,
      usage: () => usage,
      get limits() {
        return limits;
      },
      async resize(wanted) {
        const next = applicableSize(wanted, limits, usage.residentBytes);
        if (isGone() || isSameSize(next, limits)) return false;
        await limit(next);
        limits = next;
        return true;
      },
      setEndpoints: (endpoints) => send({ kind: "endpoints", endpoints }),
      setFault: (fault) => send({ kind: "fault", fault }),
      stop: async () => (stopping ??= stop()),
    };
  } catch (error) {
    const died = isGone();
    kill();
    const said = await exited;
    await place.remove();
    const why = died
      ? new Error(said)
      : new Error(`not within ${START_TIMEOUT_MILLIS / 1e3} s`, { cause: error });
    throw new TradewindError("replica-failed", `replica ${identity.podName} did not become ready`, {
      cause: why,
    });
  }
}
