import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rankPredictors } from "@tradewind/exporter/plans/rank-predictors.ts";
import type { PredictorFacts } from "@tradewind/exporter/plans/rank-predictors.ts";

const facts = (address: string, changes: Partial<PredictorFacts> = {}): PredictorFacts => ({
  address,
  startedAtMs: 1_000,
  overdue: false,
  complete: true,
  ...changes,
});
const best = (...all: PredictorFacts[]): string => rankPredictors(all)[0]!.address;

describe("the predictor whose plan is taken", () => {
  it("is the one that has run longest", () => {
    expect(best(facts("http://a:1", { startedAtMs: 5_000 }), facts("http://b:1"))).toBe("http://b:1");
  });

  it("is one that saw all traffic before one that did not", () => {
    expect(best(facts("http://a:1", { complete: false }), facts("http://b:1", { startedAtMs: 9_000 }))).toBe(
      "http://b:1",
    );
  });

  it("is none whose newest plan is overdue while another goes on planning", () => {
    const young = facts("http://b:1", { startedAtMs: 9_000, complete: false });
    expect(best(facts("http://a:1"), young)).toBe("http://a:1");
    expect(best(facts("http://a:1", { overdue: true }), young)).toBe("http://b:1");
  });

  it("under the same start is settled by the address that all exporters see, not the own name for itself", () => {
    const here = facts("http://127.0.0.1:9811");
    expect(best(here, facts("http://10.0.0.1:9811"))).toBe("http://10.0.0.1:9811");
    expect(best(facts("http://10.0.0.2:9811"), facts("http://10.0.0.1:9811"))).toBe("http://10.0.0.1:9811");
  });

  it("does not depend on the order in which they were found", () => {
    const predictor = fc.record({
      address: fc.constantFrom(
        "http://10.0.0.1:1",
        "http://10.0.0.2:1",
        "http://10.0.0.3:1",
        "http://127.0.0.1:1",
      ),
      startedAtMs: fc.integer({ min: 0, max: 3 }),
      overdue: fc.boolean(),
      complete: fc.boolean(),
    });
    const several = fc.uniqueArray(predictor, {
      minLength: 1,
      maxLength: 4,
      selector: ({ address }) => address,
    });
    fc.assert(
      fc.property(several, fc.integer(), (all, turn) => {
        const turned = all.map((_, index) => all[(index + (Math.abs(turn) % all.length)) % all.length]!);
        expect(rankPredictors(turned)).toEqual(rankPredictors(all));
      }),
    );
  });
});
