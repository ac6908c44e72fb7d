import { execFileSync } from "node:child_process";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { ClusterMetrics } from "@tradewind/exporter/controller/metrics.ts";
import { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import type { WatchHealth } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { registerPeerMetrics } from "@tradewind/predictor/sources/peers/metrics.ts";
import { installed } from "../installed.ts";

const promtool = installed("promtool");

const watch = (resource: string, namespace: string | undefined, ageMs: number, items = 3): WatchHealth => ({
  resource,
  namespace,
  ageMs,
  items,
  synced: true,
  absent: false,
  problem: undefined,
});

function everything(): Registry {
  const registry = new Registry();
  const kubernetes = new KubernetesMetrics(registry);
  kubernetes.follow(() => [
    watch("pods", "a", 0),
    watch("pods", "b", 2_500),
    watch("pods", undefined, 0, 5),
    watch("nodes", undefined, 0, 2),
    watch("deployments", "a", Number.POSITIVE_INFINITY),
  ]);
  kubernetes.called("list", "pods", "200");
  kubernetes.listed("pods");
  kubernetes.watchEnded("pods", "expired");
  kubernetes.itemSkipped("pods");
  new ClusterMetrics(registry, () => true).partFailed("status");
  registerPeerMetrics(registry, () => ({
    states: { new: 0, reached: 1, refused: 0, unreachable: 0, stranger: 0, self: 1 },
    results: { sent: 5, dropped: 1, rejected: 0 },
    missedTotal: 2,
    strangersTotal: 3,
    replaysTotal: 1,
    queuedBytes: 100,
    problem: "spans of the predictor at http://10.0.0.2:9814 are missing",
  }));
  return registry;
}

describe("metrics of the cluster side", () => {
  it("say how much is known and how old it is, by resource, the oldest of several namespaces", async () => {
    const text = await everything().metrics();
    expect(text).toContain('tradewind_kubernetes_objects{resource="pods"} 6');
    expect(text).toContain('tradewind_kubernetes_objects{resource="nodes"} 2');
    expect(text).toContain('tradewind_kubernetes_watch_age_seconds{resource="pods"} 2.5');
    expect(text).not.toContain('watch_age_seconds{resource="deployments"}');
    expect(text).toContain("tradewind_leader 1");
    expect(text).toContain("tradewind_predictor_peer_spans_missing 1");
    expect(text).toContain('tradewind_predictor_peer_batches_total{result="sent"} 5');
  });

  it.skipIf(promtool === undefined)("are clean under promtool check metrics", async () => {
    const input = await everything().metrics();
    expect(execFileSync(promtool ?? "", ["check", "metrics"], { input, encoding: "utf8" })).toBe("");
  });
});
