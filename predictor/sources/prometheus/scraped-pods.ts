import type { Window } from "@tradewind/core/contract/window.ts";
import { mean } from "@tradewind/core/values/statistics.ts";
import type { OwnedCounter } from "./copies.ts";
import { podOf } from "./pod-labels.ts";

/** Share of the other pods' CPU that a pod at work uses. */
const WORKING_SHARE = 0.5;
const MOST_PODS = 20_000;
/** A pod of which no sample came for so long is forgotten. */
const FORGET_MS = 3_600_000;

/** Which pods' counters of requests are stored: one that works and is scraped no more would be missing from the rates. */
export class ScrapedPods {
  /** Time of the last sample, by pod. */
  private readonly lastMs = new Map<string, number>();

  note(counters: readonly OwnedCounter[]): void {
    for (const { labels, samples } of counters) {
      const pod = podOf(labels);
      const timeMs = samples.timesMs.at(-1);
      if (pod === undefined || timeMs === undefined) continue;
      const knownMs = this.lastMs.get(pod);
      if (knownMs === undefined && this.lastMs.size >= MOST_PODS) continue;
      this.lastMs.set(pod, Math.max(timeMs, knownMs ?? timeMs));
    }
  }

  forget(nowMs: number): void {
    for (const [pod, lastMs] of this.lastMs)
      if (Math.abs(nowMs - lastMs) > FORGET_MS) this.lastMs.delete(pod);
  }

  /** The pod of a service that works as the others do, of which no sample came for `silenceMs` while some came of others. */
  silentPod(
    { containers, endMs }: Pick<Window, "containers" | "endMs">,
    silenceMs: number,
  ): string | undefined {
    const main = containers.filter(
      ({ podName = "", sidecar }) => sidecar !== true && this.lastMs.has(podName),
    );
    const isTold = ({ podName = "" }: Window["containers"][number]): boolean =>
      (this.lastMs.get(podName) ?? 0) > endMs - silenceMs;
    const usual = mean(main.filter(isTold).flatMap(({ cpuUsageCores }) => cpuUsageCores ?? []));
    return main.find((each) => !isTold(each) && (each.cpuUsageCores ?? 0) >= WORKING_SHARE * usual)?.podName;
  }
}
