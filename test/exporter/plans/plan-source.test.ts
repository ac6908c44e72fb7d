import { describe, expect, it } from "vitest";
import { answering } from "../fake-predictor.ts";
import type { Behaviour } from "../fake-predictor.ts";
import { runningExporter } from "../running-exporter.ts";
import type { TestExporter } from "../running-exporter.ts";
import { until } from "../until.ts";
import { planOf, wishOf } from "../wish.ts";

const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
const good = planOf([wishOf()], { sequence: 7 });

const problemsOf = async (exporter: TestExporter, problem: string): Promise<number> => {
  const line = new RegExp(`tradewind_plan_fetch_errors_total\\{problem="${problem}"\\} (\\d+)`);
  return Number(line.exec(await exporter.metrics())?.[1] ?? 0);
};

const oddBodies: readonly (readonly [string, string, Behaviour])[] = [
  ["answers with an error", "status", answering("out of memory", 500)],
  ["redirects elsewhere", "status", (_request, response) => response.writeHead(302, { location: "/" }).end()],
  ["says unchanged to a first question", "status", (_request, response) => response.writeHead(304).end()],
  ["answers with garbage", "invalid-json", answering(Buffer.from([0, 255, 13, 10]))],
  ["answers with half a plan", "invalid-json", answering(JSON.stringify(good).slice(0, -20))],
  ["answers with another document", "invalid-input", answering('{"schema":"something/else"}')],
  ["answers with an array", "invalid-input", answering("[]")],
  ["answers with nothing", "invalid-json", answering("")],
  [
    "hangs up in the middle",
    "connection",
    (_request, response) => {
      response.writeHead(200, { "content-length": 1_000 }).write("{");
      setImmediate(() => response.destroy());
    },
  ],
  ["never answers", "timeout", () => undefined],
  ["answers one byte and stalls", "timeout", (_request, response) => void response.writeHead(200).write("{")],
  [
    "sends a plan of an earlier sequence",
    "out-of-order",
    answering(JSON.stringify({ ...good, sequence: 6 })),
  ],
  [
    "sends a plan that is an hour old",
    "stale",
    answering(JSON.stringify({ ...good, predictorStartedAtMs: 1, plannedAtMs: Date.now() - 3_600_000 })),
  ],
];

