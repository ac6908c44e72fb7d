import { AddressFollower } from "@tradewind/core/net/addresses.ts";
import type { Lookup } from "@tradewind/core/net/addresses.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { LastingProblem } from "@tradewind/core/process/lasting-problem.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { AgentReadings } from "./agent-readings.ts";

export interface AskedAgentsOptions {
  /** `http://host:port`, or `dns+http://name:port` for all of a name. */
  readonly targets: readonly string[];
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
}

const RESOLVE_MS = 5_000;
const TIMEOUT_SECONDS = 2;
/** A snapshot with 20,000 containers has about 15 MB. */
const MAX_SNAPSHOT_BYTES = 32 * 1_024 * 1_024;

/** The node agents, asked only while no predictor does. */
export class AskedAgents {
  private readonly options: AskedAgentsOptions;
  private readonly follower: AddressFollower;
  private readonly clients = new Map<string, EndpointClient>();
  private readonly silence: LastingProblem;

  constructor(options: AskedAgentsOptions) {
    this.options = options;
    const { clock, log, lookup, targets } = options;
    this.follower = new AddressFollower({ targets, everyMs: RESOLVE_MS, log, lookup });
    this.silence = new LastingProblem(log, () => clock.monotonicMs());
  }

  /** Never rejects: a name that cannot be resolved yet is followed. */
  async start(): Promise<void> {
    await this.follower.start();
  }

  /** Asks every agent once. Never rejects: one that does not answer is logged, and what it said grows old. */
  async ask(readings: AgentReadings, signal: AbortSignal): Promise<void> {
    const urls = this.follower.current();
    await this.meet(urls);
    await Promise.all(
      urls.map(async (url) => {
        const atMs = this.options.clock.monotonicMs();
        try {
          const snapshot = await this.clients.get(url)?.json({ path: "v1/snapshot", signal }, Snapshot);
          if (snapshot !== undefined) readings.hear(url, snapshot, atMs);
          this.silence.over();
        } catch (error) {
          if (signal.aborted) return;
          const problem = describeError(error);
          this.silence.found(
            problem,
            { agent: url, problem },
            "the agent gives no snapshot; its containers are held",
          );
        }
      }),
    );
    readings.forget(urls, this.options.clock.monotonicMs());
  }

  async stop(): Promise<void> {
    this.follower.stop();
    await Promise.all([...this.clients.values()].map(async (client) => client.close()));
  }

  private async meet(urls: readonly string[]): Promise<void> {
    const { caFile, clock, tokenFile } = this.options;
    for (const [url, client] of this.clients) {
      if (urls.includes(url)) continue;
      this.clients.delete(url);
      await client.close();
    }
    for (const url of urls) {
      if (this.clients.has(url)) continue;
      const serverName = this.follower.nameOf(url);
      const options = EndpointOptions.parse({
        url,
        ...(tokenFile !== undefined && { bearerTokenFile: tokenFile }),
        tls: { ...(caFile !== undefined && { caFile }), ...(serverName !== undefined && { serverName }) },
        timeoutSeconds: TIMEOUT_SECONDS,
        maxAttempts: 1,
        maxResponseBytes: MAX_SNAPSHOT_BYTES,
      });
      this.clients.set(url, new EndpointClient(new URL(url).host, "agent", options, { clock }));
    }
  }
}
