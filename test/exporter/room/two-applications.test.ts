import { expect, it } from "vitest";
import { systemClock } from "@tradewind/core/clock.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { replay } from "@tradewind/exporter/guard/guard.ts";
import { Recommender } from "@tradewind/exporter/recommender.ts";
import { DecisionBook } from "@tradewind/exporter/store/book.ts";
import { StateKeeper } from "@tradewind/exporter/store/keeper.ts";
import { NO_LIMITS, planOf, wishOf } from "../wish.ts";

const applicationOf = (namespace: string, name: string): Application =>
  Application.parse({
    namespace,
    name,
    entry: name,
    objective: { milliseconds: 200 },
    priority: name === "hotel" ? 100 : 0,
  });

/** One core left, and each wants one replica of one core more than the three that run. */
function planFor(application: string, service: string, mode: Plan["mode"] = "act"): Plan {
  const wish = wishOf({
    service,
    allocation: { replicas: 4 },
    observed: { replicasReady: 3, replicasWanted: 3, complete: true },
  });
  return planOf([wish], {
    application,
    mode,
    room: {
      quotas: [{ name: "team", left: { cpuRequestCores: 1 } }],
      pods: [{ service, takes: { pods: 1, cpuRequestCores: 1 } }],
    },
  });
}

function recommender(): Recommender {
  const keeper = new StateKeeper(undefined, {
    clock: systemClock,
    log: {} as never,
    counter: { stateEvent: () => undefined },
  });
  return new Recommender(
    new DecisionBook(),
    {
      exporterStartedAtMs: 0,
      clockToleranceMs: 0,
      staleAfterSeconds: 300,
      restartGraceSeconds: 0,
      limitsOf: () => NO_LIMITS,
      applicationOf,
    },
    {
      keeper,
      clock: systemClock,
      counter: { guardAction: () => undefined, guardRefusal: () => undefined, wishRejected: () => undefined },
      serve: async () => undefined,
    },
  );
}

async function take(to: Recommender, { wishes, ...header }: Plan): Promise<void> {
  const scope = { namespace: header.namespace, name: header.application };
  await to.takePlan({ header, wishes, madeMs: systemClock.monotonicMs() }, scope);
}

const inForce = (of: Recommender, service: string) => {
  const { json, recommendation } = of.book.get("shop", service)!;
  return { record: DecisionRecord.parse(JSON.parse(json)), recommendation };
};

it("resolves two applications at the last core by priority, and both records say so", async () => {
  const both = recommender();
  await take(both, planFor("batch", "report"));
  expect(inForce(both, "report").recommendation.replicas).toBe(4);
  await take(both, planFor("hotel", "search"));
  await take(both, planFor("batch", "report"));
  const [loser, winner] = [inForce(both, "report"), inForce(both, "search")];
  expect([loser, winner].map(({ recommendation: { replicas } }) => replicas)).toEqual([3, 4]);
  expect(loser.recommendation.reasons).toContainEqual({
    code: "quota",
    quota: "team",
    mostReplicas: 3,
    ahead: [{ application: "hotel", service: "search", priority: 100 }],
  });
  expect(winner.recommendation.reasons).toContainEqual({
    code: "quota-first",
    quota: "team",
    behind: [{ application: "batch", service: "report", priority: 0 }],
  });
  for (const { record } of [loser, winner]) expect(replay(record).final).toEqual(record.final);
});

it("leaves no room to an application that carries nothing out", async () => {
  const both = recommender();
  await take(both, planFor("hotel", "search", "observe"));
  await take(both, planFor("batch", "report"));
  expect(inForce(both, "report").recommendation.replicas).toBe(4);
});
