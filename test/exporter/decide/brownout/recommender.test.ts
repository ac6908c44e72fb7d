import { expect, it } from "vitest";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { PlanRoom } from "@tradewind/core/contract/plan.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { replay } from "@tradewind/exporter/decide/guard/guard.ts";
import { limitsBy } from "@tradewind/exporter/decide/limits/limits.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { planOf, wishOf } from "../../wish.ts";

const START_MS = 1_800_000_000_000;
const APPLICATION = Application.parse({
  name: "hotel",
  namespace: "shop",
  mode: "act",
  entry: "search",
  objective: { milliseconds: 200 },
  services: [{ name: "recommend", optional: true, minReplicas: 1 }],
});

interface Window {
  /** Latency of the route of `search` over the objective. */
  readonly severity: number;
  readonly room: PlanRoom;
  /** Replicas of `search` that are asked for, and of `recommend` that run. */
  readonly asked?: number;
  readonly recommend?: number;
  /** How old the measurements of `search` are; of more than 300 s its wish is refused. */
  readonly searchAgeMs?: number;
}

/** A scaler of the services `search`, which runs 4, and `recommend`, over one quota of their namespace. */
class Scene {
  readonly events: AuditEvent[] = [];
  readonly records: DecisionRecord[] = [];
  readonly recommender: Recommender;
  #nowMs = START_MS;

