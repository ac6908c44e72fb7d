import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { openTrail } from "@tradewind/exporter/keep/journal/journal.ts";
import { runningExporter } from "../../running-exporter.ts";
import type { TestExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";

const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
const runs = (replicas: number, running: Partial<Wish["observed"]> = {}): Partial<Wish> => ({
  observed: { replicasReady: replicas, replicasWanted: replicas, complete: true, ...running },
});
/** 5 replicas are recommended for a service that runs 3. */
const plan = (mode: Plan["mode"], wish: Partial<Wish> = runs(3)): Plan => planOf([wishOf(wish)], { mode });

const answered = async ({ client }: TestExporter): Promise<unknown> => {
  const [metric] = await client.metrics(ref, "m");
  return metric;
};

describe("KEDA is answered", () => {
  it.each([
    ["observe", 3],
    ["recommend", 3],
    ["act", 5],
    [undefined, 5],
  ] as const)(
    "in mode %s: %i of 3 that run and 5 recommended, which everybody is shown",
    async (mode, replicas) => {
      const exporter = await runningExporter(plan(mode));
      expect(await answered(exporter)).toMatchObject({ int: replicas });
      const list = await exporter.listWhen("the list", ({ recommendations }) => recommendations.length === 1);
      expect(list).toMatchObject({
        mode: mode ?? "act",
        recommendations: [{ replicas: 5, replicasReady: 3 }],
      });
      expect(await exporter.metrics()).toContain(
        `tradewind_application_mode{namespace="shop",application="hotel",mode="${mode ?? "act"}"} 1`,
      );
    },
  );

  it("what the platform wants while it observes, as that changes, and none where none runs", async () => {
    const exporter = await runningExporter(plan("observe"));
    const follows = async (sequence: number, running: Partial<Wish>, replicas: number): Promise<void> => {
      exporter.predictor.serve({ ...plan("observe", running), sequence });
      await exporter.listWhen(
        "the plan",
        ({ recommendations }) => recommendations[0]?.replicasReady === running.observed?.replicasReady,
      );
      expect(await answered(exporter)).toMatchObject({ int: replicas });
    };
    await follows(2, runs(2, { replicasWanted: 7 }), 7);
    await follows(3, runs(0), 0);
    expect(await exporter.client.isActive(ref)).toBe(false);
  });

  it("a first decision in act as if nothing had been recommended before", async () => {
    const state = await mkdtemp(join(tmpdir(), "tradewind-mode-"));
    onTestFinished(() => rm(state, { recursive: true }));
    const wished = (sequence: number, mode: Plan["mode"]): Plan => ({
      ...plan(mode, { ...runs(20), allocation: { replicas: 3 } }),
      sequence,
    });
    const exporter = await runningExporter(wished(1, "recommend"), { limits: {}, state });
    const recommended = async (sequence: number, mode: Plan["mode"]): Promise<number | undefined> => {
      const made = wished(sequence, mode);
      exporter.predictor.serve(made);
      const { recommendations } = await exporter.listWhen(
        "the plan",
        ({ recommendations: [first] }) => first?.decidedAtMs === made.plannedAtMs,
      );
      return recommendations[0]?.replicas;
    };
    expect(await recommended(2, "recommend")).toBe(10);
    expect(await recommended(3, "recommend")).toBe(10);
    expect(await recommended(4, "act")).toBe(10);
    expect(await answered(exporter)).toMatchObject({ int: 10 });
    const { recommendations } = await exporter.list();
    expect(recommendations[0]?.setBy?.replicas).toMatchObject({ from: 20, to: 10 });
    await exporter.running.stop();
    using trail = openTrail(state);
    const changes = [...trail.rows()].map(({ row }) => JSON.parse(row) as unknown);
    expect(changes).toMatchObject([
      { mode: "recommend", before: { replicas: 20 }, after: { replicas: 10 } },
      { mode: "act", before: { replicas: 20 }, after: { replicas: 10 } },
    ]);
  });

  it("UNAVAILABLE while it observes and does not know what runs", async () => {
    const exporter = await runningExporter(plan("observe"));
    expect(await answered(exporter)).toMatchObject({ int: 3 });
    exporter.predictor.serve({ ...plan("observe", { observed: { complete: true } }), sequence: 2 });
    await exporter.listWhen(
      "the decision",
      ({ recommendations }) =>
        recommendations.length === 1 && recommendations[0]?.replicasReady === undefined,
    );
    await expect(answered(exporter)).rejects.toThrow(/it is not known how many replicas run/);
  });

  it("by the mode of the exporter's own configuration, whatever the plan says", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-mode-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const application = join(directory, "app.yaml");
    const entry = "name: hotel, namespace: shop, entry: search, objective: {milliseconds: 200}";
    await writeFile(application, `{${entry}}`);
    const exporter = await runningExporter(plan("act"), { application });
    expect(await answered(exporter)).toMatchObject({ int: 3 });
    expect(await exporter.listWhen("the list", () => true)).toMatchObject({ mode: "observe" });
  });
});
