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
const claims = (applications: readonly Application[], runs: readonly string[] = []): Claims =>
  new Claims(applications, (namespace, service) => runs.includes(`${namespace}/${service}`));

const SHOP = application("shop", "a");
const BANK = application("bank", "b");
const CART = application("shop", "cart", "cart", "stock");

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
    ["that two name is nobody's", [SHOP, BANK], undefined, "frontend", ["shop/a", "bank/b"]],
    ["that nobody names and nobody runs is nobody's", [SHOP, BANK], undefined, "search", []],
  ])("%s", (_, applications, namespace, service, whose) => {
    const { owner, ...rest } = claims(applications).of(namespace, service);
    expect(owner ?? rest).toEqual(typeof whose === "string" ? whose : { several: whose });
  });

  it("of a namespace that is not known is the one's that runs it", () => {
    expect(claims([SHOP, BANK], ["bank/search"]).of(undefined, "search")).toEqual({ owner: "bank/b" });
  });

  it("that two of a namespace name is neither's, and both hear of it", () => {
    const both = claims([CART, application("shop", "other", "other", "stock")]);
    expect(both.of("shop", "stock")).toEqual({ several: ["shop/cart", "shop/other"] });
    expect([...both.contested()].map(([key, [words]]) => [key, words])).toEqual([
      ["shop/cart", expect.stringContaining("service 'stock' is named by application 'shop/other' too")],
      ["shop/other", expect.stringContaining("service 'stock' is named by application 'shop/cart' too")],
    ]);
    expect(both.of("shop", "cart")).toEqual({ owner: "shop/cart" });
    expect(claims([SHOP, BANK]).contested().size).toBe(0);
  });
});
