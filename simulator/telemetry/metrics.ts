import type { Interference } from "@tradewind/core/contract/interference.ts";
import type { ContainerUse } from "@tradewind/predictor/sources/container-rates.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Pod } from "../cluster/pod.ts";
import type { Processor } from "../engine/processor.ts";
import { Readings } from "./readings.ts";
import type { Use } from "./readings.ts";

/** CPU use that metrics-server shows of the containers of one pod, cores, and memory of the main one, bytes. */
export interface Shown {
  readonly mainCores: number;
  readonly sidecarCores: number | undefined;
  readonly memoryBytes: number;
}

interface PodMetrics {
  readonly main: Readings;
  readonly sidecar: Readings | undefined;
  scraped: { atMs: number; mainMs: number; sidecarMs: number } | undefined;
  shown: Shown | undefined;
}

/** Ids of containers, unique in the cluster. */
export const mainId = (pod: Pod): string => `${pod.name}.main`;
export const sidecarId = (pod: Pod): string => `${pod.name}.sidecar`;

/** What agents and metrics-server read from containers. Times are ms from the start of the run. */
export class Metrics {
  private readonly cluster: Cluster;
  private readonly pods = new Map<Pod, PodMetrics>();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  /** An agent on every node reads the counters of all containers. */
  read(nowMs: number): void {
    for (const pod of this.running()) {
      const { main, proxy } = pod.server ?? {};
      const metrics = this.of(pod);
      if (main !== undefined) read(metrics.main, main, nowMs);
      if (proxy !== undefined && metrics.sidecar !== undefined) read(metrics.sidecar, proxy, nowMs);
    }
    for (const pod of this.pods.keys()) if (pod.node === undefined) this.pods.delete(pod);
  }

  /** metrics-server scrapes, and shows what was used since its last scrape. */
  scrape(nowMs: number): void {
    for (const pod of this.running()) {
      const { server } = pod;
      if (server === undefined) continue;
      const metrics = this.of(pod);
      const mainMs = server.main.usedUntil(nowMs);
      const sidecarMs = server.proxy?.usedUntil(nowMs) ?? 0;
      const { scraped } = metrics;
      metrics.scraped = { atMs: nowMs, mainMs, sidecarMs };
      if (scraped === undefined) continue;
      const elapsedMs = nowMs - scraped.atMs;
      metrics.shown = {
        mainCores: (mainMs - scraped.mainMs) / elapsedMs,
        sidecarCores: server.proxy === undefined ? undefined : (sidecarMs - scraped.sidecarMs) / elapsedMs,
        memoryBytes: server.memoryBytes,
      };
    }
  }

  /** A scrape failed: nothing is shown until two have succeeded again. */
  forget(): void {
    for (const metrics of this.pods.values()) {
      metrics.scraped = undefined;
      metrics.shown = undefined;
    }
  }

  shown(pod: Pod): Shown | undefined {
    return this.pods.get(pod)?.shown;
  }

  /** Use of all containers over an interval, by id, as the predictor gets it from agents. */
  uses(startMs: number, endMs: number): ReadonlyMap<string, ContainerUse> {
    const uses = new Map<string, ContainerUse>();
    for (const [pod, { main, sidecar }] of this.pods) {
      const { node, server } = pod;
      if (node === undefined || server === undefined) continue;
      const interference = this.interference(node.index, startMs, endMs);
      const common = { node: node.name, interference };
      const used = main.over(startMs, endMs);
      const limited = pod.size.cpuLimitCores !== undefined;
      if (used !== undefined) {
        uses.set(mainId(pod), {
          ...common,
          ...useOf(used, limited),
          memoryWorkingSetBytes: server.memoryBytes,
        });
      }
      const beside = sidecar?.over(startMs, endMs);
      const model = pod.model.sidecar;
      if (beside !== undefined && model !== undefined) {
        const part = useOf(beside, model.cpuLimitCores !== undefined);
        uses.set(sidecarId(pod), { ...common, ...part, memoryWorkingSetBytes: model.memoryBytes });
      }
    }
    return uses;
  }

  private interference(node: number, startMs: number, endMs: number): Interference {
    const { interference } = this.cluster;
    const source = "simulated";
    return {
      cpu: { supported: true, value: interference.meanOver(node, "cpu", startMs, endMs), source },
      memoryCapacity: { supported: false },
      memoryBandwidth: {
        supported: true,
        value: interference.meanOver(node, "memoryBandwidth", startMs, endMs),
        source,
      },
      network: { supported: false },
    };
  }

  private *running(): Iterable<Pod> {
    for (const { pods } of this.cluster.deployments) {
      for (const pod of pods) if (pod.server !== undefined && pod.node?.lost === false) yield pod;
    }
  }

  private of(pod: Pod): PodMetrics {
    let metrics = this.pods.get(pod);
    if (metrics === undefined) {
      metrics = {
        main: new Readings(),
        sidecar: pod.model.sidecar === undefined ? undefined : new Readings(),
        scraped: undefined,
        shown: undefined,
      };
      this.pods.set(pod, metrics);
    }
    return metrics;
  }
}

function read(readings: Readings, processor: Processor, nowMs: number): void {
  processor.advance(nowMs);
  const { periods, throttledPeriods, usedMs } = processor;
  readings.add({ atMs: nowMs, usedMs, periods, throttledPeriods });
}

/** A container without a limit is never throttled, and its `cpu.stat` counts no periods. */
function useOf({ cores, throttledRatio }: Use, limited: boolean): Partial<ContainerUse> {
  return {
    cpuUsageCores: cores,
    ...(limited && throttledRatio !== undefined && { cpuThrottledRatio: throttledRatio }),
  };
}
