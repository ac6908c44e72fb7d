import { PlanSources } from "@tradewind/exporter/plans/plan-sources.ts";
import type { KnownApplication } from "@tradewind/exporter/plans/application-poll.ts";
import type { PlanSource } from "@tradewind/exporter/plans/plan-source.ts";
import { describe, expect, it } from "vitest";

/** One whose predictors are dead. */
const silent = {
  status: { reachable: false, problem: "connect ECONNREFUSED" },
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
} as unknown as PlanSource;

describe("an application that cannot be planned", () => {
  const APPLICATIONS: KnownApplication[] = [
    { namespace: "shop", name: "hotel", state: "planned" },
    { namespace: "shop", name: "mistyped", state: "invalid", problem: "entry is missing" },
  ];

  it("is reachable no longer than a predictor says which applications there are (silent-beside-invalid)", async () => {
    const sources = new PlanSources({
      open: () => silent,
      onGone: () => Promise.resolve(),
      lapsed: () => [],
    });
    const reachable = (): boolean[] => sources.statuses().map((each) => each.reachable);
    await sources.follow(APPLICATIONS, true);
    expect(reachable()).toEqual([false, true]);
    await sources.follow(APPLICATIONS, false);
    expect(reachable()).toEqual([false, false]);
    await sources.stop();
  });
});

it("what an application's end is called is known before anything of it is forgotten", async () => {
  const events: string[] = [];
  const sources = new PlanSources({
    open: () => silent,
    onGone: ({ name }) => {
      events.push(`forgets ${name}`);
      return Promise.resolve();
    },
    lapsed: () => [],
  });
  const follow = (state: KnownApplication["state"]): Promise<void> =>
    sources.follow([{ namespace: "bank", name: "desk", state }], true, undefined, () => {
      events.push(`says ${sources.several?.map((each) => each.state).join(", ")}`);
    });
  await follow("planned");
  await follow("deleted");
  expect(events).toEqual(["says planned", "says deleted", "forgets desk"]);
  await sources.stop();
});
