import { AddressFollower } from "@tradewind/core/net/addresses.ts";
import type { Lookup } from "@tradewind/core/net/addresses.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { OnePredictor } from "./plan-fetcher.ts";
import type { FetchedPlan, OnePredictorOptions, PlanFetcher } from "./plan-fetcher.ts";
import { rankPredictors } from "./rank-predictors.ts";
import type { PredictorFacts } from "./rank-predictors.ts";
import { isConnectionProblem } from "./plan-client.ts";
import type { Question, Reply } from "./plan-client.ts";

export interface PredictorChoiceOptions extends OnePredictorOptions {
  /** `http://host:port` or `dns+http://name:port`; the predictor beside this exporter among them. */
  readonly targets: readonly string[];
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
  readonly resolveEveryMs?: number;
  readonly patienceMs?: number;
  /** Hears, at each poll, of every predictor that answers and whose plan must not be used, and of one that is overdue. */
  readonly onRefused?: (problem: string) => void;
}

interface Candidate {
  readonly predictor: OnePredictor;
  facts: Omit<PredictorFacts, "overdue"> | undefined;
  /** Monotonic time of its last answer. */
  answeredMs: number;
  /** Whether it gave a usable answer the last time it was asked. */
  answers: boolean;
  problem: string | undefined;
}

const RESOLVE_MS = 5_000;
/** The predictor in use may miss a few polls before another takes its place. */
export const PATIENCE_MS = 5_000;

/**
 * Takes the plan of one predictor among several, by the same rule in every exporter ({@link rankPredictors}), so that all
 * exporters serve the same numbers. Any predictor that answers is better than none, last of all the one beside.
 */
export class PredictorChoice implements PlanFetcher {
  private readonly options: PredictorChoiceOptions;
  private readonly follower: AddressFollower;
  private readonly candidates = new Map<string, Candidate>();
  private started: Promise<void> | undefined;
  private chosen: string | undefined;
  private switches = 0;

  constructor(options: PredictorChoiceOptions) {
    this.options = options;
    this.follower = new AddressFollower({
      targets: options.targets,
      everyMs: options.resolveEveryMs ?? RESOLVE_MS,
      log: options.log,
      lookup: options.lookup,
    });
  }

  /** The predictor in use, else what was asked for. */
  get address(): string {
    return this.chosen ?? this.options.targets.join(", ");
  }

  /** Predictors that answered the last time they were asked, and how often another was taken. */
  health(): { readonly answering: number; readonly known: number; readonly switches: number } {
    const answering = [...this.candidates.values()].filter(({ answers }) => answers).length;
    return { answering, known: this.candidates.size, switches: this.switches };
  }

  overdueMs(): number | undefined {
    return this.candidates.get(this.chosen ?? "")?.predictor.overdueMs();
  }

  async fetch(stopping: AbortSignal): Promise<FetchedPlan | null> {
    this.started ??= this.follower.start();
    await this.started;
    this.meet(this.follower.current());
    await Promise.all([...this.candidates].map(async ([at, each]) => this.ask(at, each, stopping)));
    const nowMs = this.options.clock.monotonicMs();
    const patienceMs = this.options.patienceMs ?? PATIENCE_MS;
    let problem: Error | undefined;
    for (const { address } of rankPredictors(this.eligible(nowMs, patienceMs))) {
      const candidate = this.candidates.get(address);
      if (candidate === undefined) continue;
      if (!candidate.answers) {
        // Nothing new from the one in use: its last plan stands for as long as patience lasts.
        if (address === this.chosen) return null;
        continue;
      }
      try {
        return await this.take(address, candidate, stopping);
      } catch (error) {
        problem = error instanceof Error ? error : undefined;
        this.refused(candidate, error);
      }
    }
    throw problem ?? this.nobody();
  }

