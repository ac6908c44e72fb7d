import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { exporterProcess } from "../../exporter/exporter-process.ts";
import { fakePredictor } from "../../exporter/fake-predictor.ts";
import { planOf, wishOf } from "../../exporter/wish.ts";
import { cgroupLimits } from "./container-cgroup.ts";
import { PAUSE } from "./images/build.ts";
import type { Kubectl } from "./node.ts";

export const MIB = 2 ** 20;
/** Of the container as it starts: a fifth of a core, of which half is requested. */
export const BEFORE = { cpuCores: 0.2, memoryBytes: 64 * MIB };

const Resources = z.record(z.string(), z.record(z.string(), z.string()));
const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ uid: z.string(), deletionTimestamp: z.string().optional() }),
      spec: z.object({ containers: z.array(z.object({ resources: Resources })) }),
      status: z.object({
        conditions: z
          .array(z.object({ type: z.string(), status: z.string(), reason: z.string().default("") }))
          .default([]),
        containerStatuses: z
          .array(
            z.object({ containerID: z.string().default(""), restartCount: z.number(), ready: z.boolean() }),
          )
          .default([]),
      }),
    }),
  ),
});

/** What is seen of a running pod: what it asks for, what the kernel gives, and whether it is still the same one. */
export interface SeenPod {
  readonly uid: string;
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly restarts: number;
  readonly asked: z.infer<typeof Resources> | undefined;
  /** Why a resize waits, as the kubelet says. */
  readonly pending: string | undefined;
}

/** The only pod of the deployment `search`. @throws Error when there is none */
export async function lookAtPod(kubectl: Kubectl, namespace: string): Promise<SeenPod> {
  const text = await kubectl(
    "get",
    "pods",
    "--namespace",
    namespace,
    "--selector=app=search",
    "--output=json",
  );
  const pod = Pods.parse(JSON.parse(text)).items.find(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
  const [container] = pod?.status.containerStatuses ?? [];
  if (pod === undefined || container === undefined) throw new Error("the pod is gone");
  const { uid } = pod.metadata;
  return {
    uid,
    ...cgroupLimits(uid, container.containerID),
    restarts: container.restartCount,
    asked: pod.spec.containers[0]?.resources,
    pending: pod.status.conditions.find(({ type }) => type === "PodResizePending")?.reason,
  };
}

/** Starts an exporter beside a predictor that wants this size of `search`. */
export async function wantSize(
  namespace: string,
  cpuCores: number,
  memoryBytes: number,
  flags: readonly string[],
): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), "tradewind-resize-"));
  onTestFinished(async () => rm(state, { recursive: true, force: true }));
  const predictor = await fakePredictor();
  onTestFinished(async () => predictor.stop());
  predictor.behave((_request, response) => response.end(planFor(namespace, cpuCores, memoryBytes)));
  await exporterProcess(predictor, state, "--restart-grace=0s", ...flags);
}

/** A plan for a size of the container, made now. */
function planFor(namespace: string, cpuCores: number, memoryBytes: number): string {
  const wish = wishOf({
    namespace,
    service: "search",
    confidence: 0.9,
    allocation: { replicas: 1, cpuCores, memoryBytes },
    observed: { replicasReady: 1, replicasWanted: 1, lastStartedAtMs: 100_000, complete: true },
  });
  const bounds = { ...wish.bounds, cpuMaxCores: 1_000 };
  const sequence = Math.floor(performance.now());
  return JSON.stringify(
    planOf([{ ...wish, bounds }], { namespace, mode: "act", windowSeconds: 15, sequence }),
  );
}

/** A deployment of one pod that does nothing. */
export function idleDeployment(
  namespace: string,
  name: string,
  resources: Record<"requests" | "limits", Record<string, string>>,
): object {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "main", image: PAUSE, imagePullPolicy: "Never", resources }] },
      },
    },
  };
}

/** `search` with the size `BEFORE`. */
export const search = (namespace: string): object =>
  idleDeployment(namespace, "search", {
    requests: { cpu: "100m", memory: "32Mi" },
    limits: { cpu: "200m", memory: `${BEFORE.memoryBytes / MIB}Mi` },
  });
