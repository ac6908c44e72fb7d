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
    ["front.shop.svc.corp.example", "front"],
    ["front.shop:8080", "front"],
    ["front:8080", "front:8080"],
    ["front_shop_svc_8080", "front"],
    ["front_shop_svc", "front"],
    ["front_shop_svc_blue", "front_shop_svc_blue"],
    ["_shop_svc_8080", "_shop_svc_8080"],
    ["shop/front", "front"],
    ["shop/", "shop/"],
    ["staging/front", "staging/front"],
    ["", ""],
  ])("'%s' is '%s' in the namespace shop", (service, name) => {
    expect(meshlessName(service, "shop")).toBe(name);
  });
});
