import { describe, expect, it } from "vitest";
import { ResourceQuota } from "@tradewind/kubernetes/objects/capacity.ts";

const metadata = { name: "team", namespace: "shop", uid: "u-1" };
const status = { hard: { "requests.cpu": "10", pods: "20" }, used: { "requests.cpu": "1500m", pods: "3" } };

describe("a ResourceQuota", () => {
  it("as the API server sends it, with a spec and no scopes, bounds the whole namespace", () => {
    expect(ResourceQuota.parse({ metadata, spec: { hard: status.hard }, status })).toEqual({
      name: "team",
      namespace: "shop",
      isScoped: false,
      hard: { cpuRequestCores: 10, pods: 20 },
      used: { cpuRequestCores: 1.5, pods: 3 },
    });
  });

  it.each([
    { scopes: ["NotTerminating"] },
    { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "Exists" }] } },
  ])("with %j counts only some pods", (spec) => {
    expect(ResourceQuota.parse({ metadata, spec, status }).isScoped).toBe(true);
  });
});
