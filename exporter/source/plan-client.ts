import { Agent, request } from "undici";
import { TradewindError } from "@tradewind/core/errors.ts";

const MAX_PLAN_BYTES = 64 * 2 ** 20;

/** Why a plan could not be fetched; also a metric label. */
export type FetchProblem = "connection" | "timeout" | "status" | "too-large";

/** The body of a plan, or null when it is the same as last time. */
export type FetchedPlan = string | null;

/** Fetches `GET /v1/plan`, over one kept connection, never longer than the deadline. */
export class PlanClient {
  readonly #url: URL;
  readonly #deadlineMs: number;
  readonly #agent = new Agent({ connections: 1, maxResponseSize: MAX_PLAN_BYTES });
  #entityTag: string | undefined;
  #lastBody: string | undefined;

  constructor(predictor: string, deadlineMs: number) {
    this.#url = new URL("/v1/plan", predictor);
    this.#deadlineMs = deadlineMs;
  }

  /** The address without credentials, for messages. */
  get address(): string {
    return `${this.#url.origin}${this.#url.pathname}`;
  }

  /** @throws TradewindError with a {@link FetchProblem} as code */
  async fetch(stopping: AbortSignal): Promise<FetchedPlan> {
    const deadline = AbortSignal.timeout(this.#deadlineMs);
    try {
      const response = await request(this.#url, {
        dispatcher: this.#agent,
        signal: AbortSignal.any([deadline, stopping]),
        headers: {
          accept: "application/json",
          ...(this.#entityTag === undefined ? {} : { "if-none-match": this.#entityTag }),
        },
      });
      if (response.statusCode !== 200) {
        await response.body.dump();
        if (response.statusCode === 304 && this.#lastBody !== undefined) return null;
        throw new TradewindError("status", `${this.address} answered ${response.statusCode}`);
      }
      const body = await response.body.text();
      const { etag } = response.headers;
      this.#entityTag = typeof etag === "string" ? etag : undefined;
      if (body === this.#lastBody) return null;
      this.#lastBody = body;
      return body;
    } catch (error) {
      if (error instanceof TradewindError) throw error;
      throw new TradewindError(problemOf(error, deadline), `no plan from ${this.address}`, { cause: error });
    }
  }

  /** Forgets the last body, so that the next fetch gives it again. */
  forgetLast(): void {
    this.#lastBody = undefined;
    this.#entityTag = undefined;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function problemOf(error: unknown, deadline: AbortSignal): FetchProblem {
  if (deadline.aborted) return "timeout";
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "UND_ERR_RES_EXCEEDED_MAX_SIZE" ? "too-large" : "connection";
}
