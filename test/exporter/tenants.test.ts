import { beforeAll, describe, expect, it } from "vitest";
import { Application } from "@tradewind/core/contract/application.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { ChangeQueue } from "@tradewind/exporter/decide/approval/change-queue.ts";
import { answer } from "@tradewind/exporter/serve/keda/answer.ts";
import type { Answer } from "@tradewind/exporter/serve/keda/answer.ts";
import { ServedTable } from "@tradewind/exporter/keep/served-table.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { NO_LIMITS, planOf, wishOf } from "./wish.ts";

const START_MS = 1_800_000_000_000;
const WINDOW_MS = 15_000;
const SHOP = { namespace: "shop", name: "hotel" };
const BANK = { namespace: "bank", name: "desk" };
const ignore = (): void => undefined;

/** A decided change of a size, one of many. */
const refused = (namespace: string, application: string, index: number): Change => ({
  kind: "size",
  id: `${namespace}${index}`.padEnd(10, "0").slice(0, 10),
  application,
  namespace,
  service: "search",
  resource: "replicas",
  from: 3,
  to: 9,
  proposedAtMs: START_MS - 60_000 + index,
  expiresMs: START_MS - 1_000,
  state: "refused",
});

/** A scaler of two tenants: `shop`, of which a large change waits for a person, and `bank`. */
class Scaler {
  readonly table = new ServedTable();
  readonly queue: ChangeQueue;
  readonly recommender: Recommender;
  #nowMs = START_MS;
  #sequence = 0;

