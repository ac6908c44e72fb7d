import { budgetStretch, stretchedSeconds } from "./budget.ts";
import { DueQueue } from "./due-queue.ts";
import { learn, settleNext, TERMS, underSuspicion, wantedSeconds } from "./learn.ts";
import type { Terms } from "./learn.ts";
import { Moments } from "./moments.ts";
import type { SignalId, SignalOptions } from "./signal.ts";
import { isSignalNumber, NONE, resolveSignal } from "./signal.ts";
import { signalState } from "./state.ts";
import type { SamplerState, SignalState } from "./state.ts";
export type { SamplerState, SignalState } from "./state.ts";
import { SignalTable } from "./table.ts";
import type { Row, RowCursor } from "./table.ts";

export interface SamplerOptions {
  /** What the controller goes by, where it differs from {@link TERMS}; the window is the predictor's. */
  readonly terms?: Partial<Terms>;
  /** Most CPU seconds per second the reads may cost together; > 0. Default 0.005 (0.5 % of a core). */
  readonly costBudgetRatio?: number;
  /** Signals to make room for at the start; grows by itself. Default 1024. */
  readonly capacity?: number;
}

/** A reading closer than this part of the shortest interval to the one before is too short a base for a rate. */
const SHORTEST_BASE = 0.25;
/** Beyond these a reading is a fault of its source: their squares and products must stay finite. */
const MOST_VALUE = 1e60;
const MOST_MS = 1e15;
const MOST_COST_SECONDS = 1e6;
/** Weight of one measured read cost in the smoothed one. */
const COST_WEIGHT = 0.1;
/**
 * One measured cost counts in the smoothed one for at most this many times the latter, and these CPU seconds more: a read that
 * was held up for 100 ms, once, did not cost 100 ms. A cost that lasts is learnt all the same: after 13 readings of 100 ms it
 * counts in full.
 */
const COST_CLIP = 8;
const COST_CLIP_SECONDS = 1e-4;
/** Part of the budget that is left for signals that can be stretched, whatever those that cannot be cost. */
const LEAST_BUDGET_SHARE = 0.5;
const LEAST_COST_SECONDS = 1e-9;

/**
 * Decides when each of thousands of signals is read next. The caller owns the clock and the reading:
 *
 * ```ts
 * const sampler = new Sampler();
 * sampler.align(nowMs + windowEndsInMs);
 * const container = sampler.add({ kind: "counter", tolerance: 0.05, channels: CHANNEL.cpu }, nowMs);
 * const guard = new GuardChannel({ kind: "counter", floor: 0.1 });
 *
 * // once a second: the guard
 * if (guard.observe(totalUsageSeconds, nowMs)) sampler.wake(CHANNEL.cpu, nowMs);
 * // whenever sampler.nextDueMs() has come
 * for (let id = sampler.nextDue(nowMs); id !== NONE; id = sampler.nextDue(nowMs)) {
 *   sampler.observe(id, readUsageSeconds(id), nowMs, costSeconds); // or sampler.failed(id, nowMs)
 * }
 * sampler.rebalance(); // every few seconds
 * ```
 *
 * Rules for the caller
 * - `nowMs` is monotonic (performance.now()), taken close to the read; one value for a whole batch is fine.
 * - Pass cumulative counters raw, in their base unit; rates are formed here. Reset detection is here, too.
 * - Several signals may live in one file: when one is due, `observe` the others with what the same read gave.
 *   `observe` may be called at any time, due or not.
 * - A signal handed out by `nextDue` and never observed comes back after its interval.
 * Nothing here throws on a value; only options out of range do.
 */
export class Sampler {
  readonly #terms: Terms;
  readonly #moments: Moments;
  readonly #budget: number;
  readonly #table: SignalTable;
  readonly #queue: DueQueue;
  readonly #row: RowCursor;
  #count = 0;
  #stretch = 0;

