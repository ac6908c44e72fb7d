import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { Fault } from "../fault.ts";

const SECONDS = 6;
type Changes = (wish: Wish) => object;

/** The predictor says something else for a while; what it then says again is right. */
function said(
  name: string,
  summary: string,
  change: Changes,
  more: Partial<Fault> & { readonly once?: boolean } = {},
): Fault {
  const { once = false, ...others } = more;
  return {
    name,
    summary,
    stage: "fake-plans",
    seconds: SECONDS,
    survives: true,
    ...others,
    begin: async ({ plans }) => {
      if (plans === undefined) return;
      let said: number | undefined;
      plans.say = (plan) => {
        said ??= plan.sequence;
        if (once && plan.sequence !== said) return text(plan);
        return text({ ...plan, wishes: plan.wishes.map((wish) => ({ ...wish, ...change(wish) })) });
      };
    },
    end: async ({ plans }) => {
      if (plans !== undefined) plans.say = text;
    },
  };
}

const text = (plan: Omit<Plan, "wishes"> & { wishes: readonly object[] }): string => JSON.stringify(plan);
const replicas =
  (count: number, bounds: object = {}): Changes =>
  (wish) => ({ allocation: { ...wish.allocation, replicas: count }, bounds: { ...wish.bounds, ...bounds } });

export const PLAN_FAULTS: readonly Fault[] = [
  said(
    "plan-of-zero",
    "one plan asks for 0 replicas, within bounds that it brings itself",
    replicas(0, { minReplicas: 0 }),
    // The guard cannot know that a plan is wrong; it leaves half of what runs.
    { quick: true, once: true, leastShare: 0.5 },
  ),
  said(
    "plan-of-a-billion",
    "a plan asks for 10^9 replicas, within bounds that it brings itself",
    replicas(1e9, { maxReplicas: 1e9 }),
  ),
  said(
    "plan-of-no-numbers",
    "a plan whose replicas are null, half or negative",
    ({ allocation, service }) => ({
      allocation: { ...allocation, replicas: { frontend: null, search: 2.5, geo: -3 }[service] ?? "NaN" },
    }),
  ),
  said(
    "plan-of-a-later-version",
    "every entry of a plan has a field that this version does not know, and one replica more",
    (wish) => ({
      allocation: { ...wish.allocation, replicas: wish.allocation.replicas + 1 },
      sayings: { of: "a later version" },
    }),
    { growsWithin: 4 },
  ),
  {
    name: "plan-of-garbage",
    summary: "what the predictor answers is no plan at all",
    stage: "fake-plans",
    seconds: SECONDS,
    survives: true,
    begin: async ({ plans }) => {
      if (plans !== undefined) plans.say = (plan) => JSON.stringify(plan).slice(0, -40);
    },
    end: async ({ plans }) => {
      if (plans !== undefined) plans.say = text;
    },
  },
];
