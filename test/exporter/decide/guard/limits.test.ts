import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Application } from "@tradewind/core/contract/application.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import { guard } from "@tradewind/exporter/decide/guard/guard.ts";
import type { GuardContext } from "@tradewind/exporter/decide/guard/step.ts";
import { limitsBy } from "@tradewind/exporter/decide/limits/limits.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { FakeApiServer } from "../../../kubernetes/fake-api-server.ts";
import { failure } from "../../serve/keda/wire-client.ts";
import { runningExporter } from "../../running-exporter.ts";
import type { TestExporter } from "../../running-exporter.ts";
import { OldExporter } from "../../old-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";

const SETTINGS = ExporterOptions.parse({}).limits;
const { scaleToZero: _, ...CHANGE } = SETTINGS;
const LIMITS: GuardLimits = { source: "settings", minReplicas: 1, ...CHANGE };
const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
/** Bounds that a wrong predictor would bring along. */
const ANYTHING = { ...wishOf().bounds, minReplicas: 0, maxReplicas: 1e9 };

const anything = (changes: Partial<Wish>): Wish => wishOf({ bounds: ANYTHING, ...changes });
const running = (replicas: number): Wish["observed"] => ({
  replicasReady: replicas,
  replicasWanted: replicas,
  complete: true,
});

function decided(from: number, to: number, changes: Partial<GuardContext> = {}) {
  return guard({
    wish: anything({ allocation: { replicas: to }, observed: running(from) }),
    decidedAtMs: 1_000_000,
    previous: { replicas: from },
    previousDecidedAtMs: 985_000,
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limits: LIMITS,
    ...changes,
  });
}

describe("one decision", () => {
  it.each([
    { from: 5, to: 0, replicas: 3 },
    { from: 5, to: 1, replicas: 3 },
    { from: 64, to: 1, replicas: 32 },
    { from: 2, to: 1, replicas: 1 },
    { from: 1, to: 0, replicas: 1 },
    { from: 5, to: 1e9, replicas: 19 },
    { from: 0, to: 1e9, replicas: 4 },
    { from: 900, to: 1e9, replicas: 1_000 },
    { from: 4, to: 7, replicas: 7 },
  ])("from $from replicas, asked for $to by a plan that allows anything, ends at $replicas", (row) => {
    expect(decided(row.from, row.to).final?.replicas).toBe(row.replicas);
  });

  it("goes to zero only where the exporter's own configuration allows it, and only from one", () => {
    const limits = { ...LIMITS, minReplicas: 0 };
    expect(decided(5, 0, { limits }).final?.replicas).toBe(3);
    expect(decided(1, 0, { limits }).final?.replicas).toBe(0);
  });

  it("reaches what runs although the last decision was far lower, and grows no further from there", () => {
    const previous = { replicas: 2 };
    const wish = anything({ allocation: { replicas: 60 }, observed: running(20) });
    expect(decided(20, 60, { previous, wish }).final?.replicas).toBe(20);
  });

  it("is led nowhere by a plan that claims a million replicas run", () => {
    const wish = anything({ allocation: { replicas: 1 }, observed: running(1_000_000) });
    expect(decided(5, 1, { previous: { replicas: 5 }, wish }).final?.replicas).toBe(3);
  });

  it.each([
    { start: 5, previous: 19, to: 1e9, replicas: 19 },
    { start: 5, previous: 12, to: 1e9, replicas: 19 },
    { start: 5, previous: 12, to: 1, replicas: 6 },
    { start: 64, previous: 32, to: 1, replicas: 32 },
    { start: 64, previous: 20, to: 1, replicas: 20 },
    { start: 64, previous: 20, to: 70, replicas: 64 },
  ])(
    "that follows one of $start replicas within a window goes from $previous to $replicas when asked for $to",
    (row) => {
      const periodStart = { final: { replicas: row.start }, sinceMs: 990_000 };
      expect(decided(row.previous, row.to, { periodStart }).final?.replicas).toBe(row.replicas);
    },
  );

  it("that follows another one of the same window changes a container no further than both allow", () => {
    const sizes = (cpuCores: number) => ({ replicas: 3, cpuCores, memoryBytes: 400e6 });
    const periodStart = { final: sizes(1), sinceMs: 990_000 };
    const wish = anything({ allocation: { ...sizes(9), memoryBytes: 400e6 } });
    expect(decided(3, 3, { previous: sizes(3), periodStart, wish }).final).toEqual(sizes(3));
  });

  it("changes the size of a container at most threefold or by half", () => {
    const previous = { replicas: 3, cpuCores: 1, memoryBytes: 400e6 };
    const wish = anything({ allocation: { replicas: 3, cpuCores: 4, memoryBytes: 64e6 } });
    const { actions, final } = decided(3, 3, { previous, wish });
    expect(final).toEqual({ replicas: 3, cpuCores: 3, memoryBytes: 200e6 });
    expect(actions?.map(({ reasons, step }) => [step, reasons])).toEqual([
      ["change-limit", [{ code: "container-change-limit", growRatio: 3, shrinkRatio: 0.5 }]],
    ]);
  });

  it.each([
    { complete: true, cpuCores: 2, memoryBytes: 1e9, why: "at most by half" },
    { complete: false, cpuCores: 4, memoryBytes: 2e9, why: "not at all while data is missing" },
  ])("shrinks containers that run without a decision before it $why", ({ complete, ...sizes }) => {
    const observed = { cpuCores: 4, memoryBytes: 2e9, replicasWanted: 3, complete };
    const allocation = { replicas: 3, cpuCores: 0.1, memoryBytes: 64e6 };
    const { final } = guard(decidedContext(anything({ allocation, observed })));
    expect(final).toEqual({ replicas: 3, cpuCores: sizes.cpuCores, memoryBytes: sizes.memoryBytes });
  });

  it("is refused where nobody knows how many replicas run", () => {
    const wish = anything({ allocation: { replicas: 9 }, observed: { complete: true } });
    const { previous: _, ...context } = { ...decidedContext(wish) };
    expect(guard(context).refusal).toEqual({ step: "change-limit", reason: { code: "running-unknown" } });
  });

  it("by a record of 0.1.0, which has no limits of its own, is replayed by the bounds of its wish", () => {
    const { limits: _, ...context } = decidedContext(
      anything({ allocation: { replicas: 0 }, observed: running(5) }),
    );
    expect(guard(context).final).toEqual({ replicas: 0 });
  });
});

