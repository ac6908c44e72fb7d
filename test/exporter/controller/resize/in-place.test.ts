import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { describe, expect, it } from "vitest";
import { deployment } from "../../../kubernetes/cluster-objects.ts";
import type { FakeApiServer } from "../../../kubernetes/fake-api-server.ts";
import { until } from "../../until.ts";
import { SIZES, cluster, plan, wish } from "../scene/shop-cluster.ts";

describe("in-place resize", () => {
  const requestsOf = (fake: FakeApiServer, index: number) =>
    (
      fake.find(RESOURCES.pods, "shop", `search-abc12-${index}`)!.spec as {
        containers: { resources: { requests: Record<string, string> } }[];
      }
    ).containers[0]!.resources.requests;
  /** What the kubelet does with a wish. */
  const kubelet = (fake: FakeApiServer, index: number, condition?: object): void => {
    const { metadata, spec, status } = fake.find(RESOURCES.pods, "shop", `search-abc12-${index}`)!;
    const ready = { type: "Ready", status: "True" };
    const [container] = (status as { containerStatuses: object[] }).containerStatuses;
    const allocatedResources = condition === undefined ? requestsOf(fake, index) : SIZES.requests;
    fake.put(RESOURCES.pods, {
      metadata,
      spec,
      status: {
        ...(status as object),
        conditions: [ready, ...(condition === undefined ? [] : [condition])],
        containerStatuses: [{ ...container, allocatedResources }],
      },
    });
  };
  const eventsOf = (fake: FakeApiServer) => fake.list(RESOURCES.events).map(({ reason }) => reason);

  it("changes requests of one pod after the other, and tells when it is done", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize", "events"]);
    await exporter(plan([wish()]));
    await until("the first pod", () => requestsOf(fake, 0)["cpu"] === "600m");
    kubelet(fake, 0, { type: "PodResizeInProgress", status: "True" });
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 4);
    expect(requestsOf(fake, 1)).toEqual(SIZES.requests);
    kubelet(fake, 0);
    await until("the second pod", () => requestsOf(fake, 1)["cpu"] === "600m");
    expect(requestsOf(fake, 1)).toEqual({ cpu: "600m", memory: "191Mi" });
    kubelet(fake, 1);
    await until("both told", () => eventsOf(fake).length === 2);
    expect(eventsOf(fake)).toEqual(["PodResized", "PodResized"]);
    expect(fake.refused).toEqual([]);
  });

  it("takes back what a node cannot give, says so, and leaves the pod alone", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize", "events"]);
    const { metrics } = await exporter(plan([wish()]));
    await until("the first pod", () => requestsOf(fake, 0)["cpu"] === "600m");
    kubelet(fake, 0, {
      type: "PodResizePending",
      status: "True",
      reason: "Infeasible",
      message: "no room on node-1",
    });
    await until("taken back", () => requestsOf(fake, 0)["cpu"] === "200m");
    kubelet(fake, 0);
    await until("the second pod", () => requestsOf(fake, 1)["cpu"] === "600m");
    expect(requestsOf(fake, 0)).toEqual({ cpu: "200m", memory: "128Mi" });
    expect(fake.list(RESOURCES.events)[0]).toMatchObject({
      type: "Warning",
      reason: "PodResizeTakenBack",
      note: expect.stringContaining("Infeasible: no room on node-1") as string,
    });
    expect(await metrics()).toMatch(/tradewind_pod_resizes_total\{result="taken-back"\} 1/);
  });

  it.each([
    ["the application only recommends", { mode: "recommend" as const }, {}, undefined],
    ["the policy is not sure", {}, { confidence: 0.2 }, undefined],
    [
      "the workload says no",
      {},
      {},
      (fake: FakeApiServer) =>
        fake.put(
          RESOURCES.deployments,
          deployment("search", { annotations: { "tradewind.dev/resize": "off" } }),
        ),
    ],
    [
      "a VPA takes care of it",
      {},
      {},
      (fake: FakeApiServer) =>
        fake.put(RESOURCES.verticalPodAutoscalers, {
          metadata: { name: "search", namespace: "shop" },
          spec: { targetRef: { kind: "Deployment", name: "search" } },
        }),
    ],
    [
      "a VPA looks on with updateMode Off",
      {},
      {},
      (fake: FakeApiServer) =>
        fake.put(RESOURCES.verticalPodAutoscalers, {
          metadata: { name: "search", namespace: "shop" },
          spec: {
            targetRef: { kind: "Deployment", name: "search" },
            updatePolicy: { updateMode: "Off" },
          },
        }),
    ],
    [
      "the decision does not count on their size",
      {},
      { allocation: { replicas: 5 }, advice: { cpuCores: 0.6, memoryBytes: 200e6 } },
      undefined,
    ],
  ])("leaves pods alone when %s", async (_what, changes, wished, prepare) => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    prepare?.(fake);
    await exporter(plan([wish(wished)], changes));
    await until("all watches", () => fake.openWatches >= 7);
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 5);
    expect(fake.calls.some(({ resource }) => resource === "pods/resize")).toBe(false);
  });

  it("leaves pods alone while it may not read HPAs: the request may be the scale point of one", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    fake.failNext(1_000, 403, { matches: ({ resource }) => resource === "horizontalpodautoscalers" });
    await exporter(plan([wish()]));
    await until("all other watches", () => fake.openWatches >= 6);
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 5);
    expect(fake.calls.some(({ resource }) => resource === "pods/resize")).toBe(false);
    fake.clearFaults();
    await until("the first pod", () => requestsOf(fake, 0)["cpu"] === "600m");
  });

  it("keeps the CPU request where an HPA scales on use relative to it", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    fake.put(RESOURCES.horizontalPodAutoscalers, {
      metadata: { name: "search", namespace: "shop" },
      spec: {
        scaleTargetRef: { kind: "Deployment", name: "search" },
        maxReplicas: 9,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
          },
        ],
      },
    });
    await exporter(plan([wish()]));
    await until("the first pod", () => requestsOf(fake, 0)["memory"] === "191Mi");
    expect(requestsOf(fake, 0)["cpu"]).toBe("200m");
  });

  it("gives up on a cluster that does not know how, and on a pod that is refused", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    fake.fault((call, response) => {
      if (call.resource !== "pods/resize" || call.name !== "search-abc12-0") return false;
      response.writeHead(422, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ kind: "Status", reason: "Invalid", message: "QoS may not change", code: 422 }),
      );
      return true;
    });
    const { metrics } = await exporter(plan([wish()]));
    await until("the other pod", () => requestsOf(fake, 1)["cpu"] === "600m");
    expect(requestsOf(fake, 0)).toEqual(SIZES.requests);
    expect(await metrics()).toMatch(/tradewind_pod_resizes_total\{result="refused"\} 1/);
  });
});
