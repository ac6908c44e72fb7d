import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, contentHash } from "@tradewind/core/values/hash.ts";

/** JSON in which numbers that have no form are named. */
const withNames = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "number" && !Number.isFinite(part) ? String(part) : part,
  );

describe("canonicalJson", () => {
  it("does not depend on the order in which keys were set, at any depth", () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
  });

  it("is that of JSON.stringify with the keys in order, for dates, absent values and keys that look like numbers too", () => {
    const plainly = (value: unknown): string =>
      JSON.stringify(value, (_key, part: unknown) =>
        part === null || typeof part !== "object" || Array.isArray(part)
          ? part
          : Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))),
      );
    const values = fc
      .anything({ withDate: true, withNullPrototype: true })
      .filter((value) => value !== undefined);
    const isFinite = (value: unknown): boolean => !/"(?:NaN|-?Infinity)"/.test(withNames(value));
    fc.assert(
      fc.property(values.filter(isFinite), (value) => {
        expect(canonicalJson(value)).toBe(plainly(value));
      }),
    );
    expect(canonicalJson({ "10": 1, "9": undefined, a: new Date(0), "2": [undefined] })).toBe(
      '{"2":[null],"10":1,"a":"1970-01-01T00:00:00.000Z"}',
    );
  });

  it("refuses numbers that JSON would turn into null", () => {
    expect(() => canonicalJson({ p95: Number.NaN })).toThrow("NaN has no canonical JSON form");
  });

  it("parses back to the value it was made from", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
      }),
    );
  });
});

describe("contentHash", () => {
  it("is the first 16 hex digits of SHA-256 of the canonical form", () => {
    // printf '{"a":1}' | sha256sum
    expect(contentHash({ a: 1 })).toBe("015abd7f5cc57a2d");
  });
});