  async model(hash: string, stopping: AbortSignal): Promise<string> {
    const candidate = this.candidates.get(this.chosen ?? "");
    if (candidate === undefined) throw this.nobody();
    return candidate.predictor.model(hash, stopping);
  }

  async answer(question: Question, stopping: AbortSignal): Promise<Reply> {
    const candidate = this.candidates.get(this.chosen ?? "");
    if (candidate === undefined) throw this.nobody();
    return candidate.predictor.answer(question, stopping);
  }

  async tell(question: Question, stopping: AbortSignal): Promise<readonly (Reply | Error)[]> {
    const answering = [...this.candidates.values()].filter(({ answers }) => answers);
    const all = await Promise.all(answering.map(async ({ predictor }) => predictor.tell(question, stopping)));
    return all.flat();
  }

  forgetLast(): void {
    for (const { predictor } of this.candidates.values()) predictor.forgetLast();
  }

  async close(): Promise<void> {
    this.follower.stop();
    await Promise.all([...this.candidates.values()].map(async ({ predictor }) => predictor.close()));
  }

  private meet(addresses: readonly string[]): void {
    for (const [address, { predictor }] of this.candidates) {
      if (addresses.includes(address)) continue;
      this.candidates.delete(address);
      void predictor.close();
    }
    for (const address of addresses) {
      if (this.candidates.has(address)) continue;
      const serverName = this.options.serverName ?? this.follower.nameOf(address);
      this.candidates.set(address, {
        predictor: new OnePredictor(address, { ...this.options, serverName }),
        facts: undefined,
        answeredMs: Number.NEGATIVE_INFINITY,
        answers: false,
        problem: undefined,
      });
    }
  }

  private async ask(address: string, candidate: Candidate, stopping: AbortSignal): Promise<void> {
    const { predictor } = candidate;
    try {
      const { complete, predictorStartedAtMs } = await predictor.header(stopping);
      candidate.facts = { address, startedAtMs: predictorStartedAtMs, complete: complete !== false };
      candidate.answeredMs = this.options.clock.monotonicMs();
      candidate.answers = true;
      candidate.problem = undefined;
      if (predictor.overdueMs() !== undefined) this.options.onRefused?.("overdue");
    } catch (error) {
      candidate.answers = false;
      this.refused(candidate, error);
    }
  }

  private refused(candidate: Candidate, error: unknown): void {
    const problem = describeError(error);
    const isNew = problem !== candidate.problem;
    candidate.problem = problem;
    if (!(error instanceof TradewindError) || isConnectionProblem(error.code)) return;
    this.options.onRefused?.(error.code);
    if (isNew) this.options.log.warn({ problem }, "the plan of this predictor is not used");
  }

  private eligible(nowMs: number, patienceMs: number): PredictorFacts[] {
    return [...this.candidates.values()].flatMap(({ answeredMs, answers, facts, predictor }) =>
      facts !== undefined && (answers || nowMs - answeredMs <= patienceMs)
        ? [{ ...facts, overdue: predictor.overdueMs() !== undefined }]
        : [],
    );
  }

  private async take(
    address: string,
    { predictor }: Candidate,
    stopping: AbortSignal,
  ): Promise<FetchedPlan | null> {
    const isOther = this.chosen !== undefined && this.chosen !== address;
    // What this one said before somebody else was in use is not what is in force now.
    if (this.chosen !== address) predictor.forgetLast();
    const plan = await predictor.fetch(stopping);
    if (isOther) {
      this.switches += 1;
      this.options.log.info({ from: this.chosen, to: address }, "taking another predictor's plan");
    }
    this.chosen = address;
    return plan;
  }

  private nobody(): TradewindError {
    const problems = [...this.candidates.values()].map(({ problem }) => problem ?? "not asked yet");
    const [first = "no address is known for it"] = problems;
    const more = problems.length > 1 ? `; and ${problems.length - 1} more` : "";
    return new TradewindError("connection", `no predictor answers: ${first}${more}`);
  }
}
