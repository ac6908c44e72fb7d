import { freshnessIn, MOST_FRESH_PODS, freshnessQuery } from "@tradewind/core/contract/freshness.ts";
import { describe, expect, it } from "vitest";

describe("a question for fresh figures", () => {
  it("is read as it was asked", () => {
    const pods = new Map([
      ["2f0a-b1", 1],
      ["c3", 60],
    ]);
    const query = freshnessQuery(pods);
    expect(query).toEqual({ fresh: "2f0a-b1:1,c3:60" });
    expect(freshnessIn(`/v1/snapshot?${new URLSearchParams(query).toString()}`)).toEqual(pods);
    expect(freshnessQuery(new Map())).toEqual({});
  });

  it.each([
    "",
    "a",
    "a:0",
    "a:61",
    "a:1.5",
    "a:-1",
    "a b:1",
    "../x:1",
    `${"a".repeat(65)}:1`,
    "a:999",
    "a:1e9",
  ])("leaves out what is not of its form: '%s'", (text) => {
    expect(freshnessIn(`/v1/snapshot?fresh=${text},good:5`)).toEqual(new Map([["good", 5]]));
  });

  it("names no more pods than are taken", () => {
    const many = new Map(Array.from({ length: 2 * MOST_FRESH_PODS }, (_, pod) => [`pod-${pod}`, 1]));
    expect(freshnessQuery(many)["fresh"]!.split(",")).toHaveLength(MOST_FRESH_PODS);
    const asked = [...many.keys()].map((uid) => `${uid}:1`).join(",");
    expect(freshnessIn(`/v1/snapshot?fresh=${asked}`).size).toBe(MOST_FRESH_PODS);
  });
});
