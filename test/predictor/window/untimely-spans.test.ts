import { UntimelySpans } from "@tradewind/predictor/window/untimely-spans.ts";
import { describe, expect, it } from "vitest";

describe("spans that are refused for their times", () => {
  it("are missing where they are more than a few of those that came since the last look", () => {
    const untimely = new UntimelySpans();
    expect(untimely.lookAt({ spansAccepted: 0, drops: {} })).toEqual([]);
    expect(untimely.lookAt({ spansAccepted: 97, drops: { "too-old": 3, late: 50 } })).toEqual([]);
    const [words] = untimely.lookAt({ spansAccepted: 97, drops: { "too-old": 13, "too-far-ahead": 20 } });
    expect(words).toContain("30 of 30 spans do not count");
    expect(untimely.lookAt({ spansAccepted: 197, drops: { "too-old": 13, "too-far-ahead": 20 } })).toEqual(
      [],
    );
  });
});
