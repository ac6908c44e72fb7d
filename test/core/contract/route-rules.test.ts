import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fits, routeRules } from "@tradewind/core/contract/route-rules.ts";

describe("the glob of a route", () => {
  it.each([
    ["GET /", "GET /", true],
    ["GET /", "GET /cart", false],
    ["GET /*", "GET /", true],
    ["GET /api/*", "GET /api/users/7", true],
    ["GET /api/*", "POST /api/users", false],
    ["*", "anything", true],
    ["*/health", "GET /health", true],
    ["*/health", "GET /healthy", false],
    ["GET */export*", "GET /v1/export?all", true],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["*ab*ab", "xab", false],
    ["GET /a.c", "GET /abc", false],
    ["get /", "GET /", false],
    ["**", "", true],
  ])("%s fits %s: %s", (glob, name, isFitting) => {
    expect(fits(glob, name)).toBe(isFitting);
  });

  it("fits as a regular expression of its parts would", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "/"), maxLength: 8 });
    fc.assert(
      fc.property(text, text, (glob, name) => {
        const pattern = new RegExp(`^${glob.replaceAll("/", String.raw`\/`).replaceAll("*", ".*")}$`);
        expect(fits(glob, name)).toBe(pattern.test(name));
      }),
    );
  });
});

describe("of several objectives that fit a route", () => {
  const objective = { percentile: 0.99, milliseconds: 250 };
  const globs = ["*", "GET /*", "GET /api/*", "GET /*i/*", "GET /api/users"];
  const rules = routeRules({
    objective,
    objectives: globs.map((route, place) => ({ route, milliseconds: place + 1 })),
  });

  it.each([
    ["GET /api/users", "GET /api/users"],
    ["GET /api/users/7", "GET /api/*"],
    ["GET /cli/x", "GET /*i/*"],
    ["GET /cart", "GET /*"],
    ["POST /cart", "*"],
  ])("%s is held to that of %s, the most exact", (route, glob) => {
    expect(rules.of(route).glob).toBe(glob);
  });

  it("none is needed: the others are held to the one without route, whose percentile an own one takes over", () => {
    const { of, rest } = routeRules({ objective, objectives: [{ route: "POST *", milliseconds: 9 }] });
    expect(of("GET /")).toBe(rest);
    expect(rest).toMatchObject({ use: "objective", objective, weight: 1 });
    expect(of("POST /").objective).toEqual({ percentile: 0.99, milliseconds: 9 });
  });
});
