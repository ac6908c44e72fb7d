import { describe, expect, it } from "vitest";
import { cachedName } from "./programs.ts";

describe("a program in the cache", () => {
  const made = { name: "otelcol", version: "v1", package: "example.org/otelcol" };

  it("is found again where it is made of the same", () => {
    expect(cachedName({ ...made })).toBe(cachedName(made));
    expect(cachedName(made)).toMatch(/^otelcol-v1-[0-9a-f]{8}$/);
  });

  it("is another one where its own source has changed and its version has not", () => {
    const withSource = (text: string) => cachedName({ ...made, main: { requires: [], text } } as typeof made);
    expect(withSource("package main // new")).not.toBe(withSource("package main"));
  });
});
