import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { noCluster, TIMEOUT_MS, useCluster } from "./cluster.ts";
import { POLL_SECONDS, Stage } from "./stage.ts";

const MANY = 50;

/** The first ScaledObject of docs/keda.md, in another namespace and at another address. */
function documented({ grpcPort, namespace }: Stage): object {
  const text = readFileSync(new URL("../../docs/keda.md", import.meta.url), "utf8");
  const [, yaml = ""] = /```yaml\n(apiVersion: keda\.sh[\s\S]*?)```/.exec(text) ?? [];
  const address = "tradewind-scaler.tradewind.svc.cluster.local:9813";
  expect(yaml).toContain(address);
  expect(yaml).toContain("namespace: shop");
  return parse(
    yaml.replace(address, `127.0.0.1:${grpcPort}`).replace("namespace: shop", `namespace: ${namespace}`),
  ) as object;
}

describe.skipIf(noCluster)("real KEDA and a real HPA follow the scaler", { timeout: TIMEOUT_MS }, () => {
  const cluster = useCluster();

  it("up and down to exactly its number", async () => {
    const stage = await Stage.open(cluster(), "exact");
    await stage.deploy("search");
    stage.want(3, "search");
    const scaler = await stage.startScaler();
    await stage.scale("search");
    await stage.untilReplicas("a new ScaledObject is followed", { search: 3 });
    expect(await stage.hpaMetrics("search")).toEqual(["s0-recommended-replicas"]);
    for (const [before, after] of [
      [3, 10],
      [10, 11],
      [11, 2],
    ] as const) {
      stage.want(after, "search");
      await stage.served(scaler);
      await stage.untilReplicas(`${before} to ${after} replicas`, { search: after });
    }
    expect(await stage.condition("search", "Ready")).toBe("True");
  });

  it("with the ScaledObject that docs/keda.md shows, unknown fields forbidden", async () => {
    const stage = await Stage.open(cluster(), "documented");
    await stage.deploy("search", 2);
    stage.want(5, "search");
    await stage.startScaler();
    await stage.api.call({
      resource: RESOURCES.scaledObjects,
      namespace: stage.namespace,
      verb: "create",
      query: { fieldValidation: "Strict" },
      body: documented(stage),
    });
    await stage.untilReplicas("the ScaledObject of docs/keda.md is followed", { search: 5 });
    expect(await stage.hpaMetrics("search")).toContain("s0-recommended-replicas");
  });

  it("with fifty ScaledObjects, each to its own number", async () => {
    const stage = await Stage.open(cluster(), "fifty");
    const names = Array.from({ length: MANY }, (_, index) => `service-${index}`);
    const numbers = (offset: number): Record<string, number> =>
      Object.fromEntries(names.map((name, index) => [name, 2 + ((index + offset) % 5)]));
    const want = (wanted: Readonly<Record<string, number>>): void => {
      for (const [name, replicas] of Object.entries(wanted)) stage.want(replicas, name);
    };
    want(numbers(0));
    const scaler = await stage.startScaler();
    for (const name of names) {
      await stage.deploy(name);
      await stage.scale(name);
    }
    await stage.untilReplicas(`${MANY} new ScaledObjects are followed`, numbers(0));
    want(numbers(1));
    await stage.served(scaler);
    await stage.untilReplicas(`${MANY} changes at once`, numbers(1));
  });

  it.each([
    ["external", POLL_SECONDS],
    // KEDA is pushed up from zero; down to zero it goes when it polls.
    ["external-push", 15],
  ])("to zero and back with the trigger %s", async (type, pollingInterval) => {
    const stage = await Stage.open(cluster(), `zero-${type}`);
    await stage.deploy("search");
    stage.want(2, "search");
    const scaler = await stage.startScaler();
    await stage.scale("search", { spec: { minReplicaCount: 0, pollingInterval }, trigger: { type } });
    await stage.untilReplicas(`${type}: a new ScaledObject is followed`, { search: 2 });
    stage.want(0, "search");
    await stage.served(scaler);
    await stage.untilReplicas(`${type}: to zero (cooldown ${POLL_SECONDS} s)`, { search: 0 });
    stage.want(3, "search");
    await stage.served(scaler);
    await stage.untilReplicas(`${type}: from zero to 3`, { search: 3 });
  });
});
