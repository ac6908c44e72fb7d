import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { noCluster, TIMEOUT_MS, useCluster } from "./cluster.ts";
import { create } from "./create.ts";
import { Stage } from "./stage.ts";

/** More than kube-controller-manager works on at once (5). */
const SCALED_OBJECTS = 20;
const names = Array.from({ length: SCALED_OBJECTS }, (_, index) => `service-${index}`);

describe.skipIf(noCluster)("HPAs that have nothing to do with Tradewind", { timeout: TIMEOUT_MS }, () => {
  const cluster = useCluster();

  it("go on scaling when the thread of a scaler that answers KEDA hangs: the watchdog ends the process", async () => {
    const { metrics } = cluster();
    const stage = await Stage.open(cluster(), "hanging");
    await unrelated(stage);
    stage.want(2, ...names);
    const hang = new URL("../exporter/serve/keda/hang-scaler-child.ts", import.meta.url);
    vi.stubEnv("NODE_OPTIONS", `--import=${hang.href}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const scaler = await stage.startScaler();
    vi.unstubAllEnvs();
    for (const name of names) {
      await stage.deploy(name);
      await stage.scale(name);
    }
    await stage.untilReplicas(`${SCALED_OBJECTS} new ScaledObjects are followed`, all(2));

    metrics.setCores("bystander", 0.15);
    await stage.untilReplicas("an unrelated HPA reacts, all is well", { bystander: 2 });

    scaler.child.kill("SIGUSR2");
    const seen = stage.watchReplicas(names[0]!);
    // In the time of several syncs every HPA gets its turn, so all of the controller's workers come to wait for KEDA.
    for (const replicas of [3, 4, 5]) {
      metrics.setCores("bystander", (replicas - 0.5) / 10);
      await stage.untilReplicas("an unrelated HPA reacts, a scaler's thread hangs", { bystander: replicas });
    }
    expect(await seen()).toEqual([2]);
    expect(scaler.child.signalCode).toBe("SIGKILL");
  });
});

const all = (replicas: number): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, replicas]));

/** A Deployment with an HPA on its CPU use alone: 0.1 cores for each pod. */
async function unrelated(stage: Stage): Promise<void> {
  await stage.deploy("bystander");
  await create(stage.api, RESOURCES.horizontalPodAutoscalers, {
    metadata: { name: "bystander", namespace: stage.namespace },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "bystander" },
      minReplicas: 1,
      maxReplicas: 8,
      metrics: [
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "AverageValue", averageValue: "100m" } },
        },
      ],
    },
  });
}
