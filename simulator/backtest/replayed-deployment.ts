import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, mainContainers } from "@tradewind/core/measure/main-containers.ts";
import { median } from "@tradewind/core/values/statistics.ts";
import { Ledger, NOTHING } from "../cluster/ledger.ts";
import type { Holding } from "../cluster/ledger.ts";
import type { PodView, ServiceHeld, Size } from "../world.ts";

export interface ReplayedPod {
  readonly name: string;
  readonly createdAtMs: number;
  readonly readyAtMs: number;
}

/** Pods and sizes of one service in a replay: as many and as large as at the start of the recording, then as a policy says. */
export class ReplayedDeployment {
  readonly service: string;
  size: Required<Size>;
  pods: readonly ReplayedPod[] = [];
  /** CPU time of all its pods so far, core seconds. */
  usedCoreSeconds = 0;
  /** Mean use of one pod in the last stretch of time; undefined before the first. */
  usageCores: number | undefined;
  readonly workingSetBytes: number;
  private readonly startMs: number;
  private readonly podStartMs: number;
  private readonly ledger = new Ledger();
  private made = 0;

  /** @param windows of the service, oldest first; those that say no size leave the defaults of the application's bounds */
  constructor(
    service: string,
    windows: readonly Window[],
    application: Application,
    startMs: number,
    podStartMs: number,
  ) {
    this.service = service;
    this.startMs = startMs;
    this.podStartMs = podStartMs;
    const { cpu, memory, minReplicas } = serviceSpecs(application)(service);
    const containers = windows.flatMap((window) => mainContainers(window));
    const typical = (values: readonly (number | undefined)[], otherwise: number): number => {
      const known = values.filter((each) => each !== undefined && each > 0) as number[];
      return known.length === 0 ? otherwise : median(known);
    };
    this.workingSetBytes = typical(
      containers.map((each) => each.memoryWorkingSetBytes),
      memory.minBytes,
    );
    this.size = {
      cpuCores: typical(containers.slice(0, 50).map(allocatedCpuCores), Math.max(cpu.minCores, 1)),
      memoryBytes: typical(
        containers.slice(0, 50).map((each) => each.memoryLimitBytes ?? each.memoryRequestBytes),
        Math.max(memory.minBytes, this.workingSetBytes),
      ),
    };
    const replicas = windows.find(({ replicasReady }) => replicasReady !== undefined)?.replicasReady;
    this.setReplicas(Math.max(1, replicas ?? minReplicas), startMs, startMs);
  }

  setReplicas(replicas: number, nowMs: number, readyAtMs = nowMs + this.podStartMs): void {
    const before = this.pods.length;
    const kept = this.pods.slice(0, replicas);
    const added = Array.from({ length: Math.max(0, replicas - before) }, (): ReplayedPod => {
      this.made += 1;
      return { name: `${this.service}-${this.made}`, createdAtMs: nowMs, readyAtMs };
    });
    this.change(this.size, [...kept, ...added], nowMs);
    if (nowMs > this.startMs) this.ledger.starts += added.length;
    this.ledger.stops += Math.max(0, before - replicas);
  }

  resize(size: Size, nowMs: number): void {
    this.change({ ...this.size, ...size }, this.pods, nowMs);
  }

  ready(nowMs: number): number {
    return this.pods.filter(({ readyAtMs }) => readyAtMs <= nowMs).length;
  }

  views(nowMs: number): PodView[] {
    const { size, usageCores } = this;
    return this.pods.map(({ createdAtMs, name, readyAtMs }): PodView => {
      const isReady = readyAtMs <= nowMs;
      return {
        name,
        service: this.service,
        node: "recorded",
        phase: isReady ? "ready" : "starting",
        createdAtMs,
        ...(isReady && { readyAtMs, memoryWorkingSetBytes: this.workingSetBytes }),
        ...(isReady && usageCores !== undefined && { cpuUsageCores: usageCores }),
        cpuRequestCores: size.cpuCores,
        cpuLimitCores: size.cpuCores,
        memoryRequestBytes: size.memoryBytes,
        memoryLimitBytes: size.memoryBytes,
        oomKills: 0,
        sidecars: [],
      };
    });
  }

  held(nowMs: number): ServiceHeld {
    const { limitBytes, limitCores, pods, requestBytes, requestCores } = this.ledger.totals(
      nowMs - this.startMs,
    );
    const { starts, stops } = this.ledger;
    return {
      service: this.service,
      requestCoreSeconds: requestCores,
      limitCoreSeconds: limitCores,
      requestByteSeconds: requestBytes,
      limitByteSeconds: limitBytes,
      usedCoreSeconds: this.usedCoreSeconds,
      podSeconds: pods,
      starts,
      stops,
      oomKills: 0,
    };
  }

  private change(size: Required<Size>, pods: readonly ReplayedPod[], nowMs: number): void {
    const before = this.made === 0 ? NOTHING : holdingOf(this.size, this.pods.length);
    this.ledger.change(before, holdingOf(size, pods.length), nowMs - this.startMs);
    this.size = size;
    this.pods = pods;
  }
}

function holdingOf({ cpuCores, memoryBytes }: Required<Size>, pods: number): Holding {
  return {
    requestCores: pods * cpuCores,
    limitCores: pods * cpuCores,
    requestBytes: pods * memoryBytes,
    limitBytes: pods * memoryBytes,
    pods,
  };
}
