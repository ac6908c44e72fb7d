import type { Clock } from "@tradewind/core/process/clock.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { ReadPlan } from "./read-plan.ts";

type Header = Pick<ReadPlan["header"], "predictorStartedAtMs" | "sequence" | "plannedAtMs" | "windowSeconds">;

export interface PlanAgeOptions {
  readonly clock: Clock;
  /** An older plan is refused. ms */
  readonly staleAfterMs: number;
  /** A plan dated this much later than our own wall clock is refused. ms */
  readonly clockToleranceMs: number;
}

/** A predictor makes a plan each window; one without a new plan for this many windows has stopped planning. */
const OVERDUE_WINDOWS = 2.5;
const DEFAULT_WINDOW_SECONDS = 60;

interface SeenPlan {
  readonly header: Header;
  /** When the plan was made, on our monotonic clock. */
  readonly madeMs: number;
}

/**
 * Tells how old the newest plan of one predictor is, on our monotonic clock: from when we saw it take the place of another.
 * The clocks of two nodes are compared only for the first plan that we see of a predictor, and to refuse a plan from the
 * future. So a predictor that repeats a plan ages, whatever time the plan names, and a clock that steps changes nothing, our own
 * among them: plans that follow each other as our monotonic clock goes on are taken, whatever our wall clock says.
 */
export class PlanAge {
  readonly #options: PlanAgeOptions;
  #newest: SeenPlan | undefined;
  /** Monotonic time at which the last answer, new or not, was asked for. */
  #answeredMs = Number.NEGATIVE_INFINITY;

  constructor(options: PlanAgeOptions) {
    this.#options = options;
  }

  /**
   * Takes the newest plan's header.
   * @param askedMs when it was asked for: a plan is at least as old as its answer was on the way, as through a suspension of our machine
   * @returns when the plan was made, on our monotonic clock, ms
   * @throws TradewindError `out-of-order`, `future` or `stale` when the plan must not be used
   */
  see(header: Header, askedMs = this.#options.clock.monotonicMs()): number {
    const nowMs = this.#options.clock.monotonicMs();
    const last = this.#newest;
    const isSameLife = last?.header.predictorStartedAtMs === header.predictorStartedAtMs;
    if (isSameLife && header.sequence < last.header.sequence) {
      throw new TradewindError(
        "out-of-order",
        `plan ${header.sequence} came after plan ${last.header.sequence}`,
      );
    }
    if (!isSameLife || header.sequence !== last.header.sequence) {
      const ageMs = Math.max(nowMs - askedMs, this.#ageMs(header, isSameLife, nowMs));
      this.#newest = { header, madeMs: nowMs - ageMs };
    }
    this.#answeredMs = askedMs;
    return this.#notStale();
  }

  /** The predictor answered that nothing has changed. @param askedMs as {@link see} @throws TradewindError `stale` */
  seeAgain(askedMs = this.#options.clock.monotonicMs()): void {
    this.#answeredMs = askedMs;
    this.#notStale();
  }

  /** Time since the newest plan was made; undefined before the first. ms */
  ageMs(): number | undefined {
    return this.#newest === undefined ? undefined : this.#options.clock.monotonicMs() - this.#newest.madeMs;
  }

  /** Age of the newest plan when a newer one should have come already; else undefined. ms */
  overdueMs(): number | undefined {
    const ageMs = this.ageMs();
    const windowMs = (this.#newest?.header.windowSeconds ?? DEFAULT_WINDOW_SECONDS) * 1e3;
    const limitMs = Math.min(OVERDUE_WINDOWS * windowMs, this.#options.staleAfterMs);
    return ageMs !== undefined && ageMs > limitMs ? ageMs : undefined;
  }

  /** What two clocks say of the age of a plan seen for the first time, as far as our own clock does not contradict. */
  #ageMs({ plannedAtMs }: Header, isSameLife: boolean, nowMs: number): number {
    const { clock, clockToleranceMs } = this.#options;
    const byWallMs = clock.nowMs() - plannedAtMs;
    if (byWallMs < -clockToleranceMs && !this.#goesOn(plannedAtMs, isSameLife, nowMs)) {
      throw new TradewindError(
        "future",
        `the newest plan is dated ${seconds(-byWallMs)} s after this scaler's clock, more than the ${seconds(clockToleranceMs)} s allowed; correct the clock of one of the two nodes`,
      );
    }
    // The plan before this one was still the newest when the predictor answered last.
    const atMostMs = isSameLife ? nowMs - this.#answeredMs : Number.POSITIVE_INFINITY;
    return Math.min(Math.max(0, byWallMs, this.#sinceLastMs(plannedAtMs, isSameLife, nowMs)), atMostMs);
  }

  /** By how much our monotonic clock has gone on further since the plan before than its predictor's has. */
  #sinceLastMs(plannedAtMs: number, isSameLife: boolean, nowMs: number): number {
    const last = this.#newest;
    if (last === undefined || !isSameLife) return 0;
    return nowMs - last.madeMs - (plannedAtMs - last.header.plannedAtMs);
  }

  /** Its predictor's clock has gone on since the plan before as our monotonic one has: then it is our wall clock that was set. */
  #goesOn(plannedAtMs: number, isSameLife: boolean, nowMs: number): boolean {
    if (this.#newest === undefined || !isSameLife) return false;
    return this.#sinceLastMs(plannedAtMs, isSameLife, nowMs) >= -this.#options.clockToleranceMs;
  }

  #notStale(): number {
    const ageMs = this.ageMs();
    if (this.#newest === undefined || ageMs === undefined) return Number.NEGATIVE_INFINITY;
    if (ageMs <= this.#options.staleAfterMs) return this.#newest.madeMs;
    throw new TradewindError(
      "stale",
      `the newest plan is ${seconds(ageMs)} s old, more than the ${seconds(this.#options.staleAfterMs)} s allowed; see the predictor's log, or its clock`,
    );
  }
}

const seconds = (ms: number): number => Math.round(ms / 1e3);
