import type { Clock } from "@tradewind/core/process/clock.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { PlanAge } from "./plan-age.ts";
import type { PlanAgeOptions } from "./plan-age.ts";
import { PlanClient } from "./plan-client.ts";
import type { PlanClientOptions, Question, Reply } from "./plan-client.ts";
import { readPlan, readWish } from "./read-plan.ts";
import type { ReadPlan } from "./read-plan.ts";

/** A plan with when it was made, on our monotonic clock. */
export interface FetchedPlan {
  readonly header: ReadPlan["header"];
  /** Each is given once. */
  readonly wishes: Iterable<unknown>;
  readonly madeMs: number;
}

/** Where plans come from: one predictor, or the best of several. */
export interface PlanFetcher {
  /** The address without credentials, for messages. */
  readonly address: string;
  /**
   * @returns the newest plan, or null when it is the same as last time
   * @throws TradewindError; its code says what is wrong and is a metric label
   */
  fetch(stopping: AbortSignal): Promise<FetchedPlan | null>;
  /**
   * A model that the plan in use names, as text.
   * @throws TradewindError as {@link fetch}
   */
  model(hash: string, stopping: AbortSignal): Promise<string>;
  /**
   * Asks the predictor whose plan is in use.
   * @throws TradewindError as {@link fetch}
   */
  answer(question: Question, stopping: AbortSignal): Promise<Reply>;
  /** Says something to every predictor that is known, and never throws: each answer, or why there is none. */
  tell(question: Question, stopping: AbortSignal): Promise<readonly (Reply | Error)[]>;
  /** Age of the plan in use when a newer one should have come already; else undefined. ms */
  overdueMs(): number | undefined;
  /** Forgets the last plan, so that the next fetch gives it again. */
  forgetLast(): void;
  close(): Promise<void>;
}

export interface OnePredictorOptions extends PlanAgeOptions, PlanClientOptions {}

/** What {@link OnePredictor} asks by. */
export type PlanAsker = Pick<
  PlanClient,
  "address" | "ask" | "close" | "fetch" | "forgetLast" | "header" | "model"
>;

/** Wishes looked at to tell whether a plan can be read at all. */
const MAX_TRIED_WISHES = 100;

/** One predictor, and how old its newest plan is. */
export class OnePredictor implements PlanFetcher {
  readonly #client: PlanAsker;
  readonly #age: PlanAge;
  readonly #clock: Clock;
  readonly #place: PlanClientOptions["place"];
  /** The newest plan, when it cannot be read, and why. */
  #unreadable: { readonly tag: string; readonly error: TradewindError } | undefined;

  /** @param client what asks; default: one that speaks HTTP */
  constructor(
    predictor: string,
    options: OnePredictorOptions,
    client: PlanAsker = new PlanClient(predictor, options),
  ) {
    this.#client = client;
    this.#age = new PlanAge(options);
    this.#clock = options.clock;
    this.#place = options.place;
  }

  get address(): string {
    return this.#client.address;
  }

  /** Asks for the newest plan without its wishes. @throws as {@link fetch} */
  async header(stopping: AbortSignal): Promise<ReadPlan["header"]> {
    const askedMs = this.#clock.monotonicMs();
    const { header } = this.#read(await this.#client.header(stopping));
    this.#age.see(header, askedMs);
    // The same plan is not fetched again only to find that it cannot be read.
    if (this.#unreadable?.tag === tagOf(header)) throw this.#unreadable.error;
    return header;
  }

  async fetch(stopping: AbortSignal): Promise<FetchedPlan | null> {
    const askedMs = this.#clock.monotonicMs();
    const body = await this.#client.fetch(stopping);
    if (body === null) {
      if (this.#unreadable !== undefined) throw this.#unreadable.error;
      this.#age.seeAgain(askedMs);
      return null;
    }
    this.#unreadable = undefined;
    const plan = this.#read(body);
    const madeMs = this.#age.see(plan.header, askedMs);
    const error = unreadable(plan, this.address);
    if (error !== undefined) {
      this.#unreadable = { tag: tagOf(plan.header), error };
      throw error;
    }
    return { header: plan.header, wishes: givenOnce(plan.wishes), madeMs };
  }

  async model(hash: string, stopping: AbortSignal): Promise<string> {
    return (await this.#client.model(hash, stopping)).toString("utf8");
  }

  async answer(question: Question, stopping: AbortSignal): Promise<Reply> {
    return this.#client.ask(question, stopping);
  }

  async tell(question: Question, stopping: AbortSignal): Promise<readonly (Reply | Error)[]> {
    const reply = await this.answer(question, stopping).catch((error: unknown) =>
      error instanceof Error ? error : new Error(String(error)),
    );
    return [reply];
  }

  ageMs(): number | undefined {
    return this.#age.ageMs();
  }

  overdueMs(): number | undefined {
    return this.#age.overdueMs();
  }

  forgetLast(): void {
    this.#client.forgetLast();
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #read(body: Buffer): ReadPlan {
    const plan = readPlan(body, `plan from ${this.address}`);
    const { application, namespace } = plan.header;
    const place = this.#place;
    if (place === undefined || (place.name === application && place.namespace === namespace)) return plan;
    throw new TradewindError(
      "other-application",
      `${this.address} gave the plan of '${namespace}/${application}'`,
    );
  }
}

/** Lets go of each as it is given, so that a plan of thousands of services makes room for the decisions that come of it. */
function* givenOnce(values: unknown[]): Generator {
  for (const [index, value] of values.entries()) {
    values[index] = undefined;
    yield value;
  }
}

const tagOf = ({ predictorStartedAtMs, sequence }: ReadPlan["header"]): string =>
  `${predictorStartedAtMs} ${sequence}`;

/** A plan of another release may have a header that we can read and not one wish. */
function unreadable({ wishes }: ReadPlan, address: string): TradewindError | undefined {
  let tried = 0;
  let reason: string | undefined;
  for (const value of wishes) {
    const wish = readWish(value);
    if (!("rejected" in wish)) return undefined;
    reason ??= wish.rejected.reason;
    tried += 1;
    if (tried === MAX_TRIED_WISHES) break;
  }
  if (reason === undefined) return undefined;
  return new TradewindError(
    "unreadable",
    `none of the first ${tried} wishes of the plan from ${address} can be read (${reason}); is it of another release?`,
  );
}
