import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import { BLOCKS, PERMISSIONS, rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { ApplicationResource } from "@tradewind/kubernetes/application/resource.ts";
import { KubernetesWorkloads } from "@tradewind/predictor/sources/kubernetes/workloads.ts";
import { Registry } from "prom-client";
import { runningExporter } from "../../exporter/running-exporter.ts";
import { planOf, wishOf } from "../../exporter/wish.ts";
import { waitUntil } from "../../wait-until.ts";
import { deployment, podOf, replicaSet } from "../cluster-objects.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import { silentLog } from "../silent-log.ts";

const SIZES = { requests: { cpu: "200m", memory: "128Mi" } };

/** Everything that a scaler pod does in a cluster, at once, with all parts switched on, each process with its own rights. */
async function everything(): Promise<{ fake: FakeApiServer; changePlan: () => void }> {
  const fake = await FakeApiServer.start();
  for (const account of ["predictor", "scaler"] as const) {
    fake.addUser(account, `${account}-token`, [
      { namespace: "tradewind", rules: rulesFor(account, "own", BLOCKS) },
      { namespace: "shop", rules: rulesFor(account, "watched", BLOCKS) },
      { rules: rulesFor(account, "cluster", BLOCKS) },
    ]);
  }
  fake.put(RESOURCES.applications, {
    metadata: { name: "hotel", namespace: "shop" },
    spec: { entry: "search", objective: { milliseconds: 200 } },
  });
  for (const service of ["search", "geo"]) {
    fake.put(RESOURCES.deployments, deployment(service));
    fake.put(RESOURCES.replicaSets, replicaSet(`${service}-abc12`, service));
    fake.put(RESOURCES.pods, podOf(service, 0, SIZES));
  }
  fake.put(RESOURCES.verticalPodAutoscalers, {
    metadata: { name: "geo", namespace: "shop" },
    spec: { targetRef: { kind: "Deployment", name: "geo" }, recommenders: [{ name: "tradewind" }] },
  });
  const connection = fake.connection("scaler-token");
  const client = new ApiClient(fake.connection("predictor-token"));
  const parts = {
    client,
    clock: systemClock,
    log: silentLog,
    observer: new KubernetesMetrics(new Registry()),
  };
  const application = new ApplicationResource({ ...parts, namespace: "shop", name: "hotel" });
  const workloads = new KubernetesWorkloads({
    ...parts,
    namespaces: ["shop"],
    applications: () => [application.current()].filter((each) => each !== undefined),
    keepSeconds: 60,
  });
  application.start();
  workloads.start();
  const wish = (service: string, replicas: number) =>
    wishOf({ service, confidence: 0.9, allocation: { replicas, cpuCores: 0.6, memoryBytes: 200e6 } });
  const plan = (sequence: number, replicas: number) =>
    planOf([wish("search", replicas), wish("geo", replicas)], { sequence, mode: "act", windowSeconds: 15 });
  const all = { status: true, events: true, vpa: true, inPlaceResize: true };
  const { predictor } = await runningExporter(
    plan(1, 5),
    { cluster: { ...all, identity: "scaler-0", namespace: "tradewind", reconcileMs: 30 } },
    { cluster: { connection, election: { leaseSeconds: 1, renewDeadlineMs: 400, retryMs: 30 } } },
  );
  onTestFinished(async () => {
    await workloads.stop();
    await application.stop();
    await client.close();
  });
  let sequence = 1;
  const changePlan = (): void => {
    sequence += 1;
    predictor.serve(plan(sequence, 5 + sequence));
  };
  return { fake, changePlan };
}

describe("the rights of predictor and scaler", () => {
  it("are enough for all that each does, and each of them is used", async () => {
    const { changePlan, fake } = await everything();
    const used = new Set<string>();
    const wanted = PERMISSIONS.filter(({ account }) => account !== "agent").flatMap(
      ({ account, apiGroup, resource, verbs }) =>
        verbs.map((verb) => `${account}: ${verb} ${apiGroup}/${resource}`),
    );
    const unused = (): string[] => {
      for (const { group, resource, user, verb } of fake.calls)
        used.add(`${user}: ${verb} ${group}/${resource}`);
      return wanted.filter((right) => !used.has(right));
    };
    await waitUntil(() => fake.list(RESOURCES.leases).length === 1);
    // An event that comes again is held to the table by test/kubernetes/write/events.test.ts.
    await waitUntil(
      () => {
        changePlan();
        return unused().every((right) => right.startsWith("scaler: patch events"));
      },
      15_000,
      "every right but one is used",
    );
    expect(unused().filter((right) => right !== "scaler: patch events.k8s.io/events")).toEqual([]);
    expect(fake.refused).toEqual([]);
  });

  it("let the predictor, which parses what strangers send, change nothing", () => {
    const verbs = PERMISSIONS.filter(({ account }) => account === "predictor").flatMap((each) => each.verbs);
    expect(new Set(verbs)).toEqual(new Set(["list", "watch"]));
  });
});
