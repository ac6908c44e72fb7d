import { describe, expect, it } from "vitest";
import { Students } from "@tradewind/core/contract/students.ts";
import type { Workload } from "@tradewind/core/contract/workload.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { SHIPPED_HASH, shippedText } from "@tradewind/predictor/learn/students/shipped.ts";
import { withWorkloads } from "@tradewind/predictor/learn/students/with-workloads.ts";
import { wishOf } from "../../../exporter/wish.ts";

describe("the students that plans name", () => {
  it("are given by their hash, whole and valid, and by no other", () => {
    const students = Students.parse(JSON.parse(shippedText(SHIPPED_HASH) ?? ""));
    expect(contentHash(students)).toBe(SHIPPED_HASH);
    expect(shippedText("0123456789abcdef")).toBeUndefined();
  });
});

describe("a wish of a plan", () => {
  const workload = (service: string, name: string, namespace = "shop"): Workload => ({
    namespace,
    kind: "Deployment",
    name,
    service,
    replicasWanted: 1,
    replicasReady: 1,
    pods: [
      {
        uid: "1",
        name: `${name}-7f9c6bd4d8-x7k2m`,
        node: "node-1",
        ready: true,
        containers: [
          { id: "a", name: "proxy", sidecar: true },
          { id: "b", name: "app" },
        ],
      },
    ],
  });

  it("names the workloads of its service, with the container whose size is decided on", () => {
    const list = [
      workload("search", "search-v1"),
      workload("cart", "cart"),
      workload("search", "search", "other"),
    ];
    const [wish] = withWorkloads([wishOf()], {
      schema: "tradewind.dev/workloads/v1",
      observedAtMs: 0,
      workloads: list,
    });
    expect(wish?.workloads).toEqual([{ name: "search-v1", container: "app" }]);
  });

  it("names none where none is known", () => {
    expect(withWorkloads([wishOf()], undefined)).toEqual([wishOf()]);
  });
});
