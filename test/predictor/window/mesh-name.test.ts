import { describe, expect, it } from "vitest";
import { meshlessName, nameByWorkload } from "@tradewind/predictor/window/mesh-name.ts";
import type { SpanResource } from "@tradewind/predictor/window/span.ts";

describe("a service that a mesh calls NAME.NAMESPACE", () => {
  it.each([
    ["front.shop", "front"],
    ["front", "front"],
    ["front.staging", "front.staging"],
    ["frontshop", "frontshop"],
    [".shop", ".shop"],
    ["shop", "shop"],
    ["a.b.shop", "a.b"],
    ["", ""],
  ])("'%s' is '%s' in the namespace shop", (service, name) => {
    expect(meshlessName(service, "shop")).toBe(name);
  });

  it("is called so in spans that name its namespace or none, and in those of no other", () => {
    const resources: SpanResource[] = [
      { service: "front.shop" },
      { service: "front.shop", namespace: "shop" },
      { service: "front.shop", namespace: "staging" },
    ];
    nameByWorkload({ resources }, "shop");
    expect(resources.map(({ service }) => service)).toEqual(["front", "front", "front.shop"]);
  });
});
