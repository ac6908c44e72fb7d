import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, contentHash } from "@tradewind/core/hash.ts";

describe("canonicalJson", () => {
  it("does not depend on the order in which keys were set, at any depth", () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
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
