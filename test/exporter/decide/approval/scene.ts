import { Application } from "@tradewind/core/contract/application.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Allocation, ContainerSize, Plan } from "@tradewind/core/contract/plan.ts";
import { ChangeQueue } from "@tradewind/exporter/decide/approval/change-queue.ts";
import { JournalKeeper } from "@tradewind/exporter/keep/journal/keeper.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { CHANGES_FILE, StateFile } from "@tradewind/exporter/keep/state-file.ts";
import { NO_LIMITS, planOf, wishOf } from "../../wish.ts";

export const MINUTE_MS = 60_000;
export const START_MS = 1_800_000_000_000;

export const application = Application.parse({
  name: "hotel",
  namespace: "shop",
  mode: "act",
  entry: "search",
  objective: { milliseconds: 200 },
  approval: {},
});

/** What a process is killed by. */
export class Killed extends Error {}

/** The deciding part of an exporter over a directory, which can be killed and started again. */
export class Process {
  readonly queue: ChangeQueue;
  readonly recommender: Recommender;
  readonly #journal: JournalKeeper;
  nowMs = START_MS;
  /** Replicas that run. */
  running = 10;
  /** The configuration as this process has read it. */
  application: Application | undefined = application;
  /** The disk takes no row of the journal. */
  diskRefuses = false;
  readonly clock: Clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };

  /** @param step called before and after all that outlasts the process, or that others see */
  constructor(directory: string, step: () => void = () => undefined, diskPatienceMs = 10_000) {
    const log = { error: () => undefined, info: () => undefined } as never;
    const { clock } = this;
    const counter = {
      audited: () => undefined,
      stateEvent: () => undefined,
      guardAction: () => undefined,
      guardRefusal: () => undefined,
      wishRejected: () => undefined,
    };
    const around = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      step();
      const result = await work();
      step();
      return result;
    };
    this.#journal = new JournalKeeper(directory, { clock, log, counter });
    const find = (): Application | undefined => this.application;
    this.queue = new ChangeQueue(
      this.#journal.changes(),
      async (events, written) =>
        !this.diskRefuses && around(async () => this.#journal.append(events, written)),
      find,
    );
    const keeper = new StateKeeper(new StateFile(directory), { clock, log, counter });
    const changes = new StateKeeper(new StateFile(directory, CHANGES_FILE), { clock, log, counter });
    const save = keeper.save.bind(keeper);
    keeper.save = async (records) => {
      step();
      await save(records, diskPatienceMs);
      step();
    };
    this.recommender = new Recommender(
      new DecisionBook(),
      {
        exporterStartedAtMs: 0,
        clockToleranceMs: 0,
        staleAfterSeconds: 300,
        restartGraceSeconds: 0,
        limitsOf: () => NO_LIMITS,
        applicationOf: find,
        isUnread: () => this.application === undefined,
      },
      {
        keeper,
        changes,
        queue: this.queue,
        clock,
        counter,
        diskPatienceMs,
        serve: async () => around(async () => undefined),
      },
    );
  }

  /** A plan of running replicas of half a core and 256 MB asks for so many, and for these sizes. */
  async plan(
    replicas: number,
    atMs: number,
    evidence: Record<string, number> = {},
    sizes: ContainerSize = {},
    header: Partial<Plan> = {},
  ): Promise<void> {
    this.nowMs = atMs;
    const running = { cpuCores: 0.5, memoryBytes: 256e6 };
    const observed = {
      replicasReady: this.running,
      replicasWanted: this.running,
      ...running,
      complete: true,
    };
    const wish = wishOf({
      allocation: { replicas, ...sizes },
      observed,
      evidence,
      inputs: { windowHash: "0123456789abcdef", windowEndMs: atMs },
    });
    const times = { predictorStartedAtMs: START_MS - 60 * MINUTE_MS, plannedAtMs: atMs };
    const { wishes, ...rest }: Plan = planOf([wish], { mode: "act", ...times, ...header });
    const fresh = wishes.map((each) => ({ ...each, inputs: { ...each.inputs, windowEndMs: atMs } }));
    await this.recommender.takePlan({ header: rest, wishes: fresh, madeMs: atMs });
  }

  get replicas(): number | undefined {
    return this.recommender.book.get("shop", "search")?.final.replicas;
  }

  get final(): Allocation | undefined {
    return this.recommender.book.get("shop", "search")?.final;
  }

  async end(): Promise<void> {
    await this.#journal.close();
  }
}
