import { hostname } from "node:os";
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "prom-client";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import type { Connection } from "@tradewind/kubernetes/client/connection.ts";
import { LeaderElector } from "@tradewind/kubernetes/election/elector.ts";
import type { ElectionTimings } from "@tradewind/kubernetes/election/elector.ts";
import { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import { LEASE_NAME } from "@tradewind/kubernetes/client/rights.ts";
import type { ReflectorTimings } from "@tradewind/kubernetes/watch/reflector.ts";
import type { WatchHealth } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { EventRecorder } from "@tradewind/kubernetes/write/events.ts";
import type { Head } from "../keep/journal/chain.ts";
import type { ClusterOptions } from "../options.ts";
import { ResizePart } from "./resize/resize-part.ts";
import { SettledSizes } from "./sizing/settled-sizes.ts";
import { VpaPart } from "./vpa/vpa-part.ts";
import { AuditPart } from "./status/audit-part.ts";
import { EventsPart } from "./status/events-part.ts";
import { ClusterMetrics } from "./metrics.ts";
import { WatchedNamespaces } from "./scene/namespaces.ts";
import type { LeaderPart, Scene } from "./scene/part.ts";
import { makeScene } from "./scene/scene.ts";
import { StatusPart } from "./status/status-part.ts";
import { TriggersPart } from "./status/triggers-part.ts";

const CONTROLLER = "tradewind.dev/exporter";

export interface ClusterEdges {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Logger;
  readonly registry: Registry;
  /** Everything recommended now. */
  readonly list: () => RecommendationList;
  readonly applications: () => Scene["applications"];
  /** The newest row of the audit trail. */
  readonly auditHead: () => Head | undefined;
  /** What a test may put in place of the pod's own connection and of the usual times. */
  readonly connection?: Connection | undefined;
  readonly election?: ElectionTimings | undefined;
  readonly watchTimings?: Partial<ReflectorTimings> | undefined;
}

/** The exporter's part in a cluster: it runs beside the answers to KEDA and never in their way. */
export interface ClusterWork {
  stop(): Promise<void>;
}

/**
 * Takes part in the election and, as the leader, writes what it was asked to. Undefined when it was asked for nothing.
 * @throws TradewindError `invalid-kubeconfig`
 */
export async function startCluster(
  options: ClusterOptions,
  edges: ClusterEdges,
): Promise<ClusterWork | undefined> {
  const { events, inPlaceResize, status, vpa } = options;
  if (!events && !inPlaceResize && !status && !vpa) return undefined;
  const { clock, log, registry, rng } = edges;
  const connection =
    edges.connection ?? (await connect({ kubeconfig: options.kubeconfig, environment: process.env }));
  const observer = new KubernetesMetrics(registry);
  const client = new ApiClient(connection, { clock, rng, observer });
  let health: () => WatchHealth[] = () => [];
  observer.follow(() => health());
  const identity = options.identity ?? `${hostname()}-${randomBytes(4).toString("hex")}`;
  const metrics = new ClusterMetrics(registry, () => elector.isLeader);
  const elector: LeaderElector = new LeaderElector({
    client,
    namespace: options.namespace ?? client.namespace,
    name: options.lease ?? LEASE_NAME,
    identity,
    clock,
    rng,
    log,
    timings: edges.election,
    lead: async (signal) => {
      const namespaces = new WatchedNamespaces({
        client,
        applications: status,
        scaledObjects: events,
        vpas: vpa || inPlaceResize,
        clock,
        log,
        observer,
        timings: edges.watchTimings,
      });
      health = () => namespaces.health();
      const sizes = new SettledSizes();
      const { auditHead } = edges;
      const parts = makeParts(options, { client, identity, metrics, sizes, auditHead, clock, log });
      try {
        await lead({ edges, metrics, namespaces, parts, sizes, everyMs: options.reconcileMs, signal });
      } finally {
        health = () => [];
        await namespaces.stop();
      }
    },
  });
  elector.start();
  return {
    stop: async () => {
      await elector.stop();
      await client.close();
    },
  };
}

interface PartsEdges extends Pick<ClusterEdges, "auditHead"> {
  readonly client: ApiClient;
  readonly identity: string;
  readonly metrics: ClusterMetrics;
  readonly sizes: SettledSizes;
  readonly clock: Clock;
  readonly log: Logger;
}

function makeParts(
  { events, inPlaceResize, status, vpa }: ClusterOptions,
  { auditHead, client, clock, identity, log, metrics, sizes }: PartsEdges,
): LeaderPart[] {
  const recorder = new EventRecorder({
    client,
    controller: CONTROLLER,
    instance: identity,
    clock,
    log,
    onResult: (result) => metrics.event(result),
  });
  return [
    ...(status ? [new StatusPart({ client, log, onWrite: (result) => metrics.statusWrite(result) })] : []),
    ...(events
      ? [new EventsPart(recorder), new TriggersPart(recorder), new AuditPart(recorder, auditHead)]
      : []),
    ...(vpa ? [new VpaPart({ client, sizes, log, onWrite: (result) => metrics.vpaWrite(result) })] : []),
    ...(inPlaceResize
      ? [
          new ResizePart({
            client,
            sizes,
            recorder: events ? recorder : undefined,
            log,
            onResult: (result) => metrics.resize(result),
          }),
        ]
      : []),
  ];
}

interface Term {
  readonly edges: ClusterEdges;
  readonly metrics: ClusterMetrics;
  readonly namespaces: WatchedNamespaces;
  readonly parts: readonly LeaderPart[];
  readonly sizes: SettledSizes;
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

/** One term of leadership: round after round until it ends. */
async function lead({ edges, everyMs, metrics, namespaces, parts, signal, sizes }: Term): Promise<void> {
  const { applications, clock, list, log } = edges;
  const problems = new Map<string, string>();
  while (!signal.aborted) {
    const now = list();
    const known = applications();
    namespaces.want([
      ...now.recommendations.map(({ namespace }) => namespace),
      ...known.flatMap(({ place }) => place?.namespace ?? []),
    ]);
    sizes.record(now, clock.monotonicMs());
    const scene = makeScene(now, known, namespaces, clock);
    for (const part of parts) {
      try {
        await part.reconcile(scene, signal);
        problems.delete(part.name);
      } catch (error) {
        if (signal.aborted) return;
        metrics.partFailed(part.name);
        const problem = describeError(error);
        if (problem !== problems.get(part.name)) log.error({ part: part.name, problem }, "a round failed");
        problems.set(part.name, problem);
      }
    }
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
