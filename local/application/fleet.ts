import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { describeError } from "@tradewind/core/values/errors.ts";
import { NO_FAULT } from "./service-fault.ts";
import type { ReplicaFault } from "./service-fault.ts";
import type { Balancer } from "./balance.ts";
import type { Endpoints } from "./protocol.ts";
import { containerIdOf, startReplica } from "./replica-process.ts";
import type { ReplicaProcess } from "./replica-process.ts";
import { calleesOf } from "./topology.ts";
import type { ContainerSize, ServiceDefinition, Topology } from "./topology.ts";
import type { Calibration } from "./work.ts";
import type { Quota } from "../quota/quota.ts";

/** Callers have stopped choosing a removed endpoint by then. */
const ENDPOINT_REMOVAL_MILLIS = 150;
/** Replicas that start at the same time; more would only slow each other and the application down. */
const MAX_STARTING = 2;
const RESTART_BACKOFF_MILLIS = [500, 1_000, 2_000, 5_000] as const;

export interface FleetOptions {
  readonly topology: Topology;
  readonly calibration: Calibration;
  readonly quota: Quota;
  readonly tracesUrl?: string | undefined;
  readonly compileCache: string;
  readonly nowMs: () => number;
  /** Balancer of the load, which calls the entry service. */
  readonly entryBalancer: Balancer;
  /** Something that the workloads file or the screen shows has changed. */
  readonly onChange: () => void;
  readonly onTrouble: (text: string) => void;
  readonly onSpawn?: (pid: number) => void;
}

export interface ServiceState {
  readonly definition: ServiceDefinition;
  readonly replicasWanted: number;
  /** What each replica is to have; a running one may still have more memory, see `ReplicaProcess.resize`. */
  readonly size: ContainerSize;
  readonly ready: readonly ReplicaProcess[];
  /** Of what new replicas run, from 1. */
  readonly version: number;
}