function decidedContext(wish: Wish): GuardContext {
  return {
    wish,
    decidedAtMs: 1_000_000,
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limits: LIMITS,
  };
}

describe("the limits of a service", () => {
  const application = Application.parse({
    name: "hotel",
    namespace: "shop",
    entry: "search",
    objective: { milliseconds: 200 },
    services: [{ name: "search", minReplicas: 0, maxReplicas: 12, cpu: { maxCores: 2 } }],
  });
  const plan = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs: 0 };
  const limitsOf = limitsBy(SETTINGS, () => application);

  it("are those of the application's configuration, which has defaults for services that it does not list", () => {
    expect(limitsOf(plan, wishOf())).toMatchObject({
      source: "application",
      minReplicas: 0,
      maxReplicas: 12,
      container: { cpuMaxCores: 2 },
    });
    expect(limitsOf(plan, wishOf({ service: "rate" }))).toMatchObject({ minReplicas: 1, maxReplicas: 100 });
  });

  it.each([
    ["a plan of another application", { ...plan, application: "bank" }, {}],
    ["a service of another namespace", plan, { namespace: "bank" }],
  ] as const)("are those of the settings for %s", (_what, header, changes) => {
    expect(limitsOf(header, wishOf(changes))).toEqual(LIMITS);
  });
});

describe("plans that come as fast as they are asked for", () => {
  it.each([
    { to: 1e9, after: [19, 61, 187] },
    { to: 0, after: [3, 2, 1] },
  ])("for $to replicas of 5 reach no more than one step in 12 s", async ({ after, to }) => {
    const exporter = new OldExporter({ ...LIMITS, maxReplicas: 1_000 });
    await exporter.take(0, 5, 5);
    exporter.nowMs += 60_000;
    const served: unknown[] = [];
    for (let second = 0; second < 36; second += 1) {
      await exporter.take(0, to, 5);
      served.push(exporter.served);
      exporter.nowMs += 1_000;
    }
    expect(served).toEqual(after.flatMap((replicas) => Array.from({ length: 12 }, () => replicas)));
  });
});

