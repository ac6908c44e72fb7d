import { describe, expect, it } from "vitest";
import { meshlessName } from "@tradewind/predictor/window/mesh-name.ts";

describe("a service that a mesh calls NAME.NAMESPACE", () => {
  it.each([
    ["front.shop", "front"],
    ["front", "front"],
    ["front.staging", "front.staging"],
    ["frontshop", "frontshop"],
    [".shop", ".shop"],
    ["shop", "shop"],
    ["a.b.shop", "a.b"],
    ["front.shop.svc.cluster.local", "front"],
    ["front.shop.svc", "front"],
    ["", ""],
  ])("'%s' is '%s' in the namespace shop", (service, name) => {
    expect(meshlessName(service, "shop")).toBe(name);
  });
});
