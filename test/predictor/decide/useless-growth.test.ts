import { expect, it } from "vitest";
import { dropUselessGrowth } from "@tradewind/predictor/decide/cost/solve/useless-growth.ts";
import type { ServiceToSize } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import type { Size } from "@tradewind/predictor/decide/facts/size.ts";
import { chain, queueing, service, size } from "./priced.ts";

/** Sizes that a search has come to, once growth that ends nothing is dropped. */
function left(services: readonly ServiceToSize[], found: readonly Size[]): Size[] {
  const cost = chain(services);
  for (const [number, each] of found.entries()) cost.set(number, each);
  dropUselessGrowth(cost, () => chain(services));
  return services.map((_, number) => cost.sizeOf(number));
}

/** 900 ms that no size changes, for an objective of 200 ms. */
const outside = service("database", { base: size(1), own: queueing(0.9, 0.0005, 0.1) });
const idle = service("mail", { base: size(1), own: queueing(0.02, 0.002, 0.1) });
const busy = service("search", { base: size(1), own: queueing(0.02, 0.016, 0.1) });

it("buys nothing in a miss of which the time is outside of what sizes change", () => {
  expect(left([outside, idle], [size(3), size(3)])).toEqual([size(1), size(1)]);
});

it("keeps growth that ends a miss", () => {
  expect(left([busy], [size(3)])).toEqual([size(3)]);
});

it("keeps growth that ends a part of a miss", () => {
  const two = [busy, service("rate", { base: size(1), own: queueing(0.18, 0.002, 0.5) })];
  expect(left(two, [size(3), size(1)])).toEqual([size(3), size(1)]);
});

it("keeps what a service is to have at least", () => {
  const floored = service("cart", { base: size(1), floor: size(2), own: queueing(0.02, 0.0005, 0.1) });
  expect(left([outside, floored], [size(2), size(4)])).toEqual([size(1), size(2)]);
});

it("keeps sizes of which some grow for others that fall", () => {
  const spare = service("mail", { base: size(3), own: queueing(0.02, 0.0005, 0.1) });
  expect(left([outside, spare], [size(2), size(1)])).toEqual([size(2), size(1)]);
});
