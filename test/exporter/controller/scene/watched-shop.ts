import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { WatchedNamespaces } from "@tradewind/exporter/controller/scene/namespaces.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import type { Block } from "@tradewind/kubernetes/client/rights.ts";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import { deployment } from "../../../kubernetes/cluster-objects.ts";
import { FakeApiServer } from "../../../kubernetes/fake-api-server.ts";
import { silentLog } from "../../../kubernetes/silent-log.ts";

interface WatchedShop {
  readonly fake: FakeApiServer;
  readonly client: ApiClient;
  /** Goes on from the system's. */
  readonly clock: Clock & { aheadMs: number };
  readonly namespaces: WatchedNamespaces;
}

/** A namespace `shop` with a Deployment `search`, and a watcher with these rights, which begins once the namespace is wanted. */
export async function watchedShop(
  blocks: readonly Block[],
  { absentMs, vpas = false }: { absentMs?: number; vpas?: boolean } = {},
): Promise<WatchedShop> {
  const fake = await FakeApiServer.start();
  fake.addUser("scaler", "scaler-token", [
    { namespace: "shop", rules: rulesFor("scaler", "watched", blocks) },
  ]);
  fake.put(RESOURCES.deployments, deployment("search"));
  const client = new ApiClient(fake.connection("scaler-token"), { retryDelays: { firstMs: 1, maxMs: 5 } });
  const clock = {
    ...systemClock,
    aheadMs: 0,
    monotonicMs: () => systemClock.monotonicMs() + clock.aheadMs,
  };
  const namespaces = new WatchedNamespaces({
    client,
    applications: false,
    scaledObjects: false,
    vpas,
    clock,
    log: silentLog,
    observer: new KubernetesMetrics(new Registry()),
    timings: { backoff: { firstMs: 5, maxMs: 20 }, ...(absentMs !== undefined && { absentMs }) },
  });
  onTestFinished(async () => {
    await namespaces.stop();
    await client.close();
  });
  return { fake, client, clock, namespaces };
}
