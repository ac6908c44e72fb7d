import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PromisingServices } from "@tradewind/predictor/plan/promising.ts";

function taken(bounds: readonly number[], promising = new PromisingServices(bounds.length)): number[] {
  promising.fill((service) => bounds[service]!);
  const services: number[] = [];
  for (let service = promising.take(); service !== undefined; service = promising.take())
    services.push(service);
  return services;
}

describe("promising services", () => {
  it("come highest bound first, of equal ones the first, and those without a bound not at all", () => {
    expect(taken([2, Number.NaN, 5, 0, 5, -1, 3])).toEqual([2, 4, 6, 0]);
  });

  it("tell the highest bound that is left", () => {
    const promising = new PromisingServices(3);
    expect(promising.highest).toBe(0);
    promising.fill((service) => 10 * (service + 1));
    expect(promising.highest).toBe(30);
    promising.take();
    expect(promising.highest).toBe(20);
  });

  it("are sorted whatever their bounds, also when filled anew", () => {
    const bound = fc.oneof(fc.integer({ min: -2, max: 4 }), fc.double({ min: 0, max: 1e9, noNaN: true }));
    fc.assert(
      fc.property(fc.array(fc.tuple(bound, bound), { maxLength: 60 }), (pairs) => {
        const promising = new PromisingServices(pairs.length);
        for (const bounds of [pairs.map(([first]) => first), pairs.map(([, second]) => second)]) {
          const sorted = bounds
            .map((value, service) => ({ value, service }))
            .filter(({ value }) => value > 0)
            .sort((a, b) => b.value - a.value || a.service - b.service)
            .map(({ service }) => service);
          expect(taken(bounds, promising)).toEqual(sorted);
        }
      }),
    );
  });
});
