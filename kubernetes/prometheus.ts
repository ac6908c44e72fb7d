import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import type { CallObserver } from "./client/client.ts";
import { WATCH_ENDS } from "./watch/reflector.ts";
import type { WatchEnd, WatchObserver } from "./watch/reflector.ts";
import type { WatchHealth } from "./workloads/cluster-watch.ts";

/** What a process does to the Kubernetes API, and how well it is informed. Labels take the few names of RBAC's table. */
export class KubernetesMetrics implements CallObserver, WatchObserver {
  private readonly registry: Registry;
  private readonly requests;
  private readonly lists;
  private readonly watchEnds;
  private readonly skipped;

  constructor(registry: Registry) {
    this.registry = registry;
    this.requests = this.counter(
      "requests_total",
      "Calls to the Kubernetes API by verb, resource and answer (an HTTP status, or error when there was none).",
      ["verb", "resource", "code"],
    );
    this.lists = this.counter("lists_total", "Collections read whole.", ["resource"]);
    this.watchEnds = this.counter("watch_ends_total", "Watches that had to be begun again, by reason.", [
      "resource",
      "reason",
    ]);
    this.skipped = this.counter("objects_skipped_total", "Objects that were not understood and left out.", [
      "resource",
    ]);
  }

  called(verb: string, resource: string, code: string): void {
    this.requests.inc({ verb, resource, code });
  }

  listed(resource: string): void {
    this.lists.inc({ resource });
    for (const reason of WATCH_ENDS) this.watchEnds.inc({ resource, reason }, 0);
  }

  watchEnded(resource: string, reason: WatchEnd): void {
    this.watchEnds.inc({ resource, reason });
  }

  itemSkipped(resource: string): void {
    this.skipped.inc({ resource });
  }

  /** Shows the state of watches at each scrape. */
  follow(health: () => readonly WatchHealth[]): void {
    registerReadMetrics(this.registry, { Counter, Gauge }, [
      {
        kind: "gauge",
        name: "tradewind_kubernetes_objects",
        help: "Objects known, by resource.",
        labelNames: ["resource"],
        read: () => Array.from(objectCounts(health()), ([resource, count]) => [{ resource }, count]),
      },
      {
        kind: "gauge",
        name: "tradewind_kubernetes_watch_age_seconds",
        help: "Time since what is known of a resource was known to be true; 0 while its watch is open, absent before the first list.",
        labelNames: ["resource"],
        read: () => {
          const oldest = new Map<string, number>();
          for (const { ageMs, resource } of health()) {
            if (Number.isFinite(ageMs)) oldest.set(resource, Math.max(oldest.get(resource) ?? 0, ageMs));
          }
          return Array.from(oldest, ([resource, ageMs]) => [{ resource }, ageMs / 1e3]);
        },
      },
    ]);
  }

  private counter<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
  ): Counter<Label> {
    return new Counter({
      name: `tradewind_kubernetes_${name}`,
      help,
      labelNames,
      registers: [this.registry],
    });
  }
}

/** Of a resource that is watched in namespaces and in the whole cluster the larger count: the objects are the same. */
function objectCounts(watches: readonly WatchHealth[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const byScope = Map.groupBy(watches, ({ namespace, resource }) => `${resource} ${namespace === undefined}`);
  for (const [first, ...others] of byScope.values()) {
    if (first === undefined) continue;
    const items = others.reduce((sum, each) => sum + each.items, first.items);
    counts.set(first.resource, Math.max(counts.get(first.resource) ?? 0, items));
  }
  return counts;
}
