import { isStringOneByteRepresentation } from "node:v8";
import fc from "fast-check";
import { expect, it } from "vitest";
import { inOneByte } from "@tradewind/exporter/keep/one-byte.ts";

it("keeps JSON with an arrow in half the memory, as the same value", () => {
  const json = JSON.stringify({ reason: "2 → 4 replicas, é, 😀" });
  expect([isStringOneByteRepresentation(json), isStringOneByteRepresentation(inOneByte(json))]).toEqual([
    false,
    true,
  ]);
  expect(JSON.parse(inOneByte(json))).toEqual(JSON.parse(json));
});

it("changes the value of no JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, text) => {
      const json = JSON.stringify({ value, text });
      expect(JSON.parse(inOneByte(json))).toEqual(JSON.parse(json));
      expect(isStringOneByteRepresentation(inOneByte(json))).toBe(true);
    }),
  );
});
