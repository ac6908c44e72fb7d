import { describe, expect, it } from "vitest";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { Prices } from "@tradewind/core/contract/prices.ts";
import type { Problem } from "@tradewind/predictor/decide/cost/prepare/prepare.ts";
import { weighed, whyMissStays } from "@tradewind/predictor/decide/cost/weigh.ts";
import { chain, queueing, service, size } from "./priced.ts";

const PRICES = Prices.parse({ cpuCoreHour: 1, memoryGigabyteHour: 0 });

/** One service of 60 requests/s, 30 ms of self time without load, 20 ms of CPU each: 75 ms with 2 replicas, 42.9 ms with 4. */
const cost = () => chain([service("only", { own: queueing(0.03, 0.02) })]);

const of = <Code extends Reason["code"]>(reasons: readonly Reason[], code: Code) =>
  reasons.find((reason): reason is Extract<Reason, { code: Code }> => reason.code === code);

describe("what a decision weighs", () => {
  it("is latency with and without the change, and the change's price", () => {
    const grown = cost();
    grown.set(0, size(4));
    const expected = of(weighed(0, grown, PRICES, 0.95), "expected");
    expect(expected).toMatchObject({ percentile: 0.95, costPerHour: 2 });
    expect(expected?.expectedSeconds).toBeCloseTo(0.03 / 0.7, 9);
    expect(expected?.withoutSeconds).toBeCloseTo(0.03 / 0.4, 9);
  });

  it("names the cheapest size beside it that the search has looked at, with its latency and prices", () => {
    const grown = cost();
    grown.set(0, size(4));
    expect(of(weighed(0, grown, PRICES, 0.95), "alternative")).toBeUndefined();
    const totalPerHour = grown.trial(0, size(3));
    expect(of(weighed(0, grown, PRICES, 0.95), "alternative")).toMatchObject({
      resource: "replicas",
      alternativeSize: 3,
      alternativeSeconds: expect.closeTo(0.03 / 0.6, 9) as number,
      alternativeCostPerHour: -1,
      alternativeTotalPerHour: totalPerHour,
    });
  });

  it("changes nothing of the sizes and of what they cost", () => {
    const grown = cost();
    grown.set(0, size(4));
    const before = grown.total();
    weighed(0, grown, PRICES, 0.95);
    expect([grown.total(), grown.sizeOf(0)]).toEqual([before, size(4)]);
  });
});

describe("a miss in which nothing grows", () => {
  const problem = (tailSeconds: number, unexplained: Problem["unexplained"] = []): Problem =>
    ({
      unexplained,
      window: { verdict: { objective: { tailSeconds: 0.2 }, tailSeconds } },
    }) as unknown as Problem;

  it("is outside where one more replica of any service takes too little off it", () => {
    const [reason] = whyMissStays(problem(0.471), cost());
    expect(reason).toMatchObject({ code: "time-outside", latencySeconds: 0.471, objectiveSeconds: 0.2 });
    expect((reason as { gainSeconds: number }).gainSeconds).toBeCloseTo(0.03 / 0.4 - 0.03 / 0.6, 9);
  });

  it("is not outside where one more replica takes a tenth of it off, though it does not end it", () => {
    expect(whyMissStays(problem(0.4), cost())).toEqual([]);
  });

  it("has nothing said of it where a replica would end it, a service grows, or the objective is met", () => {
    const grown = cost();
    grown.set(0, size(3));
    expect([
      whyMissStays(problem(0.21), cost()),
      whyMissStays(problem(0.471), grown),
      whyMissStays(problem(0.1), cost()),
    ]).toEqual([[], [], []]);
  });
});
