import { describe, expect, it } from "vitest";
import { fairlyCut, inFairOrder } from "@tradewind/core/net/fair-share.ts";

const groupOf = (item: string): string => item.charAt(0);

describe("places that groups share", () => {
  it("are all given, in the order of the items, where there are enough", () => {
    const items = ["b1", "a1", "b2"];
    expect(fairlyCut(items, groupOf, 3)).toEqual(items);
  });

  it("are taken from the largest group alone", () => {
    expect(fairlyCut(["a1", "a2", "a3", "a4", "b1"], groupOf, 3)).toEqual(["a1", "a2", "b1"]);
    expect(fairlyCut(["a1", "a2", "a3", "b1", "b2", "c1"], groupOf, 5)).toEqual([
      "a1",
      "a2",
      "b1",
      "b2",
      "c1",
    ]);
  });
});

describe("turns that groups take", () => {
  it("let nobody wait for more than one item of another group, and the least work goes first", () => {
    const work: Record<string, number> = { a1: 5, b1: 9, b2: 1, b3: 4 };
    expect(inFairOrder(["b1", "b2", "b3", "a1"], groupOf, (item) => work[item] ?? 0)).toEqual([
      "b2",
      "a1",
      "b3",
      "b1",
    ]);
  });
});
