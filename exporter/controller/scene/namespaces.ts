import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import type { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import { Reflector } from "@tradewind/kubernetes/watch/reflector.ts";
import type { ReflectorTimings } from "@tradewind/kubernetes/watch/reflector.ts";
import { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import type { WatchHealth } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { ApplicationObject } from "./namespace-watches.ts";
import type { NamespaceWatches } from "./namespace-watches.ts";
import { servicesOf } from "./services.ts";
import type { ServiceWorkload } from "./services.ts";

/** Everything followed in one namespace. */
export interface NamespaceView extends NamespaceWatches {
  /** Workloads by their service's name; put together anew only after something changed. */
  readonly services: () => ReadonlyMap<string, ServiceWorkload>;
}

export interface NamespacesOptions {
  readonly client: ApiClient;
  readonly applications: boolean;
  readonly scaledObjects: boolean;
  readonly vpas: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: KubernetesMetrics;
  readonly timings?: Partial<ReflectorTimings> | undefined;
}

/** A namespace that no recommendation was for in this time is no longer watched. */
const FORGET_MS = 600_000;
const MAX_NAMESPACES = 200;

/** Follows exactly the namespaces that recommendations are for: no right is needed anywhere else. */
export class WatchedNamespaces {
  private readonly options: NamespacesOptions;
  private readonly views = new Map<string, NamespaceView & { wantedMs: number }>();

  constructor(options: NamespacesOptions) {
    this.options = options;
  }

  /** Follows these from now on; others a while longer. */
  want(namespaces: Iterable<string>): void {
    const nowMs = this.options.clock.monotonicMs();
    for (const namespace of namespaces) {
      const known = this.views.get(namespace);
      if (known !== undefined) known.wantedMs = nowMs;
      else if (this.views.size < MAX_NAMESPACES) {
        this.views.set(namespace, { ...this.open(namespace), wantedMs: nowMs });
      }
    }
    for (const [namespace, view] of this.views) {
      if (nowMs - view.wantedMs <= FORGET_MS) continue;
      this.views.delete(namespace);
      void end(view);
    }
  }

  get(namespace: string): NamespaceView | undefined {
    return this.views.get(namespace);
  }

  health(): WatchHealth[] {
    return [...this.views.values()].flatMap(({ workloads }) => workloads.health());
  }

  async stop(): Promise<void> {
    const all = [...this.views.values()];
    this.views.clear();
    await Promise.all(all.map(async (view) => end(view)));
  }

  private open(namespace: string): NamespaceView {
    const { applications, client, clock, log, observer, scaledObjects, timings, vpas } = this.options;
    const common = { client, namespace, clock, log, observer, timings };
    const watches: NamespaceWatches = {
      workloads: new ClusterWatch({ ...common, namespaces: [namespace], scaledObjects, capacity: false }),
      applications: applications
        ? new Reflector({ ...common, resource: RESOURCES.applications, schema: ApplicationObject })
        : undefined,
      vpas: vpas
        ? new Reflector({
            ...common,
            resource: RESOURCES.verticalPodAutoscalers,
            schema: VerticalPodAutoscaler,
          })
        : undefined,
    };
    watches.workloads.start();
    watches.applications?.start();
    watches.vpas?.start();
    return { ...watches, services: rememberedServices(watches) };
  }
}

async function end({ applications, vpas, workloads }: NamespaceView): Promise<void> {
  await Promise.all([workloads.stop(), applications?.stop(), vpas?.stop()]);
}

function rememberedServices(watches: NamespaceWatches): NamespaceView["services"] {
  let revision = -1;
  let applications: unknown;
  let services: ReadonlyMap<string, ServiceWorkload> = new Map();
  return () => {
    const specs = JSON.stringify([...(watches.applications?.items.values() ?? [])].map(({ spec }) => spec));
    if (watches.workloads.revision !== revision || specs !== applications) {
      revision = watches.workloads.revision;
      applications = specs;
      services = servicesOf(watches);
    }
    return services;
  };
}
