import { expect, it } from "vitest";
import { NameHolders, readNameHolders } from "@tradewind/predictor/window/name-holders.ts";

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const geo = (...claimants: readonly string[]) => [{ service: "geo", claimants }];

it("a name is the application's that alone had it, whoever comes", () => {
  const holders = new NameHolders();
  expect(holders.see(geo("shop/a"), NOW_MS)).toBe(true);
  expect(holders.see(geo("bank/b", "shop/a"), NOW_MS + HOUR_MS)).toBe(false);
  expect(holders.of(undefined, "geo")).toBe("shop/a");
});

it("a name that two have had from the start is of neither, until one of them is gone", () => {
  const holders = new NameHolders();
  holders.see(geo("bank/b", "shop/a"), NOW_MS);
  expect(holders.of(undefined, "geo")).toBeUndefined();
  holders.see(geo("bank/b"), NOW_MS + HOUR_MS);
  expect(holders.of(undefined, "geo")).toBe("bank/b");
});

it("a name stays with a Deployment that is deleted and made again within a day, and is free after it", () => {
  const holders = new NameHolders();
  holders.see(geo("shop/a"), NOW_MS);
  holders.see(geo("bank/b"), NOW_MS + 23 * HOUR_MS);
  expect(holders.of(undefined, "geo")).toBe("shop/a");
  holders.see(geo("bank/b"), NOW_MS + 25 * HOUR_MS);
  expect(holders.of(undefined, "geo")).toBe("bank/b");
});

it("an application that was alone in its namespace keeps what none of the later ones names", () => {
  const holders = new NameHolders();
  holders.see([{ namespace: "shop", service: "", claimants: ["shop/a"] }], NOW_MS);
  const search = [{ namespace: "shop", service: "search", claimants: ["shop/a", "shop/z"] }];
  holders.see(search, NOW_MS + HOUR_MS);
  expect(holders.of("shop", "search")).toBe("shop/a");
});

it("who has which name outlives the process, as far as it can be read, and gives way to what was seen since", () => {
  const before = new NameHolders();
  before.see([...geo("shop/a"), { service: "rate", claimants: ["shop/a"] }], NOW_MS);
  const state = before.state();
  const read = readNameHolders({ ...state, names: [...state.names, { service: 5 }] });
  const after = new NameHolders();
  after.see([{ service: "rate", claimants: ["bank/b"] }], NOW_MS + HOUR_MS);
  if (read !== undefined) after.adopt(read, NOW_MS + HOUR_MS);
  expect([after.of(undefined, "geo"), after.of(undefined, "rate")]).toEqual(["shop/a", "bank/b"]);
  expect(readNameHolders({ schema: "another", names: [] })).toBeUndefined();
});