  /** @throws RangeError when the budget or the window is not above 0 */
  constructor(options: SamplerOptions = {}) {
    const budget = options.costBudgetRatio ?? 0.005;
    if (!(budget > 0)) throw new RangeError(`costBudgetRatio must be above 0, not ${budget}`);
    this.#terms = { ...TERMS, ...options.terms };
    const { windowSeconds } = this.#terms;
    if (!(windowSeconds > 0)) throw new RangeError(`windowSeconds must be above 0, not ${windowSeconds}`);
    this.#moments = new Moments(windowSeconds);
    this.#budget = budget;
    this.#table = new SignalTable(options.capacity ?? 1024);
    this.#queue = new DueQueue(options.capacity ?? 1024);
    this.#row = this.#table.cursor();
  }

  /**
   * Adds a signal, due at once.
   * @throws RangeError when an option is out of range
   */
  add(options: SignalOptions, nowMs: number): SignalId {
    const signal = resolveSignal(options);
    const id = this.#table.allocate();
    const row = this.#row.at(id);
    row.live = 1;
    row.isGauge = signal.kind === "gauge" ? 1 : 0;
    row.channels = signal.channels;
    row.tolerance = signal.tolerance;
    row.minSeconds = signal.minSeconds;
    row.maxSeconds = signal.maxSeconds;
    row.weight = signal.weight;
    row.costSeconds = signal.costSeconds;
    row.wantedSeconds = row.intervalSeconds = signal.minSeconds;
    row.lastMs = row.lastValue = row.rate = row.difference = row.askedUntilMs = Number.NaN;
    this.#count += 1;
    this.#queue.set(id, Number.isFinite(nowMs) ? nowMs : 0);
    return id;
  }

  /**
   * Moves the tolerance of a signal: what matters to a container depends on its limit, which may change. What was learnt
   * of the signal stays. An unknown id is ignored, and so is a tolerance that `add` would refuse.
   * @param tolerance as {@link SignalOptions.tolerance}
   */
  tolerate(id: SignalId, tolerance: number): void {
    if (!this.has(id) || !isSignalNumber(tolerance)) return;
    const row = this.#row.at(id);
    row.tolerance = tolerance;
  }

