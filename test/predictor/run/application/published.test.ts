import { Plan } from "@tradewind/core/contract/plan.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { Published } from "@tradewind/predictor/run/application/published.ts";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../manual-clock.ts";
import { inputs, window, windowSet } from "../../measurements.ts";

const SET = windowSet([window({ service: "geo", replicas: 1, rate: 10, ownSeconds: 0.01 })]);
const { plan: DECIDED } = decide(inputs(SET));
const headerOf = (published: Published): Plan => Plan.parse(JSON.parse(published.headerText() ?? "{}"));

describe("a plan in doubt", () => {
  it("says in its header that traffic is not seen, and keeps its wishes, until the next plan", () => {
    const published = new Published(new ManualClock());
    published.doubt("before any plan there is nothing to doubt");
    expect(published.headerText()).toBeUndefined();

    published.publish(DECIDED, SET, { complete: true });
    const text = published.planText();
    published.doubt("the wall clock was set");
    expect(headerOf(published)).toMatchObject({
      complete: false,
      missing: ["the wall clock was set"],
      sequence: 1,
    });
    expect(published.planText()).toBe(text);

    published.publish(DECIDED, SET, { complete: true });
    expect(headerOf(published)).toMatchObject({ complete: true, sequence: 2 });
    expect(headerOf(published).missing).toBeUndefined();
  });

  it("names no more reasons than a plan may", () => {
    const published = new Published(new ManualClock());
    const missing = Array.from({ length: 16 }, (_, at) => `peer ${at}`);
    published.publish(DECIDED, SET, { complete: false, missing });
    published.doubt("the wall clock was set");
    expect(headerOf(published).missing).toEqual([...missing.slice(0, 15), "the wall clock was set"]);
  });
});
