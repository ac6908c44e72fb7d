import { setTimeout as delay } from "node:timers/promises";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { RereadFile } from "@tradewind/core/net/reread-file.ts";
import { parseRetryAfterMs, retryDelayMs } from "@tradewind/core/process/retry-delay.ts";
import type { RetryDelays } from "@tradewind/core/process/retry-delay.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { withinTime } from "@tradewind/core/process/within-time.ts";
import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import { Agent, request } from "undici";

/** The same cause of the same application is told once in this time. */
const QUIET_MS = 600_000;
const ATTEMPTS = 3;
const DEADLINE_MS = 10_000;
const DELAYS: RetryDelays = { firstMs: 1_000, maxMs: 8_000 };
/** More applications than that with a cause at once are told of when they are again. */
const MOST_WAITING = 16;
const MOST_TOLD = 1_000;
const MOST_ANSWER_BYTES = 65_536;

export interface WebhookOptions {
  /** File with the address, which is a secret. */
  readonly file: string;
  readonly registry: Registry;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly rng: Rng;
  readonly log: Logger;
  readonly delays?: RetryDelays;
}

/** Tells a chat room why an objective is missed, in the JSON that Slack's incoming webhooks take. Nothing waits for it. */
export class Webhook {
  readonly #options: WebhookOptions;
  readonly #url: RereadFile<URL>;
  readonly #agent = new Agent({ connections: 1, maxResponseSize: MOST_ANSWER_BYTES });
  readonly #stopping = new AbortController();
  readonly #told = new Map<string, number>();
  readonly #results: Counter<"result">;
  #waiting: string[] = [];
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;

  /** @throws TradewindError `webhook-unusable` when the file holds no http:// or https:// address */
  constructor(options: WebhookOptions) {
    this.#options = options;
    const { file, log, monotonicMs, registry } = options;
    const reading = { what: "webhook file", code: "webhook-unusable", parse: addressIn };
    this.#url = new RereadFile(file, reading, { log, monotonicMs });
    this.#results = new Counter({
      name: "tradewind_webhook_messages_total",
      help: "Causes of missed objectives told to the webhook: sent, failed after all attempts, or dropped because too many waited.",
      labelNames: ["result"],
      registers: [registry],
    });
    for (const result of ["sent", "failed", "dropped"]) this.#results.inc({ result }, 0);
  }

  /** Tells of a named cause, unless it was told within ten minutes. Never throws. */
  tell({ application, causes, namespace, summary }: Explanation): void {
    const [first] = causes;
    if (first === undefined || this.#stopping.signal.aborted) return;
    const key = [namespace, application, first.service, first.type].join("\n");
    const nowMs = this.#options.monotonicMs();
    if (nowMs - (this.#told.get(key) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.#results.inc({ result: "dropped" });
      return;
    }
    for (const [each, toldMs] of this.#told)
      if (nowMs - toldMs >= QUIET_MS || this.#told.size >= MOST_TOLD) this.#told.delete(each);
    this.#told.set(key, nowMs);
    this.#waiting.push(messageOf(`${namespace}/${application}: ${summary}`));
    if (!this.#isRunning) this.#running = this.#send();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#agent.destroy();
  }

  async #send(): Promise<void> {
    this.#isRunning = true;
    for (let body = this.#waiting.shift(); body !== undefined; body = this.#waiting.shift()) {
      const result = await this.#post(body);
      if (result !== undefined) this.#results.inc({ result });
    }
    this.#isRunning = false;
  }

  /** Undefined where the process stops meanwhile. */
  async #post(body: string): Promise<"sent" | "failed" | undefined> {
    const { signal } = this.#stopping;
    let problem = "";
    for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt += 1) {
      const outcome = await this.#attempt(body);
      if (outcome === undefined) return "sent";
      ({ problem } = outcome);
      if (!outcome.again || attempt === ATTEMPTS) break;
      const { delays = DELAYS, rng } = this.#options;
      const waitMs = retryDelayMs(attempt, outcome.retryAfterMs, delays, rng);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted) return undefined;
    this.#options.log.warn({ problem }, "the webhook was not told of a missed objective");
    return "failed";
  }

  /** Undefined where it was taken. */
  async #attempt(body: string): Promise<Refusal | undefined> {
    try {
      const { headers, statusCode: status } = await withinTime(
        DEADLINE_MS,
        this.#stopping.signal,
        async (signal) => {
          const answer = await request(this.#url.current(), {
            dispatcher: this.#agent,
            method: "POST",
            headers: { "content-type": "application/json" },
            body,
            signal,
          });
          await answer.body.dump();
          return answer;
        },
      );
      if (status >= 200 && status < 300) return undefined;
      const told = headers["retry-after"];
      const retryAfterMs = parseRetryAfterMs(
        typeof told === "string" ? told : undefined,
        this.#options.nowMs(),
      );
      return { problem: `it answered ${status}`, again: status === 429 || status >= 500, retryAfterMs };
    } catch (error) {
      // The address is a secret: it is in no message.
      const code = error instanceof Error && "code" in error ? `: ${String(error.code)}` : "";
      return { problem: `no answer${code}`, again: true, retryAfterMs: undefined };
    }
  }
}

interface Refusal {
  readonly problem: string;
  readonly again: boolean;
  readonly retryAfterMs: number | undefined;
}

/** Slack reads `<…>` and `&` as markup: names that come from traces must not call anybody. */
function messageOf(text: string): string {
  const plain = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return JSON.stringify({ text: plain });
}

function addressIn(bytes: Buffer): URL {
  const text = bytes.toString("utf8").trim();
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new Error("it must hold one http:// or https:// address");
  }
  return new URL(text);
}
