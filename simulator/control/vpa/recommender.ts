import type { PodView } from "../../world.ts";
import { DecayingHistogram } from "./histogram.ts";

/** One resource of `containerRecommendations`. */
export interface Bounds {
  readonly target: number;
  readonly lowerBound: number;
  readonly upperBound: number;
}

/** What a VPA recommends for the main container; an absent resource is left alone. */
export interface Advice {
  readonly cpuCores?: Bounds;
  readonly memoryBytes?: Bounds;
}

const DAY_SECONDS = 86_400;
/** `--recommendation-margin-fraction` */
const MARGIN = 1.15;
/** `--pod-recommendation-min-cpu-millicores`, `--pod-recommendation-min-memory-mb`, shared by the containers of a pod. */
const LEAST = { cpuCores: 0.025, memoryBytes: 250 * 2 ** 20 };
/** A container that was killed for memory is taken to need so much more: `--oom-bump-up-ratio`, `--oom-min-bump-up-bytes`. */
const OOM = { ratio: 1.2, bytes: 100 * 2 ** 20 };
/** CPU samples weigh what the container requests, at least this. */
const LEAST_WEIGHT = 0.1;
/** Memory is judged by one peak a day: `--memory-aggregation-interval`. */
const PEAK_MS = DAY_SECONDS * 1e3;

interface Peak {
  readonly bytes: number;
  readonly dayEndMs: number;
}

/**
 * The stock recommender of the Vertical Pod Autoscaler for one service: p90 of CPU use and of daily memory peaks, plus 15 %,
 * from histograms with a half life of a day; its bounds are wide while little is known. Call once a minute.
 */
export class StockRecommender {
  private readonly cpu = new DecayingHistogram({
    firstBucket: 0.01,
    largest: 1_000,
    halfLifeSeconds: DAY_SECONDS,
  });
  private readonly memory = new DecayingHistogram({
    firstBucket: 1e7,
    largest: 1e12,
    halfLifeSeconds: DAY_SECONDS,
  });
  private readonly peaks = new Map<string, Peak>();
  private readonly kills = new Map<string, number>();
  private firstMs: number | undefined;
  private lastMs = 0;
  private samples = 0;

  /** Takes in what `kubectl top` shows of the service's pods; samples that are absent or no number are left out. */
  observe(pods: readonly PodView[], nowMs: number): void {
    for (const pod of pods) {
      const { cpuRequestCores, cpuUsageCores, memoryWorkingSetBytes, name, oomKills } = pod;
      if (cpuUsageCores === undefined || !Number.isFinite(cpuUsageCores)) continue;
      this.firstMs ??= nowMs;
      this.lastMs = nowMs;
      this.samples += 1;
      this.cpu.add(cpuUsageCores, Math.max(LEAST_WEIGHT, cpuRequestCores), nowMs);
      if (memoryWorkingSetBytes !== undefined && Number.isFinite(memoryWorkingSetBytes)) {
        this.peak(name, memoryWorkingSetBytes, nowMs);
      }
      if (oomKills > (this.kills.get(name) ?? 0)) {
        const had = Math.max(pod.memoryLimitBytes ?? pod.memoryRequestBytes, memoryWorkingSetBytes ?? 0);
        this.peak(name, Math.max(had * OOM.ratio, had + OOM.bytes), nowMs);
      }
      this.kills.set(name, oomKills);
    }
  }

  /** Undefined before the first sample. @param containers of a pod, which share the least amounts */
  advise(containers = 1): Required<Advice> | undefined {
    if (this.firstMs === undefined || this.memory.isEmpty) return undefined;
    const days = Math.min((this.lastMs - this.firstMs) / PEAK_MS, this.samples / (DAY_SECONDS / 60));
    const boundsOf = (histogram: DecayingHistogram, least: number): Bounds => {
      const at = (percentile: number, multiplier = 1): number =>
        Math.max(least / containers, MARGIN * histogram.percentile(percentile) * multiplier);
      return {
        target: at(0.9),
        lowerBound: at(0.5, days > 0 ? (1 + 0.001 / days) ** -2 : 0),
        upperBound: at(0.95, days > 0 ? 1 + 1 / days : Infinity),
      };
    };
    return {
      cpuCores: boundsOf(this.cpu, LEAST.cpuCores),
      memoryBytes: boundsOf(this.memory, LEAST.memoryBytes),
    };
  }

  /** Only the highest value of a container's day counts: a higher one takes the place of the one before. */
  private peak(container: string, bytes: number, nowMs: number): void {
    const firstMs = this.firstMs ?? nowMs;
    const dayEndMs = firstMs + (Math.floor((nowMs - firstMs) / PEAK_MS) + 1) * PEAK_MS;
    const before = this.peaks.get(container);
    if (before?.dayEndMs === dayEndMs) {
      if (bytes <= before.bytes) return;
      this.memory.add(before.bytes, -1, dayEndMs);
    }
    this.memory.add(bytes, 1, dayEndMs);
    this.peaks.set(container, { bytes, dayEndMs });
  }
}
