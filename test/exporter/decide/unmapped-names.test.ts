import { describe, expect, it } from "vitest";
import { PLAN_SCHEMA } from "@tradewind/core/contract/plan.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { plain } from "@tradewind/core/terminal/style.ts";
import { recommendationHeader } from "@tradewind/exporter/decide/recommendation-list.ts";
import { statusInWords } from "@tradewind/exporter/serve/api/in-words.ts";

const WORDS = "requests lead to 'mysql', which no workload is called: map it";
const PLAN: Plan = {
  schema: PLAN_SCHEMA,
  application: "shop",
  namespace: "shop",
  sequence: 1,
  predictorStartedAtMs: 0,
  plannedAtMs: 1,
  policy: "planner",
  policyReason: "cheapest",
  objective: { percentile: 0.95, seconds: 0.2 },
  unmapped: [WORDS],
  wishes: [],
};
const CLOCK = { nowMs: () => 15_000, monotonicMs: () => 15_000 };
const status = (name: string) => ({
  application: { namespace: "shop", name, state: "planned" as const },
  plan: { ...PLAN, application: name },
  madeMs: 0,
  reachable: true,
});

describe("a name without a workload", () => {
  it("stands in the status with the mapping to write, of one application and of several", () => {
    for (const given of [status("shop"), [status("shop"), status("bank")]]) {
      const list = { ...recommendationHeader(given, CLOCK), recommendations: [] };
      expect(statusInWords(list, plain).split(WORDS)).toHaveLength(Array.isArray(given) ? 3 : 2);
    }
  });
});
