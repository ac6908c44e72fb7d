import { ownerOf } from "../window/span.ts";
import type { SpanBatch } from "../window/span.ts";

/** What senders push: the sources that are asked have names. */
export const PUSHED = "";

/** As many services as windows are made of. */
const MOST_SERVICES = 5_000;

/** Which source of spans told of which service, and when: where one fails, the services that others tell of are not affected. */
export class SpanOrigins {
  /** By name of the source and of the service: monotonic time, ms. */
  private readonly toldMs = new Map<string, Map<string, number>>();

  note(origin: string, { resources }: SpanBatch, nowMs: number): void {
    let services = this.toldMs.get(origin);
    if (services === undefined) {
      services = new Map();
      this.toldMs.set(origin, services);
    }
    for (const resource of resources) {
      const service = ownerOf(resource);
      if (services.has(service) || services.size < MOST_SERVICES) services.set(service, nowMs);
    }
  }

  /** Services of which a source other than `failed` has told since then; what is older is forgotten. */
  since(sinceMs: number, failed: readonly string[]): ReadonlySet<string> {
    const told = new Set<string>();
    for (const [origin, services] of this.toldMs) {
      for (const [service, atMs] of services) {
        if (atMs < sinceMs) services.delete(service);
        else if (!failed.includes(origin)) told.add(service);
      }
    }
    return told;
  }
}
