import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { Wish } from "@tradewind/core/contract/plan.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { FetchedPlan } from "@tradewind/exporter/plans/plan-fetcher.ts";
import { PredictorChoice } from "@tradewind/exporter/plans/predictor-choice.ts";
import { answering, fakePredictor } from "../fake-predictor.ts";
import type { FakePredictor } from "../fake-predictor.ts";
import { runningExporter } from "../running-exporter.ts";
import type { TestExporter } from "../running-exporter.ts";
import { until } from "../until.ts";
import { planOf, wishOf } from "../wish.ts";

const NOW_MS = Date.now();

async function predictor(plan: Plan | undefined): Promise<FakePredictor> {
  const made = await fakePredictor(plan);
  onTestFinished(async () => made.stop());
  return made;
}

const planBy = (replicas: number, changes: Partial<Plan> = {}): Plan =>
  planOf([wishOf({ allocation: { replicas } })], { windowSeconds: 15, ...changes });
const old = (replicas: number, changes: Partial<Plan> = {}): Plan =>
  planBy(replicas, { predictorStartedAtMs: NOW_MS - 7_200_000, ...changes });
const young = (replicas: number, changes: Partial<Plan> = {}): Plan =>
  planBy(replicas, { predictorStartedAtMs: NOW_MS - 3_600_000, ...changes });

function choice(
  targets: readonly string[],
  { clock = systemClock, refused = [] }: { clock?: Clock; refused?: string[] } = {},
): PredictorChoice {
  const made = new PredictorChoice({
    targets,
    deadlineMs: 300,
    staleAfterMs: 300_000,
    clockToleranceMs: 10_000,
    clock,
    log: createLog("test", "silent"),
    patienceMs: 200,
    onRefused: (problem) => refused.push(problem),
  });
  onTestFinished(async () => made.close());
  return made;
}

const wanted = (plan: FetchedPlan | null): number | null =>
  plan === null ? null : Wish.parse([...plan.wishes][0]).allocation.replicas;
const never = new AbortController().signal;

describe("the choice among predictors", () => {
  it("takes the plan of the oldest, once", async () => {
    const [a, b] = [await predictor(old(4)), await predictor(young(9))];
    const chosen = choice([b.url, a.url]);
    expect(wanted(await chosen.fetch(never))).toBe(4);
    expect(await chosen.fetch(never)).toBeNull();
    expect(chosen.address).toBe(a.url);
  });

  it("waits for the one in use as long as patience lasts, then takes the next, and stays there", async () => {
    const [a, b] = [await predictor(old(4)), await predictor(young(9))];
    const chosen = choice([a.url, b.url]);
    await chosen.fetch(never);
    await a.stop();
    expect(await chosen.fetch(never)).toBeNull();
    const plan = await until("the other plan", async () => chosen.fetch(never));
    expect(wanted(plan)).toBe(9);
    expect(chosen.health()).toEqual({ answering: 1, known: 2, switches: 1 });
    const restarted = await predictor(planBy(1, { predictorStartedAtMs: NOW_MS }));
    const both = choice([b.url, restarted.url]);
    expect(wanted(await both.fetch(never))).toBe(9);
  });

  it("takes another at once when the oldest missed traffic, and the oldest again once it sees all", async () => {
    const [a, b] = [await predictor(old(4)), await predictor(young(9))];
    const chosen = choice([a.url, b.url]);
    await chosen.fetch(never);
    a.serve(old(2, { complete: false, sequence: 2 }));
    expect(wanted(await chosen.fetch(never))).toBe(9);
    a.serve(old(5, { sequence: 3 }));
    expect(wanted(await chosen.fetch(never))).toBe(5);
  });

  it("takes an incomplete plan where there is no other", async () => {
    const a = await predictor(old(4, { complete: false }));
    const b = await predictor(undefined);
    expect(wanted(await choice([a.url, b.url]).fetch(never))).toBe(4);
  });

  it("goes on with whoever answers beside one that hangs, lies or is not there", async () => {
    const hanging = await predictor(undefined);
    hanging.behave(() => undefined);
    const lying = await predictor(undefined);
    lying.behave(answering("{}"));
    const good = await predictor(young(9));
    const chosen = choice([hanging.url, lying.url, "http://127.0.0.1:1", good.url]);
    expect(wanted(await chosen.fetch(never))).toBe(9);
    expect(chosen.health()).toMatchObject({ answering: 1, known: 4 });
  });

  it("says that nobody answers, and why the first does not", async () => {
    const silent = await predictor(undefined);
    await expect(choice([silent.url, "http://127.0.0.1:1"]).fetch(never)).rejects.toThrow(
      /no predictor answers: .* answered 503; and 1 more/,
    );
  });
});

describe("two exporters, each with a predictor of its own", () => {
  /** The numbers that both serve, once they are the same. */
  const agreed = async (exporters: readonly TestExporter[], replicas: number) =>
    until(`both serve ${replicas}`, async () => {
      const lists = await Promise.all(exporters.map(async ({ list }) => list()));
      return lists.every(({ recommendations }) => recommendations[0]?.replicas === replicas);
    });

  it("serve the same numbers: through the death of the older predictor, and through its return", async () => {
    const [a, b] = [await predictor(old(7)), await predictor(young(9))];
    const one = await runningExporter(undefined, { predictor: `${a.url},${b.url}`, predictorDeadline: 0.3 });
    const other = await runningExporter(undefined, {
      predictor: `${b.url},${a.url}`,
      predictorDeadline: 0.3,
    });
    await agreed([one, other], 7);

    await a.stop();
    b.serve(young(10, { sequence: 2 }));
    await agreed([one, other], 10);

    // What comes back is young, and does not take over.
    const back = await predictor(planBy(20, { predictorStartedAtMs: Date.now() }));
    const third = await runningExporter(undefined, {
      predictor: `${back.url},${b.url}`,
      predictorDeadline: 0.3,
    });
    await agreed([one, other, third], 10);
  });

  it("find predictors by name, and keep to the one beside when the name cannot be resolved", async () => {
    const [a, b] = [await predictor(old(7)), await predictor(young(9))];
    const port = new URL(a.url).port;
    let fails = false;
    const lookup = async () => (fails ? Promise.reject(new Error("no DNS")) : Promise.resolve(["127.0.0.1"]));
    const settings = { predictor: `${b.url},dns+http://predictors.tradewind.svc:${port}` };
    const one = await runningExporter(undefined, settings, { lookup });
    await agreed([one], 7);
    fails = true;
    const cut = await runningExporter(undefined, settings, { lookup });
    await agreed([cut], 9);
  });
});
