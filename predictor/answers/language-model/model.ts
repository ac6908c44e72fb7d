import { TradewindError } from "@tradewind/core/values/errors.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import { z } from "zod";
import { AnswerForm } from "../reason/grammar.ts";
import { messagesOf } from "../reason/prompt.ts";
import type { Prompt } from "../reason/prompt.ts";

const ATTEMPTS = 2;
const MOST_ANSWER_BYTES = 1_048_576;
/** A model that thinks first needs most of them for that. */
const MOST_TOKENS = 4_000;
/** A server that knows no schema of an answer refuses the request with one of these. */
const NO_SCHEMA_STATUSES: ReadonlySet<number | undefined> = new Set([400, 404, 415, 422, 501]);

/** For servers that hold a model to a schema; what it answers is read as any other answer. */
const RESPONSE_FORMAT = {
  type: "json_schema",
  json_schema: { name: "judgement", schema: z.toJSONSchema(AnswerForm) },
};
const DAY_MS = 86_400_000;

export interface ModelOptions {
  /** Base address of an OpenAI-compatible API, for example `https://models.example/v1`. */
  readonly url: string;
  readonly model: string;
  /** File with the key; absent: none is sent. */
  readonly keyFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly requestsPerDay: number;
  /** How long an answer may take, with another attempt where the first one fails. */
  readonly timeoutSeconds: number;
}

export interface ModelEdges {
  readonly registry: Registry;
  readonly monotonicMs: () => number;
  readonly settings?: ClientSettings;
}

/** Other fields may come with any release of a server. */
const Completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullable() }) })).min(1),
  usage: z
    .object({ prompt_tokens: z.number().min(0), completion_tokens: z.number().min(0) })
    .partial()
    .nullish(),
});

/** `POST chat/completions` of any OpenAI-compatible server, one request at a time and so many a day. */
export class ModelConnection {
  readonly #client: EndpointClient;
  readonly #options: ModelOptions;
  readonly #monotonicMs: () => number;
  readonly #results: Counter<"result">;
  readonly #seconds: Histogram;
  readonly #tokens: Counter<"kind">;
  #takesSchema = true;
  #isAsking = false;
  #asked: number[] = [];

  constructor(options: ModelOptions, { monotonicMs, registry, settings }: ModelEdges) {
    this.#options = options;
    this.#monotonicMs = monotonicMs;
    const endpoint = EndpointOptions.parse({
      url: options.url,
      ...(options.keyFile !== undefined && { bearerTokenFile: options.keyFile }),
      ...(options.caFile !== undefined && { tls: { caFile: options.caFile } }),
      timeoutSeconds: options.timeoutSeconds,
      maxAttempts: ATTEMPTS,
      maxResponseBytes: MOST_ANSWER_BYTES,
    });
    this.#client = new EndpointClient("reasoner", "reasoner", endpoint, settings);
    const registers = [registry];
    this.#results = new Counter({
      name: "tradewind_reasoner_requests_total",
      help: "Requests to the language model by result: answered, the failure of the endpoint, empty, busy (one was in flight), or budget (of the day is used up).",
      labelNames: ["result"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "tradewind_reasoner_request_seconds",
      help: "Time of answered requests to the language model.",
      buckets: [0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600],
      registers,
    });
    this.#tokens = new Counter({
      name: "tradewind_reasoner_tokens_total",
      help: "Tokens that the language model counted, of prompts and of answers.",
      labelNames: ["kind"],
      registers,
    });
  }

  /** The model's name. */
  get model(): string {
    return this.#options.model;
  }

  /** The model's words; undefined where it has none, for whatever reason, which is counted. Never throws. */
  async ask(prompt: Prompt): Promise<string | undefined> {
    const refused = this.#refused();
    if (refused !== undefined) {
      this.#results.inc({ result: refused });
      return undefined;
    }
    this.#isAsking = true;
    this.#asked.push(this.#monotonicMs());
    try {
      return await this.#complete(prompt);
    } catch (error) {
      const result =
        error instanceof EndpointError
          ? error.failure
          : error instanceof TradewindError
            ? error.code
            : "failed";
      this.#results.inc({ result });
      return undefined;
    } finally {
      this.#isAsking = false;
    }
  }

  async stop(): Promise<void> {
    await this.#client.close();
  }

  #refused(): "busy" | "budget" | undefined {
    if (this.#isAsking) return "busy";
    const since = this.#monotonicMs() - DAY_MS;
    this.#asked = this.#asked.filter((ms) => ms > since);
    return this.#asked.length >= this.#options.requestsPerDay ? "budget" : undefined;
  }

  async #complete(prompt: Prompt): Promise<string | undefined> {
    const beganMs = this.#monotonicMs();
    const { model } = this.#options;
    const plain = {
      model,
      messages: messagesOf(prompt),
      temperature: 0,
      max_tokens: MOST_TOKENS,
      stream: false,
    };
    const { choices, usage } = await this.#post(plain);
    this.#seconds.observe((this.#monotonicMs() - beganMs) / 1e3);
    this.#tokens.inc({ kind: "prompt" }, usage?.prompt_tokens ?? 0);
    this.#tokens.inc({ kind: "answer" }, usage?.completion_tokens ?? 0);
    const content = choices[0]?.message.content ?? "";
    this.#results.inc({ result: content === "" ? "empty" : "answered" });
    return content === "" ? undefined : content;
  }

  /** With the schema of an answer, and without it where that is refused: from then on always. */
  async #post(plain: object): Promise<z.output<typeof Completion>> {
    const post = async (json: object): Promise<z.output<typeof Completion>> =>
      this.#client.json({ path: "chat/completions", json }, Completion);
    if (!this.#takesSchema) return post(plain);
    try {
      return await post({ ...plain, response_format: RESPONSE_FORMAT });
    } catch (error) {
      if (!(error instanceof EndpointError) || !NO_SCHEMA_STATUSES.has(error.status)) throw error;
      const answer = await post(plain);
      this.#takesSchema = false;
      return answer;
    }
  }
}
