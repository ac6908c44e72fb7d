import { describe, expect, it } from "vitest";
import type { CheckedCounterfactual, NamedCause } from "@tradewind/core/contract/explanation.ts";
import { summary } from "@tradewind/predictor/answers/reason/words.ts";

const calm = {
  causes: [],
  counterfactuals: [],
  isMissed: false,
  measuredLatencySeconds: 0.091,
  objective: { percentile: 0.95, seconds: 0.2 },
  patterns: [],
};

const causeOf = (service: string, type: NamedCause["type"], evidence: object[]): NamedCause =>
  ({ service, type, evidence, confidence: 0.9, share: 0.8 }) as unknown as NamedCause;

describe("the sentence of an explanation", () => {
  it("says of a miss that is over how long it lasted, until when, and how to see it", () => {
    const lastMissedMs = Date.UTC(2026, 10, 28, 4, 53, 20);
    expect(summary(calm, { onsetMs: lastMissedMs - 90_000, lastMissedMs })).toBe(
      "Nothing to explain now: p95 91.0 ms, objective 200 ms; missed for 90 s until 2026-11-28T04:53:20Z: " +
        "tradewind explain --at 2026-11-28T04:53:20Z.",
    );
  });

  it("speaks of no miss where none was", () => {
    expect(summary(calm)).toBe("Nothing to explain now: p95 91.0 ms, objective 200 ms.");
  });

  it.each([
    [
      0.323,
      false,
      0.372,
      "No single change ends it; most helps 'search' with 5 instead of 3 replicas, 372 ms → 323 ms by the models.",
    ],
    [
      0.18,
      true,
      0.372,
      "What ends it: 'search' with 5 instead of 3 replicas, 372 ms → 180 ms by the models.",
    ],
    [0.18, true, 0.8, " Careful: 2.2 times off what is measured."],
    [0.18, true, 0.1, " Careful: 3.7 times off what is measured."],
  ])(
    "of a change that leaves %d s and ends the miss %s, where %d s are measured, says what it is worth",
    (tailAfterSeconds, ends, measuredLatencySeconds, end) => {
      const change = {
        service: "search",
        resource: "replicas",
        from: 3,
        to: 5,
        tailBeforeSeconds: 0.372,
        tailAfterSeconds,
        outcome: "better",
        ends,
      } as CheckedCounterfactual;
      const told = summary({
        ...calm,
        isMissed: true,
        measuredLatencySeconds,
        causes: [causeOf("search", "C", [{ signal: "cpuUtilisation", value: 0.97 }])],
        counterfactuals: [change],
      });
      expect(told.endsWith(end)).toBe(true);
    },
  );

  const missed = { ...calm, isMissed: true, measuredLatencySeconds: 0.372 };

  it("names no cause where nothing was measured that speaks for it", () => {
    const told = summary({ ...missed, causes: [causeOf("search", "X", [])] });
    expect(told).toMatch(/most of the time is that of 'search', .* so no cause is named/);
    expect(told).not.toContain("Cause:");
  });

  it("cites signs of the cause's own type first", () => {
    const evidence = [
      { signal: "requestRate", value: 57.5, baseline: 16.4 },
      { signal: "cpuUtilisation", value: 0.57, baseline: 0.25 },
      { signal: "interferenceCpu", value: 0.96, baseline: 0.2 },
    ];
    expect(summary({ ...missed, causes: [causeOf("search", "I", evidence)] })).toContain(
      "interference by other tenants: CPU interference 96 % (before: 20 %), load 57.5 (before: 16.4)",
    );
  });

  it("says a neighbour that disturbs all services of a node once", () => {
    const evidence = [{ signal: "interferenceCpu", value: 0.96 }];
    const causes = ["search", "geo", "rate"].map((service) => causeOf(service, "I", evidence));
    expect(summary({ ...missed, causes })).toContain(
      "Cause: 3 services ('search', 'geo', 'rate'), interference by other tenants: ",
    );
  });
});