  /**
   * Reads a signal at least so often until a time, as far as the cost budget goes. An unknown id is ignored.
   * @param seconds longest interval; the signal's shortest where it is less
   * @returns whether that is more often than was asked for before
   */
  hasten(id: SignalId, seconds: number, untilMs: number, nowMs: number): boolean {
    if (!this.has(id) || !(seconds > 0) || !Number.isFinite(untilMs) || !Number.isFinite(nowMs)) return false;
    const row = this.#row.at(id);
    const askedSeconds = Math.max(row.minSeconds, seconds);
    const isMore = !(nowMs < row.askedUntilMs && row.askedSeconds <= askedSeconds);
    row.askedSeconds = askedSeconds;
    row.askedUntilMs = untilMs;
    row.wantedSeconds = Math.min(row.wantedSeconds, askedSeconds);
    row.intervalSeconds = this.#stretched(row, row.wantedSeconds, this.#stretch);
    const soonestMs = Math.max(nowMs, row.lastMs + row.intervalSeconds * 1e3);
    if (soonestMs < this.#queue.dueMs(id)) this.#queue.set(id, soonestMs);
    return isMore;
  }

  has(id: SignalId): boolean {
    return Number.isInteger(id) && id >= 0 && id < this.#table.rows && this.#row.at(id).live === 1;
  }

  /**
   * Says when readings are best taken: just before a window ends, so that its mean is the rise between two of them.
   * @param momentMs any one of these moments, which are a window apart
   */
  align(momentMs: number): void {
    if (Math.abs(momentMs) <= MOST_MS) this.#moments.align(momentMs);
  }

  /** Forgets a signal; an unknown id is ignored. */
  remove(id: SignalId): void {
    if (!this.has(id)) return;
    this.#queue.remove(id);
    this.#table.free(id);
    this.#count -= 1;
  }

  /** When the next signal is due, ms; Infinity when there is none. */
  nextDueMs(): number {
    return this.#queue.dueMs(this.#queue.first());
  }

  /**
   * The next signal to read now, or `NONE`. Whoever is returned is due again after its interval, observed or not.
   * @param slackMs reads what is due within this time, too: half the tick of a caller that works by a fixed timer
   */
  nextDue(nowMs: number, slackMs = 0): SignalId {
    const horizonMs = nowMs + slackMs;
    if (!Number.isFinite(horizonMs)) return NONE;
    const id = this.#queue.first();
    if (id === -1 || !(this.#queue.dueMs(id) <= horizonMs)) return NONE;
    this.#queue.set(id, horizonMs + this.#row.at(id).intervalSeconds * 1e3);
    return id;
  }

  /**
   * Takes a reading.
   * @param value the counter's total or the gauge's level as read
   * @param costSeconds CPU seconds the read took, when measured
   * @returns when the signal is due next, ms
   */
  observe(id: SignalId, value: number, nowMs: number, costSeconds?: number): number {
    if (!this.has(id)) return Infinity;
    const row = this.#row.at(id);
    this.#charge(row, costSeconds);
    if (!(Math.abs(value) <= MOST_VALUE) || !(Math.abs(nowMs) <= MOST_MS)) return this.#reject(id, row);
    if (Number.isNaN(row.lastMs)) return this.#restart(id, row, value, nowMs);
    const gapSeconds = (nowMs - row.lastMs) / 1e3;
    if (gapSeconds < 0) return this.#restart(id, row, value, nowMs);
    if (!(gapSeconds >= row.minSeconds * SHORTEST_BASE)) return this.#reject(id, row);
    if (row.isGauge === 0 && value < row.lastValue) {
      row.resets += 1;
      return this.#restart(id, row, value, nowMs);
    }
    return this.#take(id, row, value, nowMs);
  }

  /** Says that a read failed: the signal is tried again after its interval. */
  failed(id: SignalId, nowMs: number): void {
    if (!this.has(id) || !Number.isFinite(nowMs)) return;
    const row = this.#row.at(id);
    row.rejected += 1;
    this.#queue.set(id, nowMs + row.intervalSeconds * 1e3);
  }

  /** A guard saw movement: every signal of these channels is read as soon as its shortest interval allows. */
  wake(channels: number, nowMs: number): void {
    if (!Number.isFinite(nowMs)) return;
    for (let id = 0; id < this.#table.rows; id += 1) {
      const row = this.#row.at(id);
      if (row.live === 0 || (row.channels & channels) === 0) continue;
      this.#rouse(id, row, nowMs);
    }
  }

  /**
   * Holds the planned cost to the budget by stretching the intervals that buy least; call it every few seconds. Signals whose
   * interval is fixed, such as guards, cannot be stretched: the others share what these leave of the budget, but at least half
   * of it, so that costly guards do not send everything else to its longest interval.
   */
  rebalance(): void {
    const fixed = this.#fixedCost();
    const budget = Math.max(this.#budget - fixed, LEAST_BUDGET_SHARE * this.#budget);
    this.#stretch = budgetStretch((stretch) => this.#plannedCost(stretch) - fixed, budget, this.#stretch);
  }

  /** A copy of what is known of a signal; undefined for an unknown id. */
  state(id: SignalId): SignalState | undefined {
    if (!this.has(id)) return undefined;
    return signalState(this.#row.at(id), this.#queue.dueMs(id));
  }

  /** Sums over all signals. */
  totals(): SamplerState {
    let stretched = 0;
    for (let id = 0; id < this.#table.rows; id += 1) {
      const row = this.#row.at(id);
      if (row.live === 1 && this.#stretched(row, row.wantedSeconds, this.#stretch) > row.wantedSeconds)
        stretched += 1;
    }
    return {
      signals: this.#count,
      plannedCostRatio: this.#plannedCost(this.#stretch),
      costBudgetRatio: this.#budget,
      stretchedSignals: stretched,
    };
  }

  #charge(row: Row, costSeconds: number | undefined): void {
    if (costSeconds !== undefined && costSeconds >= 0 && costSeconds <= MOST_COST_SECONDS) {
      const counted = Math.min(costSeconds, COST_CLIP * row.costSeconds + COST_CLIP_SECONDS);
      row.costSeconds += COST_WEIGHT * (counted - row.costSeconds);
      row.costTotalSeconds += costSeconds;
    } else {
      row.costTotalSeconds += row.costSeconds;
    }
  }

  #reject(id: SignalId, row: Row): number {
    row.rejected += 1;
    return this.#queue.dueMs(id);
  }

  /** First reading, or first after a reset or a step back of the clock: nothing to form a rate from. */
  #restart(id: SignalId, row: Row, value: number, nowMs: number): number {
    row.rate = row.isGauge === 1 ? value : Number.NaN;
    row.gapSeconds = row.minSeconds;
    row.difference = Number.NaN;
    row.settling = 0;
    return this.#schedule(id, row, value, nowMs);
  }

  #take(id: SignalId, row: Row, value: number, nowMs: number): number {
    const gapSeconds = (nowMs - row.lastMs) / 1e3;
    const rate = row.isGauge === 1 ? value : (value - row.lastValue) / gapSeconds;
    const mayHaveJumped = row.awake === 1 && row.settling === 0 && !Number.isNaN(row.rate);
    const suspected = mayHaveJumped && underSuspicion(row, rate, gapSeconds);
    const beforeRate = row.rate;
    const jumped = learn(row, rate, gapSeconds, this.#terms);
    if (suspected && !jumped) settleNext(row, beforeRate);
    return this.#schedule(id, row, value, nowMs);
  }

  #schedule(id: SignalId, row: Row, value: number, nowMs: number): number {
    row.lastMs = nowMs;
    row.lastValue = value;
    row.awake = 0;
    row.samples += 1;
    const wanted = wantedSeconds(row, this.#terms);
    row.wantedSeconds = nowMs < row.askedUntilMs ? Math.min(wanted, row.askedSeconds) : wanted;
    row.intervalSeconds = this.#stretched(row, row.wantedSeconds, this.#stretch);
    const dueMs = this.#moments.dueMs(row, nowMs);
    this.#queue.set(id, dueMs);
    return dueMs;
  }

  #rouse(id: SignalId, row: Row, nowMs: number): void {
    row.awake = 1;
    const earliestMs = Number.isNaN(row.lastMs) ? nowMs : row.lastMs + row.minSeconds * 1e3;
    this.#queue.set(id, Math.min(this.#queue.dueMs(id), Math.max(nowMs, earliestMs)));
  }

  #stretched(row: Row, seconds: number, stretch: number): number {
    if (stretch === 0) return seconds;
    const costPerWeight = Math.max(row.costSeconds, LEAST_COST_SECONDS) / row.weight;
    return stretchedSeconds(seconds, stretch, costPerWeight, row.maxSeconds);
  }

  /** CPU seconds per second of the signals whose interval is fixed. */
  #fixedCost(): number {
    let cost = 0;
    for (let id = 0; id < this.#table.rows; id += 1) {
      const { live, minSeconds, maxSeconds, costSeconds } = this.#row.at(id);
      if (live === 1 && minSeconds === maxSeconds) cost += costSeconds / minSeconds;
    }
    return cost;
  }

  #plannedCost(stretch: number): number {
    let cost = 0;
    for (let id = 0; id < this.#table.rows; id += 1) {
      const row = this.#row.at(id);
      if (row.live === 1) cost += row.costSeconds / this.#stretched(row, row.wantedSeconds, stretch);
    }
    return cost;
  }
}
