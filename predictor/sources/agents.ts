import type { Clock } from "@tradewind/core/clock.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { retryDelayMs } from "@tradewind/core/retry-delay.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import { EndpointClient } from "./http/client.ts";
import { EndpointOptions } from "./http/endpoint.ts";
import type { EndpointHealth } from "./http/health.ts";

/** A snapshot with 20,000 containers has about 15 MB. */
const MAX_SNAPSHOT_BYTES = 32 * 1024 * 1024;
/** Waits between polls of an agent that does not answer. */
const FAILURE_DELAYS = { firstMs: 500, maxMs: 5_000 };
const BREAKER = { failures: 5, openMs: 5_000 };

export interface AgentsOptions {
  /** Base addresses, for example `http://127.0.0.1:9810`. */
  readonly urls: readonly string[];
  readonly pollMs: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Logger;
  /** @param receivedAtMs middle of the time between question and answer, on our clock */
  readonly onSnapshot: (url: string, snapshot: Snapshot, receivedAtMs: number) => void;
}

/** Asks every agent for its snapshot, each in its own rhythm: one that hangs delays no other. */
export class Agents {
  private readonly options: AgentsOptions;
  private readonly clients: ReadonlyMap<string, EndpointClient>;
  private readonly ending = new AbortController();
  private loops: Promise<unknown> = Promise.resolve();

  constructor(options: AgentsOptions) {
    this.options = options;
    this.clients = new Map(
      [...new Set(options.urls)].map((url) => [
        url,
        new EndpointClient(new URL(url).host, "agent", endpointOf(url, options.timeoutMs), {
          clock: options.clock,
          rng: options.rng,
          breaker: BREAKER,
        }),
      ]),
    );
  }

  start(): void {
    this.loops = Promise.all([...this.clients].map(async ([url, client]) => this.follow(url, client)));
  }

  /** How each agent has been answering. */
  health(): readonly EndpointHealth[] {
    return [...this.clients.values()].map(({ health }) => health);
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await this.loops;
    await Promise.all([...this.clients.values()].map(async (client) => client.close()));
  }

  private async follow(url: string, client: EndpointClient): Promise<void> {
    const { log, pollMs, rng } = this.options;
    let failures = 0;
    while (!this.ending.signal.aborted) {
      const startedMs = this.options.clock.monotonicMs();
      try {
        await this.poll(url, client);
        if (failures > 0) log.info({ agent: url }, "the agent answers again");
        failures = 0;
      } catch (error) {
        if (this.ending.signal.aborted) return;
        failures += 1;
        if (failures === 1)
          log.warn({ agent: url, problem: describeError(error) }, "the agent gives no snapshot");
      }
      const tookMs = this.options.clock.monotonicMs() - startedMs;
      const waitMs =
        failures === 0 ? pollMs - tookMs : pollMs + retryDelayMs(failures, undefined, FAILURE_DELAYS, rng);
      await this.pause(Math.max(0, waitMs));
    }
  }

  private async poll(url: string, client: EndpointClient): Promise<void> {
    const { clock, onSnapshot } = this.options;
    const askedAtMs = clock.nowMs();
    const snapshot = await client.json({ path: "v1/snapshot", signal: this.ending.signal }, Snapshot);
    onSnapshot(url, snapshot, (askedAtMs + clock.nowMs()) / 2);
  }

  private async pause(ms: number): Promise<void> {
    const { signal } = this.ending;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end, { once: true });
    });
  }
}

function endpointOf(url: string, timeoutMs: number): EndpointOptions {
  return EndpointOptions.parse({
    url,
    timeoutSeconds: timeoutMs / 1e3,
    maxAttempts: 1,
    maxResponseBytes: MAX_SNAPSHOT_BYTES,
  });
}
