import { describe, expect, it } from "vitest";
import { otel } from "@tradewind/predictor/sources/prometheus/otel.ts";

describe("the span metrics of OpenTelemetry", () => {
  it("give the namespace of Kubernetes only: service_namespace is another thing", () => {
    const ownerOf = otel([])[0]!.mapping(false).service;
    const front = { service_name: "front", service_namespace: "retail" };
    expect(ownerOf(front)).toEqual({ service: "front" });
    expect(ownerOf({ ...front, k8s_namespace_name: "shop" })).toEqual({
      service: "front",
      namespace: "shop",
    });
  });
});
