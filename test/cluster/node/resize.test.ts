import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { exporterProcess } from "../../exporter/exporter-process.ts";
import { fakePredictor } from "../../exporter/fake-predictor.ts";
import { until } from "../../exporter/until.ts";
import { planOf, wishOf } from "../../exporter/wish.ts";
import { measured } from "../measured.ts";
import { cgroupLimits } from "./container-cgroup.ts";
import { PAUSE } from "./images/build.ts";
import { nodeCluster, PATIENCE_MS, TIMEOUT_MS } from "./node.ts";

const node = nodeCluster();
const NAMESPACE = "resize";
const MIB = 2 ** 20;
/** Of the container as it starts: a fifth of a core, of which half is requested. */
const BEFORE = { cpuCores: 0.2, memoryBytes: 64 * MIB };

const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ uid: z.string() }),
      spec: z.object({
        containers: z.array(z.object({ resources: z.record(z.string(), z.record(z.string(), z.string())) })),
      }),
      status: z.object({
        containerStatuses: z
          .array(
            z.object({ containerID: z.string().default(""), restartCount: z.number(), ready: z.boolean() }),
          )
          .default([]),
      }),
    }),
  ),
});

describe.skipIf(node === undefined)("a running pod on a real node", { timeout: TIMEOUT_MS }, () => {
  const { kubeconfig, kubectl } = node ?? { kubeconfig: "", kubectl: async () => Promise.resolve("") };
  beforeAll(async () => {
    await kubectl("create", "namespace", NAMESPACE);
    await kubectl("apply", "--filename", await manifest(NAMESPACE));
    await kubectl("rollout", "status", "deployment/search", "--namespace", NAMESPACE, "--timeout=300s");
  }, TIMEOUT_MS);
  afterAll(async () => {
    await kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false");
  });

  /** The only pod: what it asks for, what the kernel gives, and its restarts. */
  const look = async () => {
    const text = await kubectl("get", "pods", "--namespace", NAMESPACE, "--output=json");
    const [pod] = Pods.parse(JSON.parse(text)).items;
    const [container] = pod?.status.containerStatuses ?? [];
    if (pod === undefined || container === undefined) throw new Error("the pod is gone");
    const limits = cgroupLimits(pod.metadata.uid, container.containerID);
    return { ...limits, restarts: container.restartCount, asked: pod.spec.containers[0]?.resources };
  };
  const reasons = async (): Promise<string> =>
    kubectl("get", "events", "--namespace", NAMESPACE, "--output=jsonpath={.items[*].reason}");
  /** Starts an exporter that resizes pods, beside a predictor that wants this size. */
  const want = async (cpuCores: number, memoryBytes: number): Promise<void> => {
    const state = await mkdtemp(join(tmpdir(), "tradewind-resize-"));
    onTestFinished(async () => rm(state, { recursive: true, force: true }));
    const predictor = await fakePredictor();
    onTestFinished(async () => predictor.stop());
    predictor.behave((_request, response) => response.end(planFor(cpuCores, memoryBytes)));
    const flags = ["--in-place-resize", "--events", `--kubeconfig=${kubeconfig}`, "--restart-grace=0s"];
    await exporterProcess(predictor, state, ...flags);
  };

  it("gets more CPU and memory in its cgroups from the exporter, without a restart", async () => {
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
    expect(await look()).toMatchObject({ restarts: 0, asked: { limits: { cpu: "400m", memory: "96Mi" } } });
    await until("the exporter says so", async () => (await reasons()).includes("PodResized"), PATIENCE_MS);
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

/** A plan for a size of the container, made now. */
function planFor(cpuCores: number, memoryBytes: number): string {
  const wish = wishOf({
    namespace: NAMESPACE,
    service: "search",
    confidence: 0.9,
    allocation: { replicas: 1, cpuCores, memoryBytes },
    observed: { replicasReady: 1, replicasWanted: 1, lastStartedAtMs: 100_000, complete: true },
  });
  const bounds = { ...wish.bounds, cpuMaxCores: 1_000 };
  const sequence = Math.floor(performance.now());
  return JSON.stringify(
    planOf([{ ...wish, bounds }], { namespace: NAMESPACE, mode: "act", windowSeconds: 15, sequence }),
  );
}

async function manifest(namespace: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-resize-"));
  const labels = { app: "search" };
  const container = {
    name: "main",
    image: PAUSE,
    imagePullPolicy: "Never",
    resources: {
      requests: { cpu: "100m", memory: "32Mi" },
      limits: { cpu: "200m", memory: `${BEFORE.memoryBytes / MIB}Mi` },
    },
  };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "search", namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
  const { writeFile } = await import("node:fs/promises");
  const file = join(folder, "search.json");
  await writeFile(file, JSON.stringify(deployment));
  return file;
}
