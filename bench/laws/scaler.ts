import { setTimeout as delay } from "node:timers/promises";
import { AgeClock, noSteps } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Disk } from "@tradewind/core/process/state-file.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { ChangeQueue } from "@tradewind/exporter/decide/approval/change-queue.ts";
import { answer } from "@tradewind/exporter/serve/keda/answer.ts";
import { ServedTable } from "@tradewind/exporter/keep/served-table.ts";
import type { ServedRow } from "@tradewind/exporter/keep/served-table.ts";
import { limitsBy } from "@tradewind/exporter/decide/limits/limits.ts";
import { modeOf } from "@tradewind/exporter/decide/limits/mode.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import { OnePredictor } from "@tradewind/exporter/plans/plan-fetcher.ts";
import type { FetchedPlan, PlanAsker } from "@tradewind/exporter/plans/plan-fetcher.ts";
import { PlanSource } from "@tradewind/exporter/plans/plan-source.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { CHANGES_FILE, StateFile } from "@tradewind/exporter/keep/state-file.ts";
import { MOST_REPLICAS, SERVICES } from "./predictor.ts";
import type { Life, Points } from "./points.ts";

export const STALE_AFTER_SECONDS = 300;
export const CLOCK_TOLERANCE_SECONDS = 10;
const PLAN_LIMITS = {
  staleAfterMs: STALE_AFTER_SECONDS * 1e3,
  clockToleranceMs: CLOCK_TOLERANCE_SECONDS * 1e3,
  deadlineMs: 1_000,
};
const log = createLog("laws", "silent");
const { limits } = ExporterOptions.parse({
  listen: "127.0.0.1:0",
  grpcListen: "127.0.0.1:0",
  predictor: "http://predictor:9811",
});

export const applicationOf = (mode: Application["mode"], isApproved: boolean): Application =>
  Application.parse({
    name: "hotel",
    namespace: "shop",
    entry: SERVICES[0],
    objective: { milliseconds: 200 },
    mode,
    services: SERVICES.map((name) => ({ name, maxReplicas: MOST_REPLICAS })),
    ...(isApproved && { approval: {} }),
  });

/** Changes as the journal has them: written together or not at all. */
export class SimulatedJournal {
  readonly #changes = new Map<string, string>();

  put(changes: readonly Change[]): void {
    for (const change of changes) this.#changes.set(change.id, JSON.stringify(change));
  }

  changes(): readonly Change[] {
    return [...this.#changes.values()].map((text) => JSON.parse(text) as Change);
  }
}

export interface ScalerParts {
  readonly points: Points;
  readonly isDiskFull: () => boolean;
  readonly journal: SimulatedJournal;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly application: Application;
  /** The plan that the predictor shows; undefined where it shows none. @throws Error where nobody is reached */
  readonly ask: () => Buffer | undefined;
  /** @param saved by service, of which plan the decision on disk is, by that plan's time */
  readonly onServed: (
    rows: readonly ServedRow[],
    taking: FetchedPlan | undefined,
    saved: ReadonlyMap<string, number>,
  ) => void;
  readonly onSettled: (record: DecisionRecord) => void;
  /** The journal is to be written, or all of it is. */
  readonly onJournal: (isWritten: boolean) => void;
}

/** The state file, and what of it is known to be on disk. */
class WatchedFile extends StateFile {
  readonly saved = new Map<string, number>();

  override async save(recordsJson: readonly string[], nowMs: number): Promise<void> {
    await super.save(recordsJson, nowMs);
    for (const json of recordsJson) {
      const { decidedAtMs, service } = JSON.parse(json) as DecisionRecord;
      this.saved.set(service, decidedAtMs);
    }
  }
}

/** One life of a scaler: its own stores, guard, approvals, plan source and table, between simulated clocks, disk and network. */
export class ScalerLife implements Life {
  isOver = false;
  isUp = false;
  readonly recommender: Recommender;
  readonly queue: ChangeQueue;
  readonly clock: AgeClock;
  readonly #parts: ScalerParts;
  readonly #table = new ServedTable();
  readonly #source: PlanSource;
  #taking: FetchedPlan | undefined;

