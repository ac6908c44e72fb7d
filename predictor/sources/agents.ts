import type { Clock } from "@tradewind/core/process/clock.ts";
import { freshnessQuery } from "@tradewind/core/contract/freshness.ts";
import type { Freshness } from "@tradewind/core/contract/freshness.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { LastingProblem } from "@tradewind/core/process/lasting-problem.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { retryDelayMs } from "@tradewind/core/process/retry-delay.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { Exchange } from "./agent-clock.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import type { EndpointHealth } from "@tradewind/core/net/endpoint/health.ts";

/** A snapshot with 20,000 containers has about 15 MB. */
const MAX_SNAPSHOT_BYTES = 32 * 1024 * 1024;
/** Waits between polls of an agent that does not answer. */
const FAILURE_DELAYS = { firstMs: 500, maxMs: 5_000 };
/** What a person does here about a problem that sources have, too. */
const REMEDIES = {
  tls: "give --agents-ca-file the authority of the agents' certificates; agents without --http-tls-cert are asked by http://",
  refused: "give --agents-token-file a token that the agents take",
};
const BREAKER = { failures: 5, openMs: 5_000 };

export interface AgentsOptions {
  /** Base addresses, for example `http://127.0.0.1:9810`; others may follow by {@link Agents.follow}. */
  readonly urls: readonly string[];
  readonly pollMs: number;
  readonly timeoutMs: number;
  /** File with the token that the agents ask for. */
  readonly tokenFile?: string | undefined;
  /** File with the authority of the agents' certificates. */
  readonly caFile?: string | undefined;
  /** The name in the certificate of the agent at an address; undefined: its host. */
  readonly nameOf?: (url: string) => string | undefined;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Logger;
  /** Pods that are to be read more often than agents would. */
  readonly fresh: () => Freshness;
  readonly onSnapshot: (url: string, snapshot: Snapshot, exchange: Exchange) => void;
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
    const { clock, rng } = this.options;
    for (const url of urls) {
      if (this.asked.has(url)) continue;
      const client = new EndpointClient(new URL(url).host, "agent", endpointOf(url, this.options), {
        clock,
        rng,
        breaker: BREAKER,
        remedies: REMEDIES,
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
    agent.loop = this.ask(url, agent);
  }

  private async ask(url: string, { client, ending: { signal } }: AskedAgent): Promise<void> {
    const { log, pollMs, rng } = this.options;
    const silence = new LastingProblem(log, () => this.options.clock.monotonicMs());
    let failures = 0;
    while (!signal.aborted) {
      const startedMs = this.options.clock.monotonicMs();
      try {
        await this.poll(url, client, signal);
        if (silence.over()) log.info({ agent: url }, "the agent answers again");
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const remedy = error instanceof EndpointError ? error.remedy : undefined;
        const facts = { agent: url, problem: describeError(error), remedy };
        silence.found("silent", facts, "the agent gives no snapshot");
      }
      const tookMs = this.options.clock.monotonicMs() - startedMs;
      const waitMs =
        failures === 0 ? pollMs - tookMs : pollMs + retryDelayMs(failures, undefined, FAILURE_DELAYS, rng);
      await pause(waitMs, signal);
    }
  }

  private async poll(url: string, client: EndpointClient, signal: AbortSignal): Promise<void> {
    const { clock, fresh, onSnapshot } = this.options;
    const askedAtMs = clock.nowMs();
    const query = freshnessQuery(fresh());
    const snapshot = await client.json({ path: "v1/snapshot", query, signal }, Snapshot);
    onSnapshot(url, snapshot, { askedAtMs, answeredAtMs: clock.nowMs() });
  }
}

interface AskedAgent {
  readonly client: EndpointClient;
  readonly ending: AbortController;
  loop: Promise<unknown>;
}

async function end({ client, ending, loop }: AskedAgent): Promise<void> {
  ending.abort();
  await loop;
  await client.close();
}

/** Returns at once for a time that has passed, and early when the signal fires. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || ms <= 0) return;
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

function endpointOf(url: string, { caFile, nameOf, timeoutMs, tokenFile }: AgentsOptions): EndpointOptions {
  const serverName = nameOf?.(url);
  return EndpointOptions.parse({
    url,
    ...(tokenFile !== undefined && { bearerTokenFile: tokenFile }),
    tls: { ...(caFile !== undefined && { caFile }), ...(serverName !== undefined && { serverName }) },
    timeoutSeconds: timeoutMs / 1e3,
    maxAttempts: 1,
    maxResponseBytes: MAX_SNAPSHOT_BYTES,
  });
}
