import { MOST_FRESH_PODS } from "@tradewind/core/contract/freshness.ts";
import type { Freshness } from "@tradewind/core/contract/freshness.ts";
import type { SamplingRequest } from "@tradewind/core/contract/proposal.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";

/** Services that are read more often at once. */
const MOST_SERVICES = 16;

/** Services that somebody has asked agents to read more often, each for a time. */
export class FinerSampling {
  private readonly requests = new Map<string, SamplingRequest>();

  /** The last request for a service counts. @returns false where as many others are read more often as may be */
  ask(service: string, request: SamplingRequest, nowMs: number): boolean {
    for (const [name, { untilMs }] of this.requests) if (untilMs <= nowMs) this.requests.delete(name);
    if (!this.requests.has(service) && this.requests.size >= MOST_SERVICES) return false;
    this.requests.set(service, request);
    return true;
  }

  /** The pods of these services now, with the seconds that were asked for. */
  pods(list: WorkloadList | undefined, namespace: string, nowMs: number): Freshness {
    if (this.requests.size === 0) return new Map();
    const pods = (list?.workloads ?? []).flatMap((workload) => {
      const request = workload.namespace === namespace ? this.requests.get(workload.service) : undefined;
      const isNow = request !== undefined && request.fromMs <= nowMs && nowMs < request.untilMs;
      return isNow ? workload.pods.map(({ uid }) => [uid, request.seconds] as const) : [];
    });
    return new Map(pods.slice(0, MOST_FRESH_PODS));
  }
}