  constructor(parts: ScalerParts, disk: (life: Life) => Disk) {
    this.#parts = parts;
    const { application, clock: machine, journal, points, rng } = parts;
    const clock = new AgeClock(machine, noSteps());
    this.clock = clock;
    const keeping = { clock, log, counter: { stateEvent: ignore } };
    const own = disk(this);
    const file = new WatchedFile("/state", undefined, own);
    const find = (): Application => application;
    const queue = new ChangeQueue(
      journal.changes(),
      async (_events, changes) => {
        if (!this.isOver) parts.onJournal(false);
        return points.act("write of the journal", this, () => {
          if (parts.isDiskFull()) return false;
          journal.put(changes);
          parts.onJournal(true);
          return true;
        });
      },
      find,
    );
    this.queue = queue;
    this.recommender = new Recommender(
      new DecisionBook(),
      {
        applicationOf: find,
        modeOf: (plan, namespace) => modeOf(plan, namespace, application),
        limitsOf: limitsBy(limits, find),
        exporterStartedAtMs: clock.nowMs(),
        staleAfterSeconds: STALE_AFTER_SECONDS,
        restartGraceSeconds: 0,
        clockToleranceMs: CLOCK_TOLERANCE_SECONDS * 1e3,
      },
      {
        keeper: new StateKeeper(file, keeping),
        changes: new StateKeeper(new StateFile("/state", CHANGES_FILE, own), keeping),
        queue: {
          contextOf: (...asked) => queue.contextOf(...asked),
          recall: (records) => queue.recall(records),
          settle: async (records, nowMs) => {
            const all = [...records];
            // One that was killed goes on to its next point, and nobody hears of it.
            if (!this.isOver) for (const record of all) parts.onSettled(record);
            await queue.settle(all, nowMs);
          },
        },
        clock,
        counter: { guardAction: ignore, guardRefusal: ignore, wishRejected: ignore },
        serve: async (rows) => {
          const all = [...rows];
          await points.act("message to the thread that answers", this, () => {
            if (this.isOver) return;
            this.#table.gather(all);
            this.#table.putInForce();
            parts.onServed(all, this.#taking, file.saved);
          });
        },
      },
    );
    const predictor = new OnePredictor("http://predictor:9811", { ...PLAN_LIMITS, clock }, this.#asker());
    const onPlan = async (plan: FetchedPlan): Promise<void> => {
      this.#taking = plan;
      await this.recommender.takePlan(plan);
    };
    this.#source = new PlanSource(predictor, { onPlan, onPoll: ignore }, { clock, rng, log, pollMs: 1_000 });
  }

  /** Reads back what is on disk, and then asks for plans. */
  async begin(): Promise<void> {
    await this.recommender.restore();
    this.isUp = true;
    void this.#source.start();
  }

  /** What KEDA is told; undefined where it is told that there is no number. */
  answer(service: string): number | undefined {
    const request = {
      name: "so",
      namespace: "shop",
      metricName: "",
      metadata: new Map([["service", service]]),
    };
    const told = answer(request as never, this.#table, this.clock.monotonicMs());
    return told.problem === undefined ? told.replicas : undefined;
  }

  #asker(): PlanAsker {
    const { ask, points } = this.#parts;
    let last: Buffer | undefined;
    const none = async (): Promise<never> => Promise.reject(new TradewindError("connection", "nobody asks"));
    return {
      address: "http://predictor:9811",
      fetch: async () => {
        const given = new AbortController();
        const late = delay(PLAN_LIMITS.deadlineMs).then((): never => {
          given.abort();
          throw new TradewindError("timeout", "the predictor has not answered in time");
        });
        const answering = points.act("message to the predictor", this, ask, given.signal);
        const body = await Promise.race([answering, late]);
        if (body === undefined) throw new TradewindError("status", "it has no plan yet");
        if (last?.equals(body) === true) return null;
        last = body;
        return body;
      },
      forgetLast: () => {
        last = undefined;
      },
      header: none,
      model: none,
      ask: none,
      close: async () => undefined,
    };
  }
}

const ignore = (): void => undefined;