describe("with a predictor that", () => {
  it.each(oddBodies)(
    "%s, the problem is counted as '%s' and the last decision is served",
    async (_what, problem, behave) => {
      const exporter = await runningExporter(good, { predictorDeadline: "200ms" });
      await until("the plan in the status", async () => (await exporter.list()).predictor.reachable);
      if (problem === "status") {
        exporter.predictor.behave(answering("", 503));
        await until(
          "the client to forget the last plan",
          async () => (await problemsOf(exporter, "status")) > 0,
        );
      }
      exporter.predictor.behave(behave);
      const before = await problemsOf(exporter, problem);
      await until("the problem in the metrics", async () => (await problemsOf(exporter, problem)) > before);
      const { predictor, recommendations } = await exporter.list();
      expect(predictor.reachable).toBe(false);
      expect(predictor.problem).not.toBe("");
      expect(recommendations).toMatchObject([{ replicas: 5, valid: true }]);
      expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
      exporter.predictor.serve(planOf([wishOf({ allocation: { replicas: 6 } })], { sequence: 10 }));
      await exporter.listWhen(
        "recovery",
        (list) => list.predictor.reachable && list.recommendations[0]!.replicas === 6,
      );
    },
  );

  it("sends more than 64 MB, nothing grows and the last decision is served", async () => {
    const exporter = await runningExporter(good, { predictorDeadline: "10s" });
    const megabyte = Buffer.alloc(2 ** 20, 0x20);
    exporter.predictor.behave((_request, response) => {
      let sent = 0;
      const send = (): void => {
        while (!response.destroyed && sent < 200) {
          sent += 1;
          if (!response.write(megabyte)) return void response.once("drain", send);
        }
      };
      response.on("error", () => undefined).writeHead(200);
      send();
    });
    await until("the refusal", async () => (await problemsOf(exporter, "too-large")) > 0, 15_000);
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
  });

  it("disappears, the age grows from the decision on and the numbers stay", async () => {
    const exporter = await runningExporter(good);
    const [first] = (await exporter.list()).recommendations;
    await exporter.predictor.stop();
    const later = await exporter.listWhen("the silence", (list) => !list.predictor.reachable);
    expect(later.recommendations[0]).toMatchObject({
      replicas: 5,
      decidedAtMs: first!.decidedAtMs,
      decisionId: first!.decisionId,
    });
    expect(later.recommendations[0]!.ageSeconds).toBeGreaterThanOrEqual(first!.ageSeconds!);
  });

  it("claims measurements from the far future, the decision lives no longer for it", async () => {
    const plan = planOf([wishOf()]);
    plan.wishes[0]!.inputs.windowEndMs += 86_400_000;
    const exporter = await runningExporter(plan, { staleAfter: 60 });
    const [served] = (await exporter.list()).recommendations;
    expect(served!.validUntilMs).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  it("restarts and counts from one again is followed at once, and nothing is taken away at first", async () => {
    const exporter = await runningExporter(good, { restartGrace: "120s" });
    const restarted = planOf([wishOf({ allocation: { replicas: 1 } })], {
      sequence: 0,
      predictorStartedAtMs: Date.now() - 2_000,
    });
    exporter.predictor.serve(restarted);
    const list = await exporter.listWhen(
      "the new plan",
      ({ recommendations }) => recommendations[0]!.wished.replicas === 1,
    );
    expect(list.recommendations[0]).toMatchObject({ replicas: 5, guard: [{ step: "restart-grace" }] });
  });

  it("names a service twice, the larger wish counts", async () => {
    const twice = planOf([
      wishOf({ allocation: { replicas: 4 } }),
      wishOf({ allocation: { replicas: 9 } }),
      wishOf({ allocation: { replicas: 2 } }),
    ]);
    const exporter = await runningExporter(twice);
    expect((await exporter.list()).recommendations).toMatchObject([{ replicas: 9 }]);
    expect(await exporter.metrics()).toMatch(/tradewind_plan_wishes_rejected_total 2/);
  });

  it("gives one plan over and over, between errors, is decided on as if it had given it once", async () => {
    const wished = planOf([wishOf({ allocation: { replicas: 1_000 } })]);
    const exporter = await runningExporter(wished, { limits: {} });
    const taken = async (): Promise<number> =>
      Number(/guard_actions_total\{step="change-limit"\} (\d+)/.exec(await exporter.metrics())?.[1] ?? 0);
    for (const times of [2, 3]) {
      const before = await problemsOf(exporter, "status");
      exporter.predictor.behave(answering("", 503));
      await until("an error", async () => (await problemsOf(exporter, "status")) > before);
      exporter.predictor.serve(wished);
      await until("the same plan once more", async () => (await taken()) >= times);
    }
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 13 }]);
    const next = planOf([wishOf({ allocation: { replicas: 6 } })], { sequence: 2 });
    exporter.predictor.serve({ ...next, plannedAtMs: wished.plannedAtMs + 1 });
    await until("the next plan", async () => (await exporter.client.metrics(ref, "m"))[0]?.int === 7);
  });

  it("stops naming a service, it is served until its decision expires and then forgotten with its series", async () => {
    const both = planOf([wishOf(), wishOf({ service: "rate" })]);
    const exporter = await runningExporter(both, { staleAfter: 2 });
    expect(await exporter.metrics()).toMatch(
      /tradewind_recommended_replicas\{application="hotel",namespace="shop",service="rate"\} 5/,
    );
    const only = (sequence: number) => planOf([wishOf()], { sequence });
    exporter.predictor.serve(only(2));
    await exporter.listWhen(
      "the new plan",
      ({ predictor }) => (predictor.lastPlanAtMs ?? 0) > both.plannedAtMs,
    );
    expect((await exporter.list()).recommendations).toHaveLength(2);
    await exporter.listWhen(
      "the expiry",
      ({ recommendations }) => !recommendations.every(({ valid }) => valid),
    );
    exporter.predictor.serve(only(3));
    await exporter.listWhen("the end", ({ recommendations }) => recommendations.length === 1);
    expect(await exporter.metrics()).not.toMatch(/service="rate"/);
  });

  it("marks its answers with an entity tag is asked for changes only", async () => {
    const exporter = await runningExporter(undefined);
    let unchanged = 0;
    exporter.predictor.behave((request, response) => {
      if (request.headers["if-none-match"] === '"7"') {
        unchanged += 1;
        response.writeHead(304).end();
      } else response.writeHead(200, { etag: '"7"' }).end(JSON.stringify(good));
    });
    await until("conditional requests", () => unchanged > 1);
    expect((await exporter.list()).recommendations).toHaveLength(1);
  });
});
