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
  /** Base addresses, for example `http://127.0.0.1:9810`; others may follow by {@link Agents.follow}. */
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
  private readonly asked = new Map<string, AskedAgent>();
  private started = false;

  constructor(options: AgentsOptions) {
    this.options = options;
    this.follow(options.urls);
  }

  start(): void {
    this.started = true;
    for (const [url, agent] of this.asked) this.begin(url, agent);
  }

  /** Asks these agents from now on, and no others: nodes come and go. */
  follow(urls: readonly string[]): void {
    for (const [url, agent] of this.asked) {
      if (urls.includes(url)) continue;
      this.asked.delete(url);
      void end(agent);
    }
    const { clock, rng, timeoutMs } = this.options;
    for (const url of urls) {
      if (this.asked.has(url)) continue;
      const client = new EndpointClient(new URL(url).host, "agent", endpointOf(url, timeoutMs), {
        clock,
        rng,
        breaker: BREAKER,
      });
      const agent: AskedAgent = { client, ending: new AbortController(), loop: Promise.resolve() };
      this.asked.set(url, agent);
      if (this.started) this.begin(url, agent);
    }
  }

  /** How each agent has been answering. */
  health(): readonly EndpointHealth[] {
    return [...this.asked.values()].map(({ client }) => client.health);
  }

  async stop(): Promise<void> {
    const all = [...this.asked.values()];
    this.asked.clear();
    await Promise.all(all.map(async (agent) => end(agent)));
  }

  private begin(url: string, agent: AskedAgent): void {
    agent.loop = this.ask(url, agent.client, agent.ending.signal);
  }

  private async ask(url: string, client: EndpointClient, signal: AbortSignal): Promise<void> {
    const { log, pollMs, rng } = this.options;
    let failures = 0;
    while (!signal.aborted) {
      const startedMs = this.options.clock.monotonicMs();
      try {
        await this.poll(url, client, signal);
        if (failures > 0) log.info({ agent: url }, "the agent answers again");
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (failures === 1)
          log.warn({ agent: url, problem: describeError(error) }, "the agent gives no snapshot");
      }
      const tookMs = this.options.clock.monotonicMs() - startedMs;
      const waitMs =
        failures === 0 ? pollMs - tookMs : pollMs + retryDelayMs(failures, undefined, FAILURE_DELAYS, rng);
      await pause(Math.max(0, waitMs), signal);
    }
  }

  private async poll(url: string, client: EndpointClient, signal: AbortSignal): Promise<void> {
    const { clock, onSnapshot } = this.options;
    const askedAtMs = clock.nowMs();
    const snapshot = await client.json({ path: "v1/snapshot", signal }, Snapshot);
    onSnapshot(url, snapshot, (askedAtMs + clock.nowMs()) / 2);
  }
}

interface AskedAgent {
  readonly client: EndpointClient;
  readonly ending: AbortController;
  loop: Promise<void>;
}

async function end({ client, ending, loop }: AskedAgent): Promise<void> {
  ending.abort();
  await loop;
  await client.close();
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish, { once: true });
  });
}

function endpointOf(url: string, timeoutMs: number): EndpointOptions {
  return EndpointOptions.parse({
    url,
    timeoutSeconds: timeoutMs / 1e3,
    maxAttempts: 1,
    maxResponseBytes: MAX_SNAPSHOT_BYTES,
  });
}
