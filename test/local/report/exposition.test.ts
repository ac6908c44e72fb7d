import { describe, expect, it } from "vitest";
import { createCounterTally, sumOfMetric } from "@tradewind/local/report/exposition.ts";

const SCRAPE = `# HELP spans_total Spans.
# TYPE spans_total counter
spans_total{result="accepted"} 40
spans_total{result="rejected",why="a \\"b\\" } c"} 2 1700000000000
spans_total_created 1.7e9
age_seconds NaN
up 1
`;

describe("sumOfMetric", () => {
  it.each([
    ["all samples of a name", "spans_total", undefined, 42],
    ["those with a label", "spans_total", 'result="accepted"', 40],
    ["one without labels", "up", undefined, 1],
    ["no number as nothing", "age_seconds", undefined, undefined],
    ["a name that is not there as nothing", "spans", undefined, undefined],
  ])("takes %s", (_case, name, label, expected) => {
    expect(sumOfMetric(SCRAPE, name, label)).toBe(expected);
  });
});

describe("createCounterTally", () => {
  it("goes on counting when the process was restarted", () => {
    const tally = createCounterTally();
    for (const value of [10, 25, 3, 3, 8, 0, 1]) tally.observe(value);
    expect(tally.total).toBe(25 + 8 + 1);
  });
});
