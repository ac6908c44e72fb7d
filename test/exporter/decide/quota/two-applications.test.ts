import { expect, it } from "vitest";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { replay } from "@tradewind/exporter/decide/guard/guard.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { answering } from "../../fake-predictor.ts";
import { runningExporter } from "../../running-exporter.ts";
import { NO_LIMITS, planOf, wishOf } from "../../wish.ts";

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

function recommender(clock: Clock = systemClock): Recommender {
  const keeper = new StateKeeper(undefined, {
    clock,
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
      clock,
      counter: { guardAction: () => undefined, guardRefusal: () => undefined, wishRejected: () => undefined },
      serve: async () => undefined,
    },
  );
}

async function take(to: Recommender, { wishes, ...header }: Plan, clock: Clock = systemClock): Promise<void> {
  const scope = { namespace: header.namespace, name: header.application };
  await to.takePlan({ header, wishes, madeMs: clock.monotonicMs() }, scope);
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

it("keeps no room for an application whose decisions have expired", async () => {
  let [monotonicMs, nowMs] = [0, Date.now()];
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => monotonicMs };
  const both = recommender(clock);
  await take(both, planFor("hotel", "search"), clock);
  await take(both, planFor("batch", "report"), clock);
  expect(inForce(both, "report").recommendation.replicas).toBe(3);
  [monotonicMs, nowMs] = [monotonicMs + 301_000, nowMs + 301_000];
  await take(both, planFor("batch", "report"), clock);
  expect(inForce(both, "report").recommendation.replicas).toBe(4);
});

it("forgets an application that no predictor knows any more once its decisions have expired", async () => {
  const services: Readonly<Record<string, string>> = { batch: "report", hotel: "search" };
  let [sequence, names] = [0, ["batch", "hotel"]];
  const exporter = await runningExporter(undefined, { staleAfter: 2 });
  exporter.predictor.behave((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://predictor");
    const list: ApplicationList = {
      schema: APPLICATION_LIST_SCHEMA,
      several: true,
      applications: names.map((name) => ({ namespace: "shop", name, origin: name, state: "planned" })),
    };
    if (pathname === "/v1/applications") return answering(JSON.stringify(list))(request, response);
    const name = searchParams.get("application") ?? "";
    const service = services[name];
    if (service === undefined) return answering("{}", 503)(request, response);
    sequence += 1;
    return answering(JSON.stringify({ ...planFor(name, service), sequence }))(request, response);
  });
  const decided = async (...of: readonly string[]): Promise<unknown> =>
    exporter.listWhen(
      `decisions of ${of.join()}`,
      ({ recommendations: all }) => all.map(({ application }) => application).join() === of.join(),
    );
  await decided("batch", "hotel");
  names = ["batch"];
  const { recommendations } = await exporter.listWhen(
    "one application",
    ({ applications }) => applications?.length === 1,
  );
  expect(recommendations).toHaveLength(2);
  await decided("batch");
});
