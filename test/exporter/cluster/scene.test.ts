import { systemClock } from "@tradewind/core/clock.ts";
import { makeScene } from "@tradewind/exporter/cluster/scene.ts";
import { WatchedNamespaces } from "@tradewind/exporter/cluster/namespaces.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import { rulesFor } from "@tradewind/kubernetes/rbac/table.ts";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { deployment } from "../../kubernetes/cluster-objects.ts";
import { FakeApiServer } from "../../kubernetes/fake-api-server.ts";
import { silentLog } from "../../kubernetes/silent-log.ts";
import { waitUntil } from "../../wait-until.ts";

describe("what the leader knows of a service", () => {
  it("is that its requests may be a scale point once HPAs can be read no more", async () => {
    const fake = await FakeApiServer.start();
    fake.addUser("scaler", "scaler-token", [
      { namespace: "shop", rules: rulesFor("scaler", "watched", ["workloads"]) },
    ]);
    fake.put(RESOURCES.deployments, deployment("search"));
    const client = new ApiClient(fake.connection("scaler-token"), { retryDelays: { firstMs: 1, maxMs: 5 } });
    let laterMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs };
    const namespaces = new WatchedNamespaces({
      client,
      applications: false,
      scaledObjects: false,
      vpas: false,
      clock,
      log: silentLog,
      observer: new KubernetesMetrics(new Registry()),
      timings: { backoff: { firstMs: 5, maxMs: 20 } },
    });
    onTestFinished(async () => {
      await namespaces.stop();
      await client.close();
    });
    const list = { recommendations: [] } as unknown as Parameters<typeof makeScene>[0];
    const scalePoints = () => makeScene(list, [], namespaces, clock).service("shop", "search")?.scalePoints;
    namespaces.want(["shop"]);
    await waitUntil(() => scalePoints()?.length === 0 && fake.openWatches === 5);
    fake.failNext(1_000, 403, { matches: ({ resource }) => resource === "horizontalpodautoscalers" });
    fake.dropWatches();
    await waitUntil(() => fake.calls.some(({ status }) => status === 403));
    laterMs = 61_000;
    await waitUntil(() => scalePoints()?.length === 2);
    expect(scalePoints()).toEqual(["cpu", "memory"]);
  });
});
