import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { LastingProblem } from "@tradewind/core/process/lasting-problem.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { Question, Reply } from "./plan-client.ts";
import type { FetchedPlan, PlanFetcher } from "./plan-fetcher.ts";

/** While polls fail, the pause doubles up to this many times the usual one. */
const MAX_BACKOFF = 5;
/** A predictor that starts has its first plan after two windows, which are 15 s by default, and a grace. */
const FIRST_PLAN_MS = 60_000;

/** What the last poll came to, and the last plan that was taken. */
export interface PlanSourceStatus {
  readonly reachable: boolean;
  /** Why the poll gave no new plan although one was due. */
  readonly problem?: string;
  readonly plan?: FetchedPlan["header"];
  /** When that plan was made, on our monotonic clock. */
  readonly madeMs?: number;
  /** When a poll last gave a plan or that nothing is new, on our monotonic clock; absent before the first. */
  readonly answeredMs?: number;
}

/** Who wants to hear of polls. */
export interface PlanListener {
  /** A new plan; the next poll waits until it is dealt with. */
  onPlan(plan: FetchedPlan): Promise<void>;
  /** Every poll: `ok`, `unchanged`, `overdue` when a newer plan should have come, or the code of the problem. */
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
  readonly #pollMs: number;
  readonly #silence: LastingProblem;
  readonly #stopping = new AbortController();
  readonly #firstPoll = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #status: PlanSourceStatus;

  constructor(
    client: PlanFetcher,
    listener: PlanListener,
    options: { clock: Clock; rng: Rng; log: Logger; pollMs: number },
  ) {
    this.#client = client;
    this.#listener = listener;
    this.#clock = options.clock;
    this.#rng = options.rng;
    this.#log = options.log;
    this.#pollMs = options.pollMs;
    this.#silence = new LastingProblem(options.log, () => options.clock.monotonicMs(), FIRST_PLAN_MS);
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

  /** Asks the predictor whose plan is in use. @throws TradewindError as {@link PlanFetcher.fetch} */
  async ask(question: Question): Promise<Reply> {
    return this.#client.answer(question, this.#stopping.signal);
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
      const plan = await this.#client.fetch(this.#stopping.signal);
      if (plan !== null) await this.#take(plan);
      this.#silence.over();
      if (!this.#status.reachable) this.#log.info({ predictor: this.#client.address }, "predictor answers");
      this.#answered(plan === null ? "unchanged" : "ok");
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      this.#client.forgetLast();
      const problem = describeError(error).slice(0, 1_000);
      this.#silence.found(problem, { problem }, "no new plan; decisions stay as they are");
      this.#status = { ...this.#lasting(), reachable: false, problem };
      this.#listener.onPoll(error instanceof TradewindError ? error.code : "internal");
      return false;
    }
  }

  #answered(result: "ok" | "unchanged"): void {
    this.#status = { ...this.#status, answeredMs: this.#clock.monotonicMs() };
    const overdueMs = this.#client.overdueMs();
    if (overdueMs === undefined) {
      this.#status = { ...this.#lasting(), reachable: true };
      this.#listener.onPoll(result);
      return;
    }
    const problem = `${this.#client.address} answers, but its newest plan is ${Math.round(overdueMs / 1e3)} s old`;
    if (this.#status.problem === undefined) this.#log.warn({ problem }, "a newer plan is overdue");
    this.#status = { ...this.#lasting(), reachable: true, problem };
    this.#listener.onPoll("overdue");
  }

  #lasting(): Pick<PlanSourceStatus, "answeredMs" | "plan" | "madeMs"> {
    const { answeredMs, madeMs, plan } = this.#status;
    return {
      ...(answeredMs !== undefined && { answeredMs }),
      ...(plan !== undefined && madeMs !== undefined && { plan, madeMs }),
    };
  }

  async #take(plan: FetchedPlan): Promise<void> {
    await this.#listener.onPlan(plan);
    this.#status = { ...this.#status, plan: plan.header, madeMs: plan.madeMs };
  }
}