  constructor(changes: readonly Change[]) {
    const clock = { nowMs: () => this.#nowMs, monotonicMs: () => this.#nowMs - START_MS };
    const find = (namespace: string, name: string): Application =>
      Application.parse({
        namespace,
        name,
        entry: "search",
        mode: "act",
        objective: { milliseconds: 200 },
        priority: namespace === "bank" ? 1_000 : 0,
        ...(namespace === "shop" && { approval: {} }),
      });
    this.queue = new ChangeQueue(changes, async () => Promise.resolve(true), find);
    const keeper = new StateKeeper(undefined, {
      clock,
      log: createLog("test", "silent"),
      counter: { stateEvent: ignore },
    });
    this.recommender = new Recommender(
      new DecisionBook({ recent: 1_000, history: 40, historyPerService: 20 }),
      {
        exporterStartedAtMs: 0,
        clockToleranceMs: 0,
        staleAfterSeconds: 300,
        restartGraceSeconds: 0,
        limitsOf: () => NO_LIMITS,
        applicationOf: find,
      },
      {
        keeper,
        queue: this.queue,
        clock,
        counter: { guardAction: ignore, guardRefusal: ignore, wishRejected: ignore },
        serve: async (rows) => {
          this.table.gather([...rows]);
          this.table.putInForce();
          return Promise.resolve();
        },
      },
    );
  }

  /** However much was done for one tenant, the other's plans come at the same times. */
  setTime(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  async plan(of: typeof SHOP, wishes: readonly Wish[], changes: Partial<Plan> = {}): Promise<void> {
    this.#nowMs += 1;
    this.#sequence += 1;
    const { wishes: made, ...header } = planOf(wishes, {
      application: of.name,
      namespace: of.namespace,
      sequence: this.#sequence,
      plannedAtMs: this.#nowMs,
      predictorStartedAtMs: START_MS - 3_600_000,
      ...changes,
    });
    const timed = made.map((wish) => ({ ...wish, inputs: { ...wish.inputs, windowEndMs: this.#nowMs } }));
    await this.recommender.takePlan(
      { header, wishes: timed, madeMs: this.#nowMs - START_MS },
      { namespace: of.namespace, name: of.name },
    );
  }

  ask(namespace: string, service: string, application?: string): Answer {
    const metadata = new Map([
      ["service", service],
      ...(application === undefined ? [] : ([["application", application]] as const)),
    ]);
    const request = { name: "so", namespace, metricName: "", metadata };
    return answer(request as Parameters<typeof answer>[0], this.table, this.#nowMs - START_MS);
  }

  figures(): unknown {
    const { book } = this.recommender;
    return {
      answers: [this.ask("shop", "search"), this.ask("shop", "rate")],
      records: ["search", "rate"].map((service) => book.historyJson("shop", service)),
      setBy: ["search", "rate"].map((service) => book.setBy("shop", service)),
      refusal: this.recommender.refusalOf("shop", "search"),
      changes: this.queue.list().filter(({ namespace }) => namespace === "shop"),
    };
  }
}

const wish = (namespace: string, service: string, replicas: number): Wish =>
  wishOf({ namespace, service, allocation: { replicas }, evidence: {} });

/** What `bank` does after each plan of `shop`. */
const WRITES: Readonly<Record<string, (scaler: Scaler, round: number) => Promise<void>>> = {
  "a plan that names services of another namespace": async (scaler) =>
    scaler.plan(BANK, [wish("shop", "search", 1), wish("shop", "rate", 19)]),
  "a plan for services of the same names": async (scaler) =>
    scaler.plan(BANK, [wish("bank", "search", 1), wish("bank", "rate", 19)]),
  "a plan of an application of the same name": async (scaler) =>
    scaler.plan({ namespace: "bank", name: "hotel" }, [wish("bank", "search", 1)]),
  "a plan with a quota of the same name and no room left": async (scaler) =>
    scaler.plan(BANK, [wish("bank", "web", 19)], {
      room: { quotas: [{ name: "team", left: { pods: 0 } }], pods: [{ service: "web", takes: { pods: 1 } }] },
    }),
  "annotations that approve the changes of another namespace": async ({ queue }) =>
    queue.takeAnnotations(
      { application: "desk", namespace: "bank" },
      { approved: queue.list().map(({ id }) => id), refused: [] },
      START_MS,
    ),
  "sizes that change with each plan": async (scaler, round) => {
    for (let more = 0; more < 8; more += 1)
      await scaler.plan(
        BANK,
        Array.from({ length: 10 }, (_, index) => wish("bank", `web-${index}`, 2 + ((round + more) % 7))),
      );
  },
  "a deleted Application": async (scaler) => {
    await scaler.plan(BANK, [wish("bank", "search", 1)]);
    await scaler.recommender.drop(BANK);
  },
};

const ROUNDS = 6;

async function figuresBeside(write: (scaler: Scaler, round: number) => Promise<void>): Promise<unknown> {
  const scaler = new Scaler([
    refused("shop", "hotel", 0),
    ...Array.from({ length: 1_200 }, (_, index) => refused("bank", "desk", index)),
  ]);
  for (let round = 0; round < ROUNDS; round += 1) {
    scaler.setTime(START_MS + (round + 1) * WINDOW_MS);
    const sizes = [wish("shop", "search", 3 + (round % 2)), wish("shop", "rate", round < 3 ? 4 : 19)];
    await scaler.plan(SHOP, sizes, { sequence: round + 1 });
    await write(scaler, round);
  }
  scaler.setTime(START_MS + (ROUNDS + 1) * WINDOW_MS);
  return scaler.figures();
}

describe("nothing that a tenant writes moves a number, a decision or an approval of another one", () => {
  let alone: unknown;
  beforeAll(async () => {
    alone = await figuresBeside(async () => Promise.resolve());
  });

  it.each(Object.keys(WRITES))("%s", async (what) => {
    const write = WRITES[what];
    if (write === undefined) throw new Error(what);
    expect(await figuresBeside(write)).toEqual(alone);
  });

  it("and the figures are those of an application whose large change waits", () => {
    expect(alone).toMatchObject({
      answers: [{ replicas: 4 }, { replicas: expect.any(Number) as number }],
      changes: expect.arrayContaining([
        expect.objectContaining({ state: "awaiting", to: 19 }),
        expect.objectContaining({ state: "refused" }),
      ]) as unknown,
    });
  });

  it("nor does a ScaledObject read one", async () => {
    const scaler = new Scaler([]);
    await scaler.plan(SHOP, [wish("shop", "search", 4)]);
    expect(scaler.ask("shop", "search")).toEqual({ replicas: 4 });
    for (const application of [undefined, "hotel"])
      expect(scaler.ask("bank", "search", application)).toMatchObject({ problem: "unavailable" });
  });
});