/** All replicas of the application: what the Deployments, their ReplicaSets and the kubelet are in a cluster. */
export interface Fleet {
  /** Sets the wanted number of replicas; returns at once, the replicas follow. */
  scale(service: string, replicas: number): void;
  /**
   * Sets what each replica of a service may use, running ones included, as an in-place resize of pods does. Limits that
   * the kernel refuses, or that what is resident forbids for now, are tried again with the next call.
   */
  resize(service: string, size: ContainerSize): Promise<void>;
  /** Makes something wrong with the replicas of a service, later ones included. */
  disturb(service: string, fault: ReplicaFault): void;
  /**
   * Rolls out another version: one replica after the other is started, and an old one stopped. Replicas that could not be
   * started are started again as any other.
   */
  deploy(service: string, fault: ReplicaFault): Promise<void>;
  states(): readonly ServiceState[];
  /** CPU time of all replicas that ever ran. */
  cpuSeconds(): number;
  /** Resolves once every service has what it wants. */
  settled(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

interface Group {
  readonly definition: ServiceDefinition;
  wanted: number;
  size: ContainerSize;
  fault: ReplicaFault;
  version: number;
  ready: ReplicaProcess[];
  starting: number;
  failures: number;
}

export function createFleet(options: FleetOptions): Fleet {
  const groups = new Map<string, Group>(
    options.topology.services.map((definition) => [
      definition.name,
      {
        definition,
        wanted: 0,
        size: definition.size,
        fault: NO_FAULT,
        version: 1,
        ready: [],
        starting: 0,
        failures: 0,
      },
    ]),
  );
  const departing = new Set<Promise<void>>();
  const draining = new Set<ReplicaProcess>();
  const launching = new Set<Promise<void>>();
  let goneCpuSeconds = 0;
  let stopped = false;

  const endpointsFor = (definition: ServiceDefinition): Endpoints =>
    Object.fromEntries(
      calleesOf(definition).map((callee) => [
        callee,
        (groups.get(callee)?.ready ?? []).map((each) => each.endpoint),
      ]),
    );

  function publish(): void {
    for (const { definition, ready } of groups.values()) {
      if (definition.name === options.topology.entry) {
        options.entryBalancer.setEndpoints(ready.map(({ endpoint }) => endpoint));
      }
      const endpoints = endpointsFor(definition);
      for (const replica of ready) replica.setEndpoints(endpoints);
    }
    options.onChange();
  }

  async function retire(group: Group, replica: ReplicaProcess): Promise<void> {
    group.ready = group.ready.filter((each) => each !== replica);
    draining.add(replica);
    publish();
    await delay(ENDPOINT_REMOVAL_MILLIS);
    try {
      await replica.stop();
    } finally {
      goneCpuSeconds += replica.usage().cpuSeconds;
      draining.delete(replica);
    }
  }

  function depart(group: Group, replica: ReplicaProcess): void {
    const leaving = retire(group, replica)
      .catch((error: unknown) => options.onTrouble(`stopping ${replica.identity.podName}: ${String(error)}`))
      .finally(() => departing.delete(leaving));
    departing.add(leaving);
  }

  async function add(group: Group): Promise<void> {
    const { definition } = group;
    const podUid = randomUUID();
    const identity = {
      podUid,
      podName: `${definition.name}-${podUid.slice(0, 8)}`,
      containerId: containerIdOf(podUid),
      version: group.version,
    };
    const { calibration, quota, tracesUrl, compileCache, nowMs, onSpawn } = options;
    const replica = await startReplica({
      application: options.topology.name,
      definition,
      size: group.size,
      identity,
      calibration,
      quota,
      tracesUrl,
      compileCache,
      nowMs,
      onSpawn,
    });
    replica.setEndpoints(endpointsFor(definition));
    // The size may have changed while it started.
    await resizeReplica(replica, group.size);
    replica.setFault(group.fault);
    group.ready.push(replica);
    group.failures = 0;
    publish();
    void replaceWhenGone(group, replica);
  }

  async function resizeReplica(replica: ReplicaProcess, size: ContainerSize): Promise<boolean> {
    return replica.resize(size).catch((error: unknown) => {
      options.onTrouble(
        `${replica.identity.podName} keeps its limits, the kernel refuses others: ${describeError(error)}`,
      );
      return false;
    });
  }

  async function replaceWhenGone(group: Group, replica: ReplicaProcess): Promise<void> {
    const said = await replica.exited;
    if (stopped || !group.ready.includes(replica)) return;
    options.onTrouble(`${replica.identity.podName} exited by itself: ${said}`);
    depart(group, replica);
    reconcile();
  }

  async function start(group: Group): Promise<void> {
    const backoff = RESTART_BACKOFF_MILLIS[Math.min(group.failures, RESTART_BACKOFF_MILLIS.length) - 1] ?? 0;
    await delay(backoff);
    if (stopped) return;
    try {
      await add(group);
    } catch (error) {
      group.failures += 1;
      options.onTrouble(describeError(error));
    }
  }

  function launch(group: Group): void {
    group.starting += 1;
    void launched(group).finally(() => {
      group.starting -= 1;
      reconcile();
    });
  }

  /** A start that `stop` waits for. */
  async function launched(group: Group): Promise<void> {
    const starting = start(group);
    launching.add(starting);
    await starting.finally(() => launching.delete(starting));
  }

  /** Starts what is missing, the service with the largest share missing first, and drains the youngest of what is too many. */
  function reconcile(): void {
    if (stopped) return;
    while (launching.size < MAX_STARTING) {
      const short = [...groups.values()]
        .filter(({ wanted, ready, starting }) => ready.length + starting < wanted)
        .sort(
          (a, b) => (a.ready.length + a.starting) / a.wanted - (b.ready.length + b.starting) / b.wanted,
        )[0];
      if (short === undefined) break;
      launch(short);
    }
    for (const group of groups.values()) {
      while (group.ready.length > group.wanted) {
        const youngest = group.ready.reduce((a, b) => (b.startedAtMs >= a.startedAtMs ? b : a));
        depart(group, youngest);
      }
    }
  }

  return {
    scale(service, replicas) {
      const group = groups.get(service);
      if (group === undefined || group.wanted === replicas) return;
      group.wanted = replicas;
      options.onChange();
      reconcile();
    },
    async resize(service, size) {
      const group = groups.get(service);
      if (group === undefined || stopped) return;
      group.size = size;
      const changed = await Promise.all(
        group.ready.map(async (replica) => resizeReplica(replica, group.size)),
      );
      if (changed.includes(true)) options.onChange();
    },
    disturb(service, fault) {
      const group = groups.get(service);
      if (group === undefined) return;
      group.fault = fault;
      for (const replica of group.ready) replica.setFault(fault);
    },
    async deploy(service, fault) {
      const group = groups.get(service);
      if (group === undefined || stopped) return;
      group.fault = fault;
      group.version += 1;
      const before = group.ready.slice();
      for (const old of before) {
        await launched(group);
        if (group.ready.includes(old)) depart(group, old);
      }
    },
    states: () =>
      [...groups.values()].map(({ definition, wanted, size, ready, version }) => ({
        definition,
        version,
        replicasWanted: wanted,
        size,
        ready: [...ready],
      })),
    cpuSeconds() {
      const running = [...[...groups.values()].flatMap(({ ready }) => ready), ...draining];
      return running.reduce((sum, replica) => sum + replica.usage().cpuSeconds, goneCpuSeconds);
    },
    async settled(signal) {
      const isSettled = (): boolean =>
        [...groups.values()].every(({ wanted, ready }) => ready.length === wanted);
      while (!isSettled()) await delay(50, undefined, { signal });
    },
    async stop() {
      stopped = true;
      await Promise.all(launching);
      const running = [...groups.values()].flatMap((group) =>
        group.ready.map((replica) => ({ group, replica })),
      );
      for (const { group, replica } of running) depart(group, replica);
      await Promise.all(departing);
      await options.quota.close();
    },
  };
}