describe("an exporter that gets a plan with bounds of its own", () => {
  const replicasAfter = async (exporter: TestExporter, allocation: Wish["allocation"], sequence: number) => {
    exporter.predictor.serve(planOf([anything({ allocation, observed: running(5) })], { sequence }));
    const { recommendations } = await exporter.listWhen(
      "the decision",
      (list) => list.recommendations[0]?.wished.replicas === allocation.replicas,
    );
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: recommendations[0]!.replicas }]);
    return recommendations[0]!.replicas;
  };
  const five = planOf([anything({ allocation: { replicas: 5 }, observed: running(5) })]);

  it("serves neither zero, nor one of five, nor a billion, however fast its plans come", async () => {
    const exporter = await runningExporter(five, { limits: {} });
    expect(await replicasAfter(exporter, { replicas: 0 }, 2)).toBe(3);
    expect(await exporter.client.isActive(ref)).toBe(true);
    expect(await replicasAfter(exporter, { replicas: 1 }, 3)).toBe(3);
    expect(await replicasAfter(exporter, { replicas: 1e9 }, 4)).toBe(13);
    expect(await exporter.metrics()).toContain('tradewind_guard_actions_total{step="change-limit"} 3');
  });

  it("keeps the bounds of the file that it was given, and says so when it cannot read the file", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-limits-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const application = join(directory, "app.yaml");
    await writeFile(
      application,
      "{name: hotel, namespace: shop, mode: act, entry: search, objective: {milliseconds: 200}, sources: {otlp: {}}, services: [{name: search, minReplicas: 4, maxReplicas: 6}]}",
    );
    const exporter = await runningExporter(five, { application, limits: {} });
    expect(await replicasAfter(exporter, { replicas: 1 }, 2)).toBe(4);
    expect(await replicasAfter(exporter, { replicas: 1e9 }, 3)).toBe(6);

    const without = await runningExporter(five, {
      application: join(directory, "absent.yaml"),
      limits: {},
    });
    expect(await replicasAfter(without, { replicas: 1 }, 2)).toBe(3);
    const { missing } = (await (await fetch(`${without.http}/readyz`)).json()) as { missing: string[] };
    expect(missing.join()).toMatch(/the guard knows no bounds of services: .*absent.yaml cannot be read/);
  });

  it("keeps the bounds of the Application in the cluster, as they are now", async () => {
    const fake = await FakeApiServer.start();
    const resource = (maxReplicas: number) => ({
      metadata: { name: "hotel", namespace: "shop" },
      spec: {
        entry: "search",
        objective: { milliseconds: 200 },
        services: [{ name: "search", minReplicas: 0, maxReplicas }],
      },
    });
    fake.put(RESOURCES.applications, resource(6));
    const exporter = await runningExporter(
      five,
      { application: "crd:shop/hotel", limits: {} },
      { cluster: { connection: fake.connection() } },
    );
    let sequence = 1;
    const reaches = async (replicas: number): Promise<void> => {
      await exporter.listWhen(`${replicas} replicas`, ({ recommendations }) => {
        sequence += 1;
        const wish = anything({ allocation: { replicas: 1e9 }, observed: running(5) });
        exporter.predictor.serve(planOf([wish], { sequence }));
        return recommendations[0]?.replicas === replicas;
      });
    };
    await reaches(6);
    fake.put(RESOURCES.applications, resource(9));
    await reaches(9);
  });

  it("keeps the bounds of the decision in force after a restart while the API server refuses to show the Application", async () => {
    const state = await mkdtemp(join(tmpdir(), "tradewind-limits-"));
    onTestFinished(() => rm(state, { recursive: true }));
    const fake = await FakeApiServer.start();
    const services = [{ name: "search", maxReplicas: 6 }];
    const spec = { entry: "search", objective: { milliseconds: 200 }, mode: "act", services };
    fake.put(RESOURCES.applications, { metadata: { name: "hotel", namespace: "shop" }, spec });
    const input = { application: "crd:shop/hotel", limits: {}, state };
    const edges = { cluster: { connection: fake.connection() } };
    const before = await runningExporter(five, input, edges);
    expect(await replicasAfter(before, { replicas: 1e9 }, 2)).toBe(6);
    await before.running.stop();
    fake.failNext(1e6, 429);
    const after = await runningExporter(five, input, edges);
    expect(await replicasAfter(after, { replicas: 1e8 }, 3)).toBe(6);
  });

  it("waits with its first decision for an Application that the API server shows on being asked again", async () => {
    const fake = await FakeApiServer.start();
    const services = [{ name: "search", maxReplicas: 6 }];
    const spec = { entry: "search", objective: { milliseconds: 200 }, mode: "act", services };
    fake.put(RESOURCES.applications, { metadata: { name: "hotel", namespace: "shop" }, spec });
    fake.failNext(1, 500);
    const wish = anything({ allocation: { replicas: 1e9 }, observed: running(5) });
    const exporter = await runningExporter(
      planOf([wish]),
      { application: "crd:shop/hotel", limits: {} },
      { cluster: { connection: fake.connection() } },
    );
    const { recommendations } = await exporter.list();
    expect(recommendations[0]?.replicas).toBe(6);
  });

  it("tells KEDA that nothing need run only where its own settings allow it", async () => {
    const one = anything({ allocation: { replicas: 0 }, observed: running(1) });
    const kept = await runningExporter(planOf([one]), { limits: {} });
    expect(await kept.client.isActive(ref)).toBe(true);
    const allowed = await runningExporter(planOf([one]), { limits: { scaleToZero: true } });
    expect(await allowed.client.isActive(ref)).toBe(false);
  });

  it("serves nothing for a service of which nobody knows how many replicas run", async () => {
    const exporter = await runningExporter(undefined, { limits: {} });
    exporter.predictor.serve(planOf([anything({ observed: { complete: true } })]));
    await exporter.listWhen("the plan", ({ predictor }) => predictor.lastPlanAtMs !== undefined);
    expect((await failure(exporter.client.metrics(ref, "m"))).details).toMatch(
      /no decision .* yet: change-limit: it is not known how many replicas run/,
    );
  });
});
