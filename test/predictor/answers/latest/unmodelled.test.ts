import { expect, it } from "vitest";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { LastWhatIf } from "@tradewind/predictor/answers/latest/last-what-if.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import { atLoad } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { chain, options, service } from "../../decide/priced.ts";

function lastOf(own: Parameters<typeof service>[1]): LastWhatIf {
  const models = new WhatIf((loadRatio = 1) =>
    chain([service("front", own), service("cart", own)], atLoad(options(), loadRatio)),
  );
  const last = new LastWhatIf();
  const objective = { percentile: 0.95, seconds: 0.25 };
  const plan = {
    application: "shop",
    namespace: "shop",
    objective,
    plannedAtMs: 0,
    policy: "planner",
  } as Plan;
  last.adopt({ plan, models, windowSet: { flows: [], windows: [] }, services: [] });
  return last;
}

it("what-if has no verdict where no service has a model, and says what is missing", () => {
  const { own: _, ...unmodelled } = service("front");
  expect(() =>
    lastOf({ own: undefined } as unknown as typeof unmodelled).answer({ load: 2, services: [] }),
  ).toThrow("the replicas and sizes of front, cart are not known, so no model answers: give --workloads");
  expect(lastOf({}).answer({ load: 2, services: [] }).routes).toHaveLength(1);
});
