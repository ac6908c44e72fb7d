import { Plan } from "@tradewind/core/contract/plan.ts";
import { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import { ShadowWeek } from "@tradewind/core/contract/shadow.ts";
import { WhatIfAnswer } from "@tradewind/core/contract/what-if.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../wait-until.ts";
import { Shop } from "../../shop.ts";

describe("asking a predictor whose live models decide what would be", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open({ asksForToken: true });
    await shop.list(({ services }) => services.length === 2);
  }, 30_000);
  afterAll(async () => shop.close());

  const ask = async (body: unknown): Promise<WhatIfAnswer> =>
    WhatIfAnswer.parse(await (await shop.post("/v1/what-if", body)).json());

  it("gives the route and its services where nothing is supposed: then is now", async () => {
    const answer = await ask({});
    expect(answer).toMatchObject({ namespace: "default", policy: "planner-prior" });
    expect(answer.services.map(({ service }) => service).sort()).toEqual(["frontend", "geo"]);
    expect(answer.routes.map(({ route }) => route)).toEqual(["GET /"]);
    for (const { now, then } of answer.routes) expect(then).toEqual(now);
    expect(answer.costPerHour.then).toBe(answer.costPerHour.now);
  });

  it("predicts a shorter latency at a higher price for more of the busiest service", async () => {
    const { costPerHour, routes, services } = await ask({ services: [{ service: "geo", replicas: 9 }] });
    expect(services.map(({ service }) => service)).toEqual(["geo"]);
    expect(costPerHour.then).toBeGreaterThan(costPerHour.now);
    expect(routes[0]!.then.latencySeconds).toBeLessThan(routes[0]!.now.latencySeconds);
    expect(routes[0]!.then.lowSeconds).toBeLessThan(routes[0]!.then.latencySeconds);
  });

  it("predicts what the plan does for the sizes of the plan, to the last bit", async () => {
    await waitUntil(async () => {
      const plan = Plan.parse(await (await shop.get("/v1/plan")).json());
      const services = plan.wishes.map(({ allocation, service }) => ({ service, ...allocation }));
      const answer = await ask({ services });
      if (answer.decidedAtMs !== plan.plannedAtMs) return false;
      for (const { latencyAfterSeconds } of plan.wishes)
        expect(answer.routes[0]!.then.latencySeconds).toBe(latencyAfterSeconds);
      return true;
    }, 15_000);
  });

  it("says of the last seven days the same in its answer, its metrics and its report", async () => {
    await waitUntil(async () => {
      const metrics = await (await shop.get("/metrics")).text();
      const before = ShadowWeek.parse(await (await shop.get("/v1/shadow")).json()).week;
      const toMs = Date.now() + 3_600_000;
      const answer = await shop.get(`/v1/report?from=${toMs - 86_400_000}&to=${toMs}`);
      if (before === undefined || !answer.ok) return false;
      const report = PeriodReport.parse(await answer.json());
      const after = ShadowWeek.parse(await (await shop.get("/v1/shadow")).json()).week;
      const said = /^tradewind_predictor_week_cost\{[^}]*policy="hpa"[^}]*\} (\S+)$/mu.exec(metrics)?.[1];
      // A window that was decided on between the questions is among some of the answers only.
      if (after?.toMs !== before.toMs || Number(said) !== before.hpaCost.middle) return false;
      expect(report.shadow).toEqual(before);
      return true;
    }, 15_000);
  }, 20_000);

  it.each([
    ["a load of 0", { load: 0 }, 400, "bad-request"],
    ["no replicas", { services: [{ service: "geo", replicas: 0 }] }, 400, "bad-request"],
    ["a service that is on no route", { services: [{ service: "nobody" }] }, 404, "unknown-service"],
    ["another namespace", { services: [{ service: "geo", namespace: "other" }] }, 404, "unknown-service"],
    ["another application", { application: "nobody" }, 404, "no-such-application"],
  ])("refuses %s, and says why", async (_what, body, status, code) => {
    const answer = await shop.post("/v1/what-if", body);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code } });
  });
});

describe("asking a predictor without live models what would be", () => {
  it("is refused with the policy that decides and why it has no models", async () => {
    const shop = await Shop.open({ policy: "queue", asksForToken: true });
    try {
      await waitUntil(async () => {
        const answer = await shop.post("/v1/what-if", {});
        const { error } = (await answer.json()) as { error: { code: string; message: string } };
        if (error.code !== "no-models") return false;
        expect(answer.status).toBe(503);
        expect(error.message).toContain("policy 'queue'");
        return true;
      }, 15_000);
    } finally {
      await shop.close();
    }
  }, 30_000);
});
