import { RefusedShare } from "@tradewind/predictor/window/refused-share.ts";
import { describe, expect, it } from "vitest";

describe("spans that are refused", () => {
  it("are missing where they are more than a few of those that came since the last look", () => {
    const share = new RefusedShare();
    expect(share.lookAt({ spansAccepted: 0, drops: {} })).toEqual([]);
    expect(share.lookAt({ spansAccepted: 97, drops: { "too-old": 3, late: 50 } })).toEqual([]);
    const [words] = share.lookAt({ spansAccepted: 97, drops: { "too-old": 13, "too-far-ahead": 20 } });
    expect(words).toContain("30 of 30 spans do not count");
    expect(share.lookAt({ spansAccepted: 197, drops: { "too-old": 13, "too-far-ahead": 20 } })).toEqual([]);
  });

  it("are missing where they have no ids or no service", () => {
    const share = new RefusedShare();
    const drops = { "invalid-id": 5, "invalid-service": 6 };
    expect(share.lookAt({ spansAccepted: 89, drops })).toEqual([
      "11 of 100 spans have no valid id, or no name of a service",
    ]);
  });
});
