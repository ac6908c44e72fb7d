import { setTimeout as sleep } from "node:timers/promises";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { JournalKeeper } from "../../keep/journal/keeper.ts";
import { decisionSpans, traceIdOf } from "./decision-spans.ts";
import type { DecisionEvent } from "./decision-spans.ts";

export interface DecisionTracesOptions {
  /** Base address of OTLP over HTTP: spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  /** Record of a decision as JSON, where it is kept. */
  readonly recordOf: (id: string) => string | undefined;
  readonly nowMs: () => number;
  readonly log: Logger;
  /** Wait before what has come is sent together; default a second. */
  readonly gatherMs?: number;
}

interface Waiting {
  readonly event: DecisionEvent;
  readonly servedMs: number;
}

/** Decisions that wait; those beyond are not sent. */
const MOST_WAITING = 10_000;
const TIMEOUT_SECONDS = 5;
const SCOPE = { name: "tradewind" };
const RESOURCE = {
  attributes: [
    { key: "service.name", value: { stringValue: "tradewind-scaler" } },
    { key: "service.version", value: { stringValue: VERSION } },
  ],
};

/** Sends each decision that changed a size as a trace, and writes its id into the audit trail. Never holds a decision up. */
export class DecisionTraces {
  readonly #client: EndpointClient;
  readonly #options: DecisionTracesOptions;
  #waiting: Waiting[] = [];
  #sending: Promise<void> | undefined;

  /** @throws TradewindError where the address is none */
  constructor(options: DecisionTracesOptions) {
    this.#options = options;
    const endpoint = parseWith(
      EndpointOptions,
      { url: options.endpoint, timeoutSeconds: TIMEOUT_SECONDS },
      "--traces-endpoint",
    );
    this.#client = new EndpointClient("traces", "otlp", endpoint);
  }

  /** A journal that hears of all that the other does, with the trace of each decision. */
  before(journal: Pick<JournalKeeper, "append">): Pick<JournalKeeper, "append"> {
    return {
      append: async (events, changes) =>
        journal.append(
          events.map((event) => this.#traced(event)),
          changes,
        ),
    };
  }

  /** Sends what waits. */
  async stop(): Promise<void> {
    await this.#sending;
    await this.#client.close();
  }

  #traced(event: AuditEvent): AuditEvent {
    if (event.kind !== "decision") return event;
    const traced = { ...event, traceId: traceIdOf(event.decisionId) };
    if (this.#waiting.length < MOST_WAITING) this.#waiting.push({ event, servedMs: this.#options.nowMs() });
    this.#sending ??= this.#send();
    return traced;
  }

  async #send(): Promise<void> {
    const { gatherMs = 1_000, log, recordOf } = this.#options;
    while (this.#waiting.length > 0) {
      await sleep(gatherMs);
      const spans = this.#waiting.splice(0).flatMap(({ event, servedMs }) => {
        const json = recordOf(event.decisionId);
        const record = json === undefined ? undefined : (JSON.parse(json) as DecisionRecord);
        return decisionSpans(event, record, servedMs);
      });
      try {
        const json = { resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ scope: SCOPE, spans }] }] };
        await this.#client.call({ path: "v1/traces", json });
      } catch (error) {
        log.warn({ problem: describeError(error), spans: spans.length }, "traces of decisions were not sent");
      }
    }
    this.#sending = undefined;
  }
}
