import { createLog } from "@tradewind/core/process/log.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { NO_LIMITS, planOf, wishOf } from "./wish.ts";

export const GRACE_SECONDS = 120;

/** An exporter that has long run, by a clock that a test moves. */
export class OldExporter {
  nowMs = 0;
  served: number | undefined;
  private readonly recommender: Recommender;

  constructor(limits: GuardLimits = NO_LIMITS) {
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    const counter = { guardAction: ignore, guardRefusal: ignore, wishRejected: ignore };
    const log = createLog("test", "silent");
    const rules = {
      exporterStartedAtMs: 0,
      staleAfterSeconds: 300,
      restartGraceSeconds: GRACE_SECONDS,
      clockToleranceMs: 10_000,
      limitsOf: () => limits,
    };
    this.recommender = new Recommender(new DecisionBook(), rules, {
      keeper: new StateKeeper(undefined, { clock, log, counter: { stateEvent: ignore } }),
      clock,
      counter,
      serve: (rows) => {
        this.served = [...rows][0]?.decided?.replicas;
        return Promise.resolve();
      },
    });
    this.nowMs = 1_000_000;
  }

  /** @param predictor a life of one, which has run for an hour by a clock of its own */
  async take(predictor: number, replicas: number, wanted: number): Promise<void> {
    const aheadMs = predictor * 7_000_000;
    const plannedAtMs = this.nowMs + aheadMs;
    const { wishes, ...header } = planOf(
      [
        wishOf({
          allocation: { replicas },
          bounds: { ...wishOf().bounds, minReplicas: 0, maxReplicas: 1e9 },
          observed: { replicasReady: wanted, replicasWanted: wanted, complete: true },
        }),
      ],
      { plannedAtMs, predictorStartedAtMs: aheadMs, sequence: this.nowMs },
    );
    const ofNow = wishes.map((wish) => ({ ...wish, inputs: { ...wish.inputs, windowEndMs: plannedAtMs } }));
    await this.recommender.takePlan({ header, wishes: ofNow, madeMs: this.nowMs });
  }
}

const ignore = (): void => undefined;
