import { MOST_FRESH_PODS } from "@tradewind/core/contract/freshness.ts";
import type { Freshness } from "@tradewind/core/contract/freshness.ts";
import type { SamplingWish } from "@tradewind/core/contract/proposal.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";

/** Services that are read more often at once. */
const MOST_SERVICES = 16;

/** Services that somebody has asked agents to read more often, each for a time. */
export class FinerSampling {
  private readonly wishes = new Map<string, SamplingWish>();

  /** The last wish for a service counts. @returns false where as many others are read more often as may be */
  ask(service: string, wish: SamplingWish, nowMs: number): boolean {
    for (const [name, { untilMs }] of this.wishes) if (untilMs <= nowMs) this.wishes.delete(name);
    if (!this.wishes.has(service) && this.wishes.size >= MOST_SERVICES) return false;
    this.wishes.set(service, wish);
    return true;
  }

  /** The pods of these services now, with the seconds that were asked for. */
  pods(list: WorkloadList | undefined, namespace: string, nowMs: number): Freshness {
    if (this.wishes.size === 0) return new Map();
    const pods = (list?.workloads ?? []).flatMap((workload) => {
      const wish = workload.namespace === namespace ? this.wishes.get(workload.service) : undefined;
      const isNow = wish !== undefined && wish.fromMs <= nowMs && nowMs < wish.untilMs;
      return isNow ? workload.pods.map(({ uid }) => [uid, wish.seconds] as const) : [];
    });
    return new Map(pods.slice(0, MOST_FRESH_PODS));
  }
}
