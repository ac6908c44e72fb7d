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
    [0.323, false, "; no single change ends it."],
    [0.18, true, "180 ms."],
  ])("of a change that leaves %d s says whether it ends the miss", (tailAfterSeconds, ends, end) => {
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
    const cause = causeOf("search", "C", [{ signal: "cpuUtilisation", value: 0.97 }]);
    const missed = {
      ...calm,
      isMissed: true,
      measuredLatencySeconds: 0.372,
      causes: [cause],
      counterfactuals: [change],
    };
    const told = summary(missed);
    expect(told.endsWith(end)).toBe(true);
    expect(told.includes("no single change")).toBe(!ends);
  });

  const missed = { ...calm, isMissed: true, measuredLatencySeconds: 0.372 };

  it("names no cause where nothing was measured that speaks for it", () => {
    const told = summary({ ...missed, causes: [causeOf("search", "X", [])] });
    expect(told).toMatch(/most of the time is that of 'search', .* so no cause is named/);
    expect(told).not.toContain("Cause:");
  });

  it("says a neighbour that disturbs all services of a node once", () => {
    const evidence = [{ signal: "interferenceCpu", value: 0.96 }];
    const causes = ["search", "geo", "rate"].map((service) => causeOf(service, "I", evidence));
    expect(summary({ ...missed, causes })).toContain(
      "Cause: 3 services ('search', 'geo', 'rate'), interference by other tenants: ",
    );
  });
});
