import { AddressFollower } from "@tradewind/core/addresses.ts";
import type { Lookup } from "@tradewind/core/addresses.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { PlanClient } from "./plan-client.ts";
import type { FetchedPlan, PlanFetcher } from "./plan-client.ts";
import { rankPredictors } from "./rank-predictors.ts";
import type { PredictorFacts } from "./rank-predictors.ts";
import { readPlan } from "./read-plan.ts";

export interface PredictorChoiceOptions {
  /** `http://host:port` or `dns+http://name:port`; the predictor beside this exporter among them. */
  readonly targets: readonly string[];
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
  readonly resolveEveryMs?: number;
  readonly patienceMs?: number;
}

interface Candidate {
  readonly client: PlanClient;
  facts: PredictorFacts | undefined;
  /** Monotonic time of its last answer. */
  answeredMs: number;
  /** Whether it answered the last time it was asked. */
  answers: boolean;
  problem: string | undefined;
}

const RESOLVE_MS = 5_000;
/** The predictor in use may miss a few polls before another takes its place. */
const PATIENCE_MS = 5_000;

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

  async fetch(stopping: AbortSignal): Promise<FetchedPlan> {
    this.started ??= this.follower.start();
    await this.started;
    this.meet(this.follower.current());
    await Promise.all([...this.candidates.values()].map(async (each) => this.ask(each, stopping)));
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
      }
    }
    throw problem ?? this.nobody();
  }

  forgetLast(): void {
    for (const { client } of this.candidates.values()) client.forgetLast();
  }

  async close(): Promise<void> {
    this.follower.stop();
    await Promise.all([...this.candidates.values()].map(async ({ client }) => client.close()));
  }

  private meet(addresses: readonly string[]): void {
    for (const [address, { client }] of this.candidates) {
      if (addresses.includes(address)) continue;
      this.candidates.delete(address);
      void client.close();
    }
    for (const address of addresses) {
      if (this.candidates.has(address)) continue;
      this.candidates.set(address, {
        client: new PlanClient(address, this.options.deadlineMs),
        facts: undefined,
        answeredMs: Number.NEGATIVE_INFINITY,
        answers: false,
        problem: undefined,
      });
    }
  }

  private async ask(candidate: Candidate, stopping: AbortSignal): Promise<void> {
    const { client } = candidate;
    try {
      const body = await client.header(stopping);
      const { clock } = this.options;
      const { header } = await readPlan(body, `plan from ${client.address}`, () => clock.monotonicMs());
      candidate.facts = {
        address: client.base,
        startedAtMs: header.predictorStartedAtMs,
        plannedAtMs: header.plannedAtMs,
        windowSeconds: header.windowSeconds,
        complete: header.complete !== false,
      };
      candidate.answeredMs = this.options.clock.monotonicMs();
      candidate.answers = true;
      candidate.problem = undefined;
    } catch (error) {
      candidate.answers = false;
      candidate.problem = describeError(error);
    }
  }

  private eligible(nowMs: number, patienceMs: number): PredictorFacts[] {
    return [...this.candidates.values()].flatMap(({ answeredMs, answers, facts }) =>
      facts !== undefined && (answers || nowMs - answeredMs <= patienceMs) ? [facts] : [],
    );
  }

  private async take(address: string, { client }: Candidate, stopping: AbortSignal): Promise<FetchedPlan> {
    const isOther = this.chosen !== undefined && this.chosen !== address;
    // What this one said before somebody else was in use is not what is in force now.
    if (this.chosen !== address) client.forgetLast();
    const plan = await client.fetch(stopping);
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
