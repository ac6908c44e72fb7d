import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../exporter/until.ts";
import { measured } from "../measured.ts";
import { nodeCluster, PATIENCE_MS, TIMEOUT_MS } from "./node.ts";
import { BEFORE, idleDeployment, lookAtPod, MIB, search, wantSize } from "./resized-pod.ts";

const node = nodeCluster();
const NAMESPACE = "resize";

describe.skipIf(node === undefined)("a running pod on a real node", { timeout: TIMEOUT_MS }, () => {
  const { apply, kubeconfig, kubectl } = node ?? {
    kubeconfig: "",
    kubectl: async () => Promise.resolve(""),
    apply: async () => Promise.resolve(),
  };
  beforeAll(async () => {
    await kubectl("create", "namespace", NAMESPACE);
    await apply(search(NAMESPACE));
    await kubectl("rollout", "status", "deployment/search", "--namespace", NAMESPACE, "--timeout=300s");
  }, TIMEOUT_MS);
  afterAll(async () => {
    await kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false");
  });

  const look = async () => lookAtPod(kubectl, NAMESPACE);
  const reasons = async (): Promise<string> =>
    kubectl("get", "events", "--namespace", NAMESPACE, "--output=jsonpath={.items[*].reason}");
  /** Starts an exporter that resizes pods, beside a predictor that wants this size. */
  const want = async (cpuCores: number, memoryBytes: number): Promise<void> =>
    wantSize(NAMESPACE, cpuCores, memoryBytes, [
      "--in-place-resize",
      "--events",
      `--kubeconfig=${kubeconfig}`,
    ]);

  it("gets more CPU and memory in its cgroups from the exporter, without a restart", async () => {
    const { uid } = await look();
    expect(await look()).toMatchObject({ ...BEFORE, restarts: 0 });
    const startedMs = performance.now();
    await want(0.4, 96 * MIB);
    await until(
      "the cgroups have the new limits",
      async () => {
        const { cpuCores, memoryBytes } = await look();
        return cpuCores === 0.4 && memoryBytes === 96 * MIB;
      },
      PATIENCE_MS,
    );
    measured(
      "a running pod has more CPU and memory, from the plan on",
      (performance.now() - startedMs) / 1e3,
    );
    expect(await look()).toMatchObject({
      uid,
      restarts: 0,
      asked: { limits: { cpu: "400m", memory: "96Mi" } },
    });
    await until("the exporter says so", async () => (await reasons()).includes("PodResized"), PATIENCE_MS);
  });

  it("gets a size that its node has no room for now as soon as there is room, and the wish stays", async () => {
    const cores = Number(await kubectl("get", "node/node-1", "--output=jsonpath={.status.allocatable.cpu}"));
    const neighbour = `${Math.round(cores * 600)}m`;
    await apply(
      idleDeployment(NAMESPACE, "neighbour", {
        requests: { cpu: neighbour, memory: "32Mi" },
        limits: { cpu: neighbour, memory: "64Mi" },
      }),
    );
    await kubectl("rollout", "status", "deployment/neighbour", "--namespace", NAMESPACE, "--timeout=300s");
    const before = await look();
    // Half of the limit is requested: half of the node, of which the neighbour has more than half.
    await want(cores, 96 * MIB);
    await until("the kubelet defers it", async () => (await look()).pending === "Deferred", PATIENCE_MS);
    expect(await look()).toMatchObject({ uid: before.uid, cpuCores: before.cpuCores });
    await kubectl("delete", "deployment/neighbour", "--namespace", NAMESPACE);
    const startedMs = performance.now();
    await until("the node gives it", async () => (await look()).cpuCores === cores, PATIENCE_MS);
    measured("a deferred resize is there, from room on", (performance.now() - startedMs) / 1e3);
    expect(await look()).toMatchObject({ uid: before.uid, restarts: 0 });
    expect(await reasons()).not.toContain("PodResizeTakenBack");
  });

  it("keeps its size when it is to get more than the node has, and the wish is taken back", async () => {
    const before = await look();
    await want(500, 96 * MIB);
    await until(
      "the exporter takes the wish back",
      async () => (await reasons()).includes("PodResizeTakenBack"),
      PATIENCE_MS,
    );
    expect(await look()).toEqual(before);
  });
});
