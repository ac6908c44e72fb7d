import { describe, expect, it } from "vitest";
import { recordedCases } from "../../bench/placement/recorded.ts";

describe("recorded clusters of the placement benchmark", () => {
  const cases = recordedCases();

  it("are six, and the next pod of each of their workloads is a case", () => {
    const clusters = Map.groupBy(cases, ({ features: [cluster] }) => cluster);
    expect(clusters.size).toBe(6);
    for (const [, ofCluster] of clusters) expect(ofCluster.length).toBeGreaterThanOrEqual(6);
  });

  it("leave out what stands on each node, and pods that wait", () => {
    for (const { features, next, pods } of cases) {
      const [, workload = ""] = features;
      expect(next["spec"]).not.toHaveProperty("nodeName");
      expect(pods.every(({ spec }) => typeof (spec as { nodeName?: string }).nodeName === "string")).toBe(
        true,
      );
      expect(workload).not.toMatch(/agent|proxy|csi-node|exporter|speaker/);
    }
  });
});
