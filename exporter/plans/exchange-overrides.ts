import { OverrideAnswer } from "@tradewind/core/contract/override.ts";
import type { OverrideExchange } from "@tradewind/core/contract/override.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { LastingProblem } from "@tradewind/core/process/lasting-problem.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { readWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Reply } from "./plan-client.ts";
import type { PlanFetcher } from "./plan-fetcher.ts";

/** Another scaler hears within two of these what one was told. ms */
const EVERY_MS = 1_500;
/** A predictor of an earlier release, or one that does not take them, is asked again after this time. ms */
const AGAIN_MS = 30_000;
const DEADLINE_MS = 5_000;
/** Predictors take no larger body. What counts for each service matters more than what other scalers could hear. */
const MOST_BYTES = 250_000;

export interface ExchangeEdges {
  readonly fetcher: Pick<PlanFetcher, "tell">;
  /** What is said of this application; undefined while it is not known which one it is. */
  readonly said: () => OverrideExchange | undefined;
  /** Takes what other scalers said, and what annotations of workloads order. Never throws. */
  readonly onHeard: (heard: OverrideAnswer) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Tells the predictors of one application what people ordered, so that they plan around it, and hears what other scalers were told. */
export class OverrideExchanger {
  readonly #edges: ExchangeEdges;
  readonly #problem: LastingProblem;
  #dueMs = Number.NEGATIVE_INFINITY;
  #isBusy = false;

  constructor(edges: ExchangeEdges) {
    this.#edges = edges;
    this.#problem = new LastingProblem(edges.log, () => edges.clock.monotonicMs());
  }

  /** Call it with each poll of a predictor; it never holds one up, and never throws. */
  async look(): Promise<void> {
    const { clock, fetcher, said } = this.#edges;
    const words = this.#isBusy || clock.monotonicMs() < this.#dueMs ? undefined : said();
    if (words === undefined) return;
    this.#isBusy = true;
    this.#dueMs = clock.monotonicMs() + EVERY_MS;
    const question = { path: "/v1/overrides", query: {}, body: bodyOf(words) };
    const problems: string[] = [];
    for (const told of await fetcher.tell(question, AbortSignal.timeout(DEADLINE_MS))) {
      const problem = await this.#heard(told);
      if (problem !== undefined) problems.push(problem);
    }
    this.#isBusy = false;
    // Without an override nothing is missing.
    if (problems.length === 0 || words.overrides.length === 0) this.#problem.over();
    else this.#problem.found("refused", { problem: problems.join("; ").slice(0, 1_000) }, MESSAGE);
  }

  async #heard(told: Reply | Error): Promise<string | undefined> {
    const { clock, onHeard } = this.#edges;
    try {
      if (told instanceof Error) throw told;
      // One that does not take them would be asked in vain.
      if (told.status !== 200) this.#dueMs = clock.monotonicMs() + AGAIN_MS;
      if (told.status !== 200)
        throw new TradewindError("status", `a predictor answered ${told.status} to overrides`);
      const body: unknown = JSON.parse(told.body.toString("utf8"));
      await onHeard(readWith(OverrideAnswer, body, "overrides of a predictor"));
      return undefined;
    } catch (error) {
      return describeError(error);
    }
  }
}

const MESSAGE =
  "a predictor does not plan around overrides; the guard keeps to them all the same; give --predictor-token-file a token with the scope 'override'";

function bodyOf(words: OverrideExchange): Buffer {
  const whole = Buffer.from(JSON.stringify(words));
  return whole.length <= MOST_BYTES ? whole : Buffer.from(JSON.stringify({ ...words, overrides: [] }));
}
