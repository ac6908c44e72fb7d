import type { Clock } from "@tradewind/core/process/clock.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import type { CalendarLimit } from "@tradewind/core/contract/calendar.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { Student } from "@tradewind/core/students/student.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";
import { ChangeQueue } from "@tradewind/exporter/decide/approval/change-queue.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import type { BookEntry } from "@tradewind/exporter/keep/book-entry.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { knownOf, SilentPlans } from "@tradewind/exporter/silence/silent-plans.ts";
import { NO_LIMITS, planOf, wishOf } from "../wish.ts";

const START_MS = 1_800_000_000_000;
const SILENT_MS = 10_000;

interface Setting {
  /** Of the Application. */
  readonly approval?: object;
  readonly calendars?: CalendarLimit[];
  readonly student?: Student;
}

/** A scaler of the service `search`, whose predictor made a plan of 4 replicas of half a core and is silent then. */
export class SilenceScene {
  readonly queue: ChangeQueue;
  readonly recommender: Recommender;
  #nowMs = START_MS;
  #reading: ServiceReading | undefined;
  readonly #silent: SilentPlans;

  constructor({ approval, calendars = [], student }: Setting = {}) {
    const clock: Clock = { nowMs: () => this.#nowMs, monotonicMs: () => this.#nowMs };
    const counter = {
      stateEvent: () => undefined,
      guardAction: () => undefined,
      guardRefusal: () => undefined,
      wishRejected: () => undefined,
    };
    const application = Application.parse({
      name: "hotel",
      namespace: "shop",
      mode: "act",
      entry: "search",
      objective: { milliseconds: 200 },
      ...(approval && { approval }),
    });
    this.queue = new ChangeQueue(
      [],
      async () => Promise.resolve(true),
      () => application,
    );
    this.recommender = new Recommender(
      new DecisionBook(),
      {
        exporterStartedAtMs: 0,
        clockToleranceMs: 0,
        staleAfterSeconds: 300,
        restartGraceSeconds: 0,
        limitsOf: () => ({ ...NO_LIMITS, maxReplicas: 60, growRatio: 3, growReplicas: 4 }),
        calendarsOf: () => calendars,
      },
      {
        keeper: new StateKeeper(undefined, { clock, log: {} as never, counter }),
        queue: this.queue,
        clock,
        counter,
        serve: async () => Promise.resolve(),
      },
    );
    this.#silent = new SilentPlans({
      inForce: (namespace, service) =>
        this.recommender.book.get(namespace, service)?.recommendation.decisionId,
      reading: () => this.#reading,
      student: () => student && { student, modelHash: "0123456789abcdef" },
    });
  }

  /** The predictor's plan of this moment: 4 replicas that use half of their CPU. */
  async plan(header: Partial<Plan> = {}, madeMs = this.#nowMs): Promise<void> {
    const wish = wishOf({
      allocation: { replicas: 4 },
      evidence: { cpuSecondsPerRequest: 0.05, requestsPerSecond: 20, cpuPodCapacityCores: 0.5 },
      observed: { replicasReady: 4, replicasWanted: 4, complete: true, memoryBytes: 256e6 },
      workloads: [{ name: "search" }],
    });
    const times = { predictorStartedAtMs: START_MS - 3_600_000, plannedAtMs: madeMs };
    const { wishes, ...rest } = planOf([wish], { mode: "act", ...times, ...header });
    const dated = wishes.map((each) => ({ ...each, inputs: { ...each.inputs, windowEndMs: madeMs } }));
    await this.recommender.takePlan({ header: rest, wishes: dated, madeMs });
  }

  /** No plan for 15 s more, in which so many pods use so much CPU. @returns replicas that are decided on */
  async silence(pods: number, cpuCores: number): Promise<number> {
    this.#nowMs += 15_000;
    this.#reading = {
      atMs: this.#nowMs,
      pods,
      cpuCores,
      cpuLimitCores: 0.5,
      memoryBytes: 100e6,
      memoryLimitBytes: 256e6,
    };
    const known = [...knownOf(this.recommender.book.entries())];
    const since = (): number => this.#nowMs - SILENT_MS;
    for (const { plan } of this.#silent.plans(known, since, this.#nowMs)) {
      await this.recommender.takePlan(plan);
    }
    return this.entry.final.replicas;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  wait(ms: number): void {
    this.#nowMs += ms;
  }

  get entry(): BookEntry {
    return this.recommender.book.get("shop", "search")!;
  }
}
