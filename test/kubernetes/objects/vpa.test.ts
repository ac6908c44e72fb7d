import { describe, expect, it } from "vitest";
import { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";

const withTarget = (target: object): unknown => ({
  metadata: { name: "geo", namespace: "shop", uid: "u-1" },
  spec: {},
  status: { recommendation: { containerRecommendations: [{ containerName: "main", target }] } },
});

describe("a VerticalPodAutoscaler", () => {
  it("has its recommendation in cores and bytes", () => {
    const { recommendations } = VerticalPodAutoscaler.parse(withTarget({ cpu: "250m", memory: "128Mi" }));
    expect(recommendations).toEqual([
      { containerName: "main", target: { cpu: 0.25, memory: 128 * 2 ** 20 } },
    ]);
  });

  it("with a recommendation that is no quantity is refused by the reader, which does not throw", () => {
    expect(VerticalPodAutoscaler.safeParse(withTarget({ cpu: "a" })).success).toBe(false);
  });
});
