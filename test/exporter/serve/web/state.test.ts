import { describe, expect, it } from "vitest";

type BrowserModule = Record<string, (...given: readonly unknown[]) => unknown>;

/** The console's modules, whose types are those of a browser: none of them are to reach the types of Node.js here. */
const browserModule = async (name: string): Promise<BrowserModule> =>
  (await import(
    new URL(`../../../../exporter/serve/web/console/${name}.js`, import.meta.url).href
  )) as BrowserModule;

const { isOf, verdictOf } = await browserModule("state");
const { layOut } = await browserModule("map");
const standing = (figures: object = {}): object => ({
  name: "shop",
  namespace: "a",
  objective: { percentile: 0.95, seconds: 0.3 },
  ...figures,
});

describe("what the console says of an objective", () => {
  it.each([
    [{ measuredLatencySeconds: 0.02 }, "Objective met"],
    [{ measuredLatencySeconds: 0.4 }, "Objective missed"],
    [{ measuredLatencySeconds: 0.02, failedRatio: 1 }, "Objective missed"],
    [{ failedRatio: 0.2 }, "Objective missed"],
    [{}, "No traffic"],
  ])("of %o is '%s'", (figures, word) => {
    expect(verdictOf!(standing(figures))).toMatchObject({ word });
  });
});

describe("a time on a page", () => {
  it("is of today without a date, and of another day with it (old-change-tonight)", async () => {
    const { clock } = await browserModule("format");
    const now = new Date();
    expect(clock!(now.getTime())).toMatch(/^\d\d:\d\d:\d\d$/);
    expect(clock!(now.getTime() - 3 * 86_400_000)).toMatch(/[A-Z][a-z]{2}.*\d\d:\d\d$/);
  });
});

describe("services of the same name", () => {
  it.each([
    ["shop", "a", true],
    ["shop", "b", false],
    ["bank", "a", false],
  ])("of %s in %s: those of shop in a? %s", (application, namespace, is) => {
    expect(isOf!({ application, namespace }, standing())).toBe(is);
  });
});

describe("the map of services", () => {
  it.each(["constructor", "valueOf", "toString", "__proto__"])("has a place for one called '%s'", (odd) => {
    const services = ["front", odd].map((service) => ({ service }));
    const calls = [
      { caller: "front", callee: odd },
      { caller: odd, callee: "front" },
    ];
    const { edges, nodes } = layOut!({ calls, services }) as {
      edges: readonly (readonly unknown[])[];
      nodes: ReadonlyMap<string, { x: number }>;
    };
    expect(Number.isFinite(nodes.get(odd)?.x)).toBe(true);
    expect(edges.every((points) => points.length > 0)).toBe(true);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
