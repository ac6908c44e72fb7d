import { describe, expect, it } from "vitest";
import { Application } from "@tradewind/core/contract/application.ts";
import { Claims } from "@tradewind/predictor/window/claims.ts";

const application = (namespace: string, name: string, ...services: readonly string[]) =>
  Application.parse({
    name,
    namespace,
    entry: services[0] ?? "frontend",
    objective: { milliseconds: 100 },
    services: services.map((each) => ({ name: each })),
  });
const claims = (
  applications: readonly Application[],
  runs: readonly string[] = [],
  holders: Readonly<Record<string, string>> = {},
): Claims =>
  new Claims(applications, {
    runs: (namespace, service) => runs.includes(`${namespace}/${service}`),
    holder: (namespace, service) => holders[`${namespace ?? ""}/${service}`],
  });

const SHOP = application("shop", "a");
const BANK = application("bank", "b");
const CART = application("shop", "cart", "cart", "stock");
const OTHER = application("shop", "other", "other", "stock");

describe("a service of several applications", () => {
  it.each([
    ["of a namespace is the application's that is alone there", [SHOP, BANK], "shop", "any", "shop/a"],
    ["of a namespace is nobody's where no application is", [SHOP, BANK], "dev", "frontend", []],
    ["that one of a namespace names is its own", [SHOP, CART], "shop", "stock", "shop/cart"],
    ["that the entry names needs no other name", [SHOP, CART], "shop", "frontend", "shop/a"],
    ["that none of a namespace names is nobody's", [SHOP, CART], "shop", "search", []],
    [
      "of a namespace that is not known is the only one's that names it",
      [SHOP, CART],
      undefined,
      "cart",
      "shop/cart",
    ],
    ["may be called with its namespace, as a mesh does", [SHOP, CART], undefined, "cart.shop", "shop/cart"],
    [
      "is of the namespace that a mesh adds to a name two have",
      [SHOP, BANK],
      undefined,
      "frontend.bank",
      "bank/b",
    ],
    ["may be called with the namespace that it states", [SHOP, CART], "shop", "stock.shop", "shop/cart"],
    ["that two name is of both", [SHOP, BANK], undefined, "frontend", ["bank/b", "shop/a"]],
    ["that two of a namespace name is the first one's", [OTHER, CART], "shop", "stock", "shop/cart"],
    ["that nobody names and nobody runs is nobody's", [SHOP, BANK], undefined, "search", []],
  ])("%s", (_, applications, namespace, service, whose) => {
    const claim = claims(applications).of(namespace, service);
    expect(claim.owner ?? [...claim.several].sort()).toEqual(whose);
  });

  it("of a namespace that is not known is the one's that runs it", () => {
    expect(claims([SHOP, BANK], ["bank/search"]).of(undefined, "search")).toEqual({
      owner: "bank/b",
      rivals: [],
    });
  });

  it.each([
    ["a neighbour that names it too", [SHOP, application("bank", "b", "web", "geo")], ["shop/geo"]],
    ["a neighbour that runs one too", [SHOP, BANK], ["shop/geo", "bank/geo"]],
  ])("stays with the one that had it first beside %s", (_, applications, runs) => {
    expect(claims(applications, runs, { "/geo": "shop/a" }).of(undefined, "geo")).toEqual({
      owner: "shop/a",
      rivals: ["bank/b"],
    });
  });

  it("is a neighbour's that alone has it while the one that had it first does not run it", () => {
    expect(claims([SHOP, BANK], ["bank/geo"], { "/geo": "shop/a" }).of(undefined, "geo").owner).toBe(
      "bank/b",
    );
  });

  it("of a namespace stays with the one that had it first, named by two or by none", () => {
    const held = claims([SHOP, CART, OTHER], [], { "shop/stock": "shop/other", "shop/search": "shop/a" });
    expect(held.of("shop", "stock")).toEqual({ owner: "shop/other", rivals: ["shop/cart"] });
    expect(held.of("shop", "search").owner).toBe("shop/a");
    expect(held.of("shop", "cart")).toEqual({ owner: "shop/cart", rivals: [] });
  });
});
