import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "@tradewind/core/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import type { PlanFetcher } from "./plan-client.ts";
import { readPlan } from "./read-plan.ts";
import type { ReadPlan } from "./read-plan.ts";

/** While polls fail, the pause doubles up to this many times the usual one. */
const MAX_BACKOFF = 5;

/** What the last poll came to, and the last plan that was taken. */
export interface PlanSourceStatus {
  readonly reachable: boolean;
  readonly problem?: string;
  readonly plan?: ReadPlan["header"];
}

/** Who wants to hear of polls. */
export interface PlanListener {
  /** A new plan; the next poll waits until it is dealt with. */
  onPlan(plan: ReadPlan): Promise<void>;
  /** Every poll: `ok`, `unchanged`, or the code of the problem. */
  onPoll(result: string): void;
}

/**
 * Asks the predictor for its plan every second, with backoff and jitter while it fails. It runs beside the answers and
 * never in their way: whatever the predictor does, they come from memory.
 */
export class PlanSource {
  readonly #client: PlanFetcher;
  readonly #listener: PlanListener;
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #log: Logger;
  readonly #staleAfterMs: number;
  readonly #pollMs: number;
  readonly #stopping = new AbortController();
  readonly #firstPoll = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #status: PlanSourceStatus;

  constructor(
    client: PlanFetcher,
    listener: PlanListener,
    options: { clock: Clock; rng: Rng; log: Logger; staleAfterSeconds: number; pollMs: number },
  ) {
    this.#client = client;
    this.#listener = listener;
    this.#clock = options.clock;
    this.#rng = options.rng;
    this.#log = options.log;
    this.#pollMs = options.pollMs;
    this.#staleAfterMs = options.staleAfterSeconds * 1e3;
    this.#status = { reachable: false, problem: `no plan from ${client.address} yet` };
  }

  get status(): PlanSourceStatus {
    return this.#status;
  }

  /** @returns what resolves after the first poll, whatever it came to */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#firstPoll.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#client.close();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      const startedMs = this.#clock.monotonicMs();
      failures = (await this.#poll()) ? 0 : failures + 1;
      this.#firstPoll.resolve();
      const pauseMs =
        failures === 0
          ? this.#pollMs - (this.#clock.monotonicMs() - startedMs)
          : this.#pollMs * Math.min(MAX_BACKOFF, 2 ** (failures - 1)) * (0.5 + this.#rng() / 2);
      await delay(Math.max(0, pauseMs), undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  async #poll(): Promise<boolean> {
    try {
      const body = await this.#client.fetch(this.#stopping.signal);
      if (body !== null) await this.#take(body);
      if (!this.#status.reachable) this.#log.info({ predictor: this.#client.address }, "predictor answers");
      this.#status = { ...this.#planPart(), reachable: true };
      this.#listener.onPoll(body === null ? "unchanged" : "ok");
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      this.#client.forgetLast();
      const problem = describeError(error).slice(0, 1_000);
      if (this.#status.problem !== problem)
        this.#log.warn({ problem }, "no new plan; decisions stay as they are");
      this.#status = { ...this.#planPart(), reachable: false, problem };
      this.#listener.onPoll(error instanceof TradewindError ? error.code : "internal");
      return false;
    }
  }

  #planPart(): Pick<PlanSourceStatus, "plan"> {
    return this.#status.plan === undefined ? {} : { plan: this.#status.plan };
  }

  async #take(body: Buffer): Promise<void> {
    const what = `plan from ${this.#client.address}`;
    const plan = await readPlan(body, what, () => this.#clock.monotonicMs());
    this.#refuseOldPlans(plan.header);
    await this.#listener.onPlan(plan);
    this.#status = { ...this.#status, plan: plan.header };
  }

  /** A predictor counts its plans up; a late answer must not undo a newer one, nor an old plan look new. */
  #refuseOldPlans({ predictorStartedAtMs, sequence, plannedAtMs }: ReadPlan["header"]): void {
    const last = this.#status.plan;
    if (last?.predictorStartedAtMs === predictorStartedAtMs && sequence < last.sequence) {
      throw new TradewindError("out-of-order", `plan ${sequence} came after plan ${last.sequence}`);
    }
    const ageMs = this.#clock.nowMs() - plannedAtMs;
    if (ageMs > this.#staleAfterMs) {
      throw new TradewindError(
        "stale",
        `the predictor's newest plan is ${Math.round(ageMs / 1e3)} s old; see its log, or its clock`,
      );
    }
  }
}