  constructor(restored: readonly DecisionRecord[] = [], nowMs = START_MS) {
    this.#nowMs = nowMs;
    const clock: Clock = { nowMs: () => this.#nowMs, monotonicMs: () => this.#nowMs };
    const counter = {
      stateEvent: () => undefined,
      guardAction: () => undefined,
      guardRefusal: () => undefined,
      wishRejected: () => undefined,
    };
    const keeper = new StateKeeper(undefined, { clock, log: {} as never, counter });
    keeper.load = async () => Promise.resolve([...restored]);
    const find = () => APPLICATION;
    const rules = {
      exporterStartedAtMs: 0,
      clockToleranceMs: 0,
      staleAfterSeconds: 300,
      restartGraceSeconds: 0,
      limitsOf: limitsBy(ExporterOptions.parse({}).limits, find),
      applicationOf: find,
    };
    const journal = { append: async (events: readonly AuditEvent[]) => (this.events.push(...events), true) };
    const serve = async () => Promise.resolve();
    this.recommender = new Recommender(new DecisionBook(), rules, { keeper, clock, counter, serve, journal });
  }

  async plan(window: Window): Promise<Record<string, number | undefined>> {
    this.#nowMs += 15_000;
    return this.again(window);
  }

  /** The plan of this moment without any wish. */
  async empty(): Promise<void> {
    const { wishes, ...header } = planOf([], { mode: "act", room: quota(0), plannedAtMs: this.#nowMs });
    await this.recommender.takePlan({ header, wishes, madeMs: this.#nowMs });
  }

  /** The last plan once more. */
  async again({
    asked = 6,
    recommend = 4,
    room,
    searchAgeMs = 0,
    severity,
  }: Window): Promise<Record<string, number | undefined>> {
    const observed = (replicas: number) => ({
      replicasReady: replicas,
      replicasWanted: replicas,
      complete: true,
    });
    const of = (service: string, replicas: number, running: number, routeOverObjective: number) =>
      wishOf({
        service,
        allocation: { replicas },
        observed: observed(running),
        evidence: { routeOverObjective },
      });
    const wishes = [of("search", asked, 4, severity), of("recommend", 4, recommend, 0.5)];
    const { wishes: fresh, ...header } = planOf(wishes, { mode: "act", room, plannedAtMs: this.#nowMs });
    const dated = fresh.map((each) => {
      const windowEndMs = this.#nowMs - (each.service === "search" ? searchAgeMs : 0);
      return { ...each, inputs: { ...each.inputs, windowEndMs } };
    });
    await this.recommender.takePlan({ header, wishes: dated, madeMs: this.#nowMs });
    const inForce = ["search", "recommend"].map((service) => this.recommender.book.get("shop", service)!);
    for (const { json } of inForce) this.records.push(DecisionRecord.parse(JSON.parse(json)));
    return Object.fromEntries(
      inForce.map(({ final, recommendation: { service } }) => [service, final.replicas]),
    );
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  reasonsOf(service: string): readonly object[] {
    return this.recommender.book.get("shop", service)?.recommendation.reasons ?? [];
  }

  brownouts(): string[] {
    return this.events.flatMap((event) =>
      event.kind === "brownout" ? [`${event.service} ${event.state}`] : [],
    );
  }
}

const pods = ["search", "recommend"].map((service) => ({ service, takes: { pods: 1 } }));
const quota = (left: number): PlanRoom => ({ quotas: [{ name: "team", left: { pods: left } }], pods });
const FULL = { severity: 1.4, room: quota(0) };
const CALM = { severity: 0.6, room: quota(1), asked: 4 };

it("an optional service goes down for one that misses its objective in a full quota, and comes back when that is well", async () => {
  const scene = new Scene();
  expect(await scene.plan(FULL)).toEqual({ search: 4, recommend: 4 });
  // At most half at once.
  expect(await scene.plan(FULL)).toEqual({ search: 4, recommend: 2 });
  expect(scene.reasonsOf("recommend")).toContainEqual({
    code: "brownout",
    for: { application: "hotel", service: "search", priority: 0 },
    quota: "team",
    leastReplicas: 1,
  });
  expect(await scene.plan({ severity: 1.4, room: quota(2), recommend: 2 })).toEqual({
    search: 6,
    recommend: 1,
  });
  expect(scene.reasonsOf("search")).toContainEqual({
    code: "brownout-first",
    services: [{ application: "hotel", service: "recommend" }],
  });
  for (const _ of [1, 2, 3])
    expect(await scene.plan({ ...CALM, recommend: 1 })).toMatchObject({ recommend: 1 });
  expect(scene.brownouts()).toEqual(["recommend begun", "recommend ended"]);
  // As far as the quota has room.
  expect(await scene.plan({ ...CALM, recommend: 1 })).toEqual({ search: 4, recommend: 2 });
  for (const record of scene.records) expect(replay(record).final).toEqual(record.final);
});

it("an optional service goes down for pods that no node has had room for in five minutes", async () => {
  const scene = new Scene();
  const room = {
    quotas: [],
    pods: pods.map((each) => ({ ...each, takes: { cpuRequestCores: 1 } })),
    waiting: [{ service: "search", pods: 2 }],
  };
  const counts: (number | undefined)[] = [];
  for (let window = 0; window < 22; window += 1)
    counts.push((await scene.plan({ severity: 1.4, room }))["recommend"]);
  expect(counts.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 4));
  expect(counts.slice(20)).toEqual([2, 1]);
});

it("no optional service goes down while the objective is met, or where there is room", async () => {
  const scene = new Scene();
  for (const window of [
    { ...FULL, severity: 0.9 },
    { ...FULL, room: quota(9) },
  ])
    for (const _ of [1, 2, 3]) expect(await scene.plan(window)).toMatchObject({ recommend: 4 });
  expect(scene.brownouts()).toEqual([]);
});

it("a brownout outlives a restart of the scaler, as the decision on disk says", async () => {
  const before = new Scene();
  await before.plan(FULL);
  await before.plan(FULL);
  const after = new Scene(before.records.slice(-2), before.nowMs);
  await after.recommender.restore();
  expect(await after.plan({ ...FULL, recommend: 2 })).toMatchObject({ recommend: 1 });
});

it("a brownout outlives a plan without wishes, and one that is taken twice", async () => {
  const scene = new Scene();
  await scene.plan(FULL);
  await scene.plan(FULL);
  const down = { ...FULL, recommend: 2 };
  expect(await scene.plan(down)).toMatchObject({ recommend: 1 });
  await scene.empty();
  expect(await scene.again(down)).toMatchObject({ recommend: 1 });
  expect(await scene.plan({ ...FULL, recommend: 1 })).toMatchObject({ recommend: 1 });
  expect(scene.brownouts()).toEqual(["recommend begun"]);
});

it("a window that is seen again after a plan without wishes is no second calm one: a brownout takes three to end", async () => {
  const scene = new Scene();
  for (const window of [FULL, FULL, CALM]) await scene.plan(window);
  for (const _ of [1, 2, 3]) {
    await scene.empty();
    await scene.again(CALM);
  }
  expect(scene.brownouts()).toEqual(["recommend begun"]);
  await scene.plan(CALM);
  await scene.plan(CALM);
  expect(scene.brownouts()).toEqual(["recommend begun", "recommend ended"]);
});

it("a brownout stays while the wishes of the service that it is for are refused: nothing is known of its latency", async () => {
  const scene = new Scene();
  await scene.plan(FULL);
  await scene.plan(FULL);
  const refused = { ...FULL, recommend: 1, searchAgeMs: 400_000 };
  for (const _ of [1, 2, 3, 4]) expect(await scene.plan(refused)).toMatchObject({ recommend: 1 });
  expect(scene.brownouts()).toEqual(["recommend begun"]);
});
