import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../exporter/until.ts";
import { measured } from "../measured.ts";
import { VPA_DEFINITIONS } from "../programs.ts";
import { nodeCluster, PATIENCE_MS, TIMEOUT_MS } from "./node.ts";
import { BEFORE, lookAtPod, MIB, search, wantSize } from "./resized-pod.ts";

const node = nodeCluster();
const NAMESPACE = "vertical";

/** As `tradewind init` writes it, with the mode that acts. */
const vpa = {
  apiVersion: "autoscaling.k8s.io/v1",
  kind: "VerticalPodAutoscaler",
  metadata: { name: "search", namespace: NAMESPACE },
  spec: {
    recommenders: [{ name: "tradewind" }],
    targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "search" },
    updatePolicy: { updateMode: "InPlaceOrRecreate", minReplicas: 1 },
  },
};

describe.skipIf(node === undefined)(
  "the Vertical Pod Autoscaler's updater on a real node",
  {
    timeout: TIMEOUT_MS,
  },
  () => {
    const { apply, kubeconfig, kubectl, programs } = node ?? {
      kubeconfig: "",
      programs: "",
      kubectl: async () => Promise.resolve(""),
      apply: async () => Promise.resolve(),
    };
    beforeAll(async () => {
      await kubectl("apply", "--server-side", "--filename", join(programs, VPA_DEFINITIONS));
      await kubectl("wait", "--for=condition=Established", "crd/verticalpodautoscalers.autoscaling.k8s.io");
      await kubectl("create", "namespace", NAMESPACE);
      await apply(search(NAMESPACE));
      await kubectl("rollout", "status", "deployment/search", "--namespace", NAMESPACE, "--timeout=300s");
      await apply(vpa);
    }, TIMEOUT_MS);
    afterAll(async () => {
      await kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false");
    });

    it("resizes a running pod to what the exporter wrote into the VPA's status, without a restart", async () => {
      const before = await lookAtPod(kubectl, NAMESPACE);
      expect(before).toMatchObject({ ...BEFORE, restarts: 0 });
      const startedMs = performance.now();
      const seconds = (): number => (performance.now() - startedMs) / 1e3;
      await wantSize(NAMESPACE, 0.4, 96 * MIB, ["--vpa", `--kubeconfig=${kubeconfig}`]);
      const target = async (): Promise<string> =>
        kubectl(
          "get",
          "vpa/search",
          "--namespace",
          NAMESPACE,
          "--output=jsonpath={.status.recommendation.containerRecommendations[0].target}",
        );
      await until("the VPA has a recommendation", async () => (await target()) !== "", PATIENCE_MS);
      measured("a VPA's status has the recommendation, from the plan on", seconds());
      // Half of the CPU limit is requested, as before; memory is requested whole.
      expect(JSON.parse(await target())).toEqual({ cpu: "200m", memory: "96Mi" });
      const updater = spawn(
        join(programs, "vpa-updater"),
        [
          `--kubeconfig=${kubeconfig}`,
          `--vpa-object-namespace=${NAMESPACE}`,
          "--updater-interval=5s",
          "--address=127.0.0.1:0",
          // Only new pods need the admission controller.
          "--use-admission-controller-status=false",
        ],
        { stdio: "ignore", env: { ...process.env, NAMESPACE } },
      );
      onTestFinished(() => void updater.kill("SIGKILL"));
      await until(
        // The VPA keeps the ratio of limits to requests.
        "the cgroups have the new limits",
        async () => {
          expect(updater.exitCode, "the updater runs").toBe(null);
          const { cpuCores, memoryBytes } = await lookAtPod(kubectl, NAMESPACE);
          return cpuCores === 0.4 && memoryBytes === 192 * MIB;
        },
        PATIENCE_MS,
      );
      measured("VPA's updater has resized the pod, from the plan on", seconds());
      expect(await lookAtPod(kubectl, NAMESPACE)).toMatchObject({ uid: before.uid, restarts: 0 });
    });
  },
);
