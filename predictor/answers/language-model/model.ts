import { TradewindError } from "@tradewind/core/values/errors.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import { z } from "zod";
import type { Prompt } from "../reason/prompt.ts";

const DEADLINE_SECONDS = 30;
const ATTEMPTS = 2;
const MOST_ANSWER_BYTES = 1_048_576;
const MOST_TOKENS = 2_000;
const DAY_MS = 86_400_000;

export interface ModelOptions {
  /** Base address of an OpenAI-compatible API, for example `https://models.example/v1`. */
  readonly url: string;
  readonly model: string;
  /** File with the key; absent: none is sent. */
  readonly keyFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly requestsPerDay: number;
}

export interface ModelEdges {
  readonly registry: Registry;
  readonly monotonicMs: () => number;
  readonly settings?: ClientSettings;
  readonly timeoutSeconds?: number;
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
  #isAsking = false;
  #asked: number[] = [];

  constructor(
    options: ModelOptions,
    { monotonicMs, registry, settings, timeoutSeconds = DEADLINE_SECONDS }: ModelEdges,
  ) {
    this.#options = options;
    this.#monotonicMs = monotonicMs;
    const endpoint = EndpointOptions.parse({
      url: options.url,
      ...(options.keyFile !== undefined && { bearerTokenFile: options.keyFile }),
      ...(options.caFile !== undefined && { tls: { caFile: options.caFile } }),
      timeoutSeconds,
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
      buckets: [0.5, 1, 2, 5, 10, 20, 30],
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

  async #complete({ system, user }: Prompt): Promise<string | undefined> {
    const beganMs = this.#monotonicMs();
    const messages = [
      { role: "system", content: system },
      { role: "user", content: user },
    ];
    const { model } = this.#options;
    const json = { model, messages, temperature: 0, max_tokens: MOST_TOKENS, stream: false };
    const { choices, usage } = await this.#client.json({ path: "chat/completions", json }, Completion);
    this.#seconds.observe((this.#monotonicMs() - beganMs) / 1e3);
    this.#tokens.inc({ kind: "prompt" }, usage?.prompt_tokens ?? 0);
    this.#tokens.inc({ kind: "answer" }, usage?.completion_tokens ?? 0);
    const content = choices[0]?.message.content ?? "";
    this.#results.inc({ result: content === "" ? "empty" : "answered" });
    return content === "" ? undefined : content;
  }
}
