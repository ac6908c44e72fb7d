import { describe, expect, it } from "vitest";
import { layOut } from "../../../exporter/web/console/map.js";
import { isOf, verdictOf } from "../../../exporter/web/console/state.js";

type Standing = NonNullable<Parameters<typeof verdictOf>[0]>;
const standing = (figures: Partial<Standing>): Standing =>
  ({ name: "shop", namespace: "a", objective: { percentile: 0.95, seconds: 0.3 }, ...figures }) as Standing;

describe("what the console says of an objective", () => {
  it.each([
    [{ measuredLatencySeconds: 0.02 }, "Objective met"],
    [{ measuredLatencySeconds: 0.4 }, "Objective missed"],
    [{ measuredLatencySeconds: 0.02, failedRatio: 1 }, "Objective missed"],
    [{ failedRatio: 0.2 }, "Objective missed"],
    [{}, "No traffic"],
  ])("of %o is '%s'", (figures, word) => {
    expect(verdictOf(standing(figures)).word).toBe(word);
  });
});

describe("services of the same name", () => {
  it("are those of the application that is looked at", () => {
    expect(isOf({ application: "shop", namespace: "a" }, standing({}))).toBe(true);
    expect(isOf({ application: "shop", namespace: "b" }, standing({}))).toBe(false);
    expect(isOf({ application: "bank", namespace: "a" }, standing({}))).toBe(false);
  });
});

describe("the map of services", () => {
  it.each(["constructor", "valueOf", "toString", "__proto__"])("has a place for one called '%s'", (odd) => {
    const services = ["front", odd].map((service) => ({ service }));
    const calls = [
      { caller: "front", callee: odd },
      { caller: odd, callee: "front" },
    ];
    const { edges, nodes } = layOut({ calls, services } as unknown as Parameters<typeof layOut>[0]);
    expect(nodes.get(odd)).toMatchObject({ x: expect.any(Number) as number });
    expect(edges.every((points) => points.length > 0)).toBe(true);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
