import { describe, expect, it, onTestFinished } from "vitest";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { answering, fakePredictor } from "../fake-predictor.ts";
import type { FakePredictor } from "../fake-predictor.ts";
import { failure } from "../serve/keda/wire-client.ts";
import { runningExporter } from "../running-exporter.ts";
import type { TestExporter } from "../running-exporter.ts";
import { settableClock } from "../set-clock.ts";
import { until } from "../until.ts";
import { planOf, wishOf } from "../wish.ts";

const HOUR_MS = 3_600_000;
const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

const planBy = (replicas: number, changes: Partial<Plan> = {}): Plan =>
  planOf([wishOf({ allocation: { replicas } })], { windowSeconds: 15, ...changes });

async function predictor(plan: Plan): Promise<FakePredictor> {
  const made = await fakePredictor(plan);
  onTestFinished(async () => made.stop());
  return made;
}

/** From now on every answer is a newer plan. */
function planAlways({ behave }: FakePredictor, replicas: number, changes: Partial<Plan>): void {
  let sequence = 1;
  behave((_request, response) => {
    sequence += 1;
    response.end(JSON.stringify(planBy(replicas, { ...changes, sequence })));
  });
}

const served = async (exporter: TestExporter): Promise<number> =>
  (await exporter.client.metrics(ref, "m"))[0]!.int;

async function counted({ metrics }: TestExporter, series: string): Promise<number> {
  const line = (await metrics()).split("\n").find((each) => each.startsWith(`${series} `));
  return Number(line?.split(" ").at(-1) ?? 0);
}

const refusals = (exporter: TestExporter, problem: string): Promise<number> =>
  counted(exporter, `tradewind_plan_fetch_errors_total{problem="${problem}"}`);

describe("a predictor with a clock ahead", () => {
  it("never takes the place of a healthy one, and its plans are counted as dated in the future", async () => {
    const startedAtMs = Date.now();
    const healthy = await predictor(planBy(7, { predictorStartedAtMs: startedAtMs - 24 * HOUR_MS }));
    const ahead = await predictor(
      planBy(3, { predictorStartedAtMs: startedAtMs - 1_000, plannedAtMs: startedAtMs + HOUR_MS }),
    );
    const exporter = await runningExporter(undefined, { predictor: `${healthy.url},${ahead.url}` });
    await until("refusals", async () => (await refusals(exporter, "future")) >= 3);
    expect(await served(exporter)).toBe(7);
    const { predictor: seen, recommendations } = await exporter.list();
    expect(seen.problem).toBeUndefined();
    expect(recommendations).toMatchObject([{ replicas: 7, valid: true }]);
  });

  it("is not followed even alone: the answer names the clocks as the reason", async () => {
    const exporter = await runningExporter(planBy(3, { plannedAtMs: Date.now() + HOUR_MS, wishes: [] }));
    await until("a refusal", async () => (await refusals(exporter, "future")) > 0);
    expect((await failure(exporter.client.metrics(ref, "m"))).details).toMatch(
      /no decision .*: the newest plan is dated 3[56]\d\d s after this scaler's clock/,
    );
  });
});

