import { expect, it } from "vitest";
import { usageOf } from "./node/kubelet-usage.ts";

const pod = (name: string, ...containers: string[]): Parameters<typeof usageOf>[1][number] => ({
  metadata: { name, namespace: "shop", labels: {} },
  spec: { containers: containers.map((each) => ({ name: each })) },
});
/** The parts of the kubelet's `/stats/summary` that count. */
const SUMMARY = {
  node: { nodeName: "node-1" },
  pods: [
    {
      podRef: { name: "frontend-1", namespace: "shop", uid: "1" },
      containers: [
        {
          name: "main",
          cpu: { time: "2026-01-01T00:00:10Z", usageNanoCores: 32_000_000 },
          memory: { time: "2026-01-01T00:00:10Z", workingSetBytes: 8_388_608 },
        },
      ],
    },
    // Its first figures have no rate yet.
    {
      podRef: { name: "frontend-2", namespace: "shop", uid: "2" },
      containers: [{ name: "main", cpu: { time: "2026-01-01T00:00:10Z", usageCoreNanoSeconds: 5 } }],
    },
    { podRef: { name: "frontend-1", namespace: "other", uid: "3" }, containers: [] },
  ],
};

it("the use of a pod is what the kubelet measured of each container, in the order of the pods", () => {
  const usages = usageOf(SUMMARY, [
    pod("frontend-2", "main"),
    pod("frontend-1", "main"),
    pod("gone", "main"),
  ]);
  expect(usages).toEqual([
    undefined,
    {
      timestamp: "2026-01-01T00:00:10Z",
      containers: [{ name: "main", usage: { cpu: "32000000n", memory: "8388608" } }],
    },
    undefined,
  ]);
});

it("the use of a pod is not known while that of one of its containers is not", () => {
  expect(usageOf(SUMMARY, [pod("frontend-1", "main", "sidecar")])).toEqual([undefined]);
});