describe("a frozen predictor", () => {
  it("that has run longest loses to one that goes on planning", async () => {
    const oldest = { predictorStartedAtMs: Date.now() - 24 * HOUR_MS, windowSeconds: 0.4 };
    const frozen = await predictor(planBy(3, oldest));
    const healthy = await predictor(planBy(7));
    planAlways(frozen, 3, oldest);
    planAlways(healthy, 7, {});
    const exporter = await runningExporter(undefined, { predictor: `${frozen.url},${healthy.url}` });
    await until("the older one's plan", async () => (await served(exporter)) === 3);
    frozen.serve(planBy(3, { ...oldest, sequence: 1e9 }));
    await until("the healthy one's plan", async () => (await served(exporter)) === 7);
    expect(await refusals(exporter, "overdue")).toBeGreaterThan(0);
  });

  it("alone is served until its plan has expired by our own clock, and then is named as the reason", async () => {
    // Dated in the future by less than is tolerated: comparing clocks, it would look fresh for ten seconds.
    const frozen = planBy(3, { plannedAtMs: Date.now() + 9_000, windowSeconds: 0.2 });
    frozen.wishes[0]!.inputs.windowEndMs = frozen.plannedAtMs;
    const exporter = await runningExporter(frozen, { staleAfter: 3 });
    expect(await served(exporter)).toBe(3);
    await exporter.listWhen("the expiry", ({ recommendations }) => recommendations[0]?.valid === false);
    expect(await failure(exporter.client.metrics(ref, "m"))).toMatchObject({
      code: 14,
      details: expect.stringMatching(
        /is [3-9] s old and was valid for 3 s: (.* answers, but its newest plan is|the newest plan is)/,
      ) as string,
    });
    const { predictor: seen, recommendations } = await exporter.list();
    expect(seen.problem).toMatch(/newest plan is \d+ s old/);
    expect(recommendations[0]!.ageSeconds).toBeGreaterThan(3);
    expect(await refusals(exporter, "overdue")).toBeGreaterThan(0);
  });
});

describe("the wall clock of an exporter that is set", () => {
  it("back makes no decision younger, and is counted", async () => {
    const clock = settableClock();
    const exporter = await runningExporter(planBy(7), { staleAfter: 60 }, { clock });
    const before = (await exporter.list()).recommendations[0]!.ageSeconds!;
    clock.set(-2 * HOUR_MS);
    const series = 'tradewind_exporter_clock_steps_total{direction="back"}';
    await until("the step", async () => (await counted(exporter, series)) === 1);
    expect(await served(exporter)).toBe(7);
    const after = (await exporter.list()).recommendations[0]!.ageSeconds!;
    expect(after).toBeGreaterThan(before);
    expect(after).toBeLessThan(60);
  });

  it("forward, as after a suspend, makes the decisions that much older at once, and the next plan is served", async () => {
    const clock = settableClock();
    const source = await predictor(planBy(7));
    const exporter = await runningExporter(undefined, { predictor: source.url, staleAfter: 60 }, { clock });
    await exporter.listWhen("the first plan", ({ recommendations }) => recommendations.length > 0);
    expect(await served(exporter)).toBe(7);
    source.behave(answering("asleep", 503));
    clock.set(10 * HOUR_MS);
    const { recommendations } = await exporter.list();
    expect(recommendations[0]!.ageSeconds).toBeGreaterThan(36_000);
    expect(await failure(exporter.client.metrics(ref, "m"))).toMatchObject({
      code: 14,
      details: expect.stringMatching(/is 36\d\d\d s old and was valid for 60 s/) as string,
    });
    const series = 'tradewind_exporter_clock_steps_total{direction="forward"}';
    await until("the step", async () => (await counted(exporter, series)) === 1);
    source.behave((_request, response) => {
      const nowMs = clock.nowMs();
      const plan = planBy(8, { plannedAtMs: nowMs, sequence: Math.trunc(nowMs) });
      plan.wishes[0]!.inputs.windowEndMs = nowMs;
      response.end(JSON.stringify(plan));
    });
    await exporter.listWhen("a plan of now", (list) => list.recommendations[0]!.valid);
    expect(await served(exporter)).toBe(8);
  });

  it("back while it was down leaves the decisions on disk unserved, with an age that is not known", async () => {
    const state = await mkdtemp(join(tmpdir(), "tradewind-clocks-"));
    onTestFinished(() => rm(state, { recursive: true, force: true }));
    const first = await runningExporter(planBy(7), { state });
    await first.running.stop();
    const clock = settableClock();
    clock.set(-HOUR_MS);
    const second = await runningExporter(undefined, { state }, { clock });
    const [known] = (await second.list()).recommendations;
    expect(known).toMatchObject({ replicas: 7, valid: false });
    expect(known).not.toHaveProperty("ageSeconds");
    expect(await second.metrics()).not.toMatch(/tradewind_recommendation_age_seconds\{/);
    expect((await failure(second.client.metrics(ref, "m"))).details).toMatch(/its age is not known: /);
  });
});
