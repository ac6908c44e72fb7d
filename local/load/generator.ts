import type { FAILURE_KINDS } from "@tradewind/core/contract/run-report.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Balancer } from "../application/balance.ts";
import type { HttpClient } from "../application/call.ts";
import { DEMAND_HEADER } from "../application/protocol.ts";
import type { Arrival } from "./arrivals.ts";

/** A request that is not answered by then has failed. Counted from the time at which it was due. */
export const TIMEOUT_SECONDS = 2;
/** Above this number under way the generator itself would be the bottleneck: the request fails unsent. */
const MAX_UNDER_WAY = 4_096;

/** Refused with 503 for too many requests at once, answered with another error, broken off, too late, or never sent. */
export type FailureKind = (typeof FAILURE_KINDS)[number];

export interface Outcome {
  readonly route: string;
  /** When the request was due, seconds since the start of the load. */
  readonly dueSeconds: number;
  /** From the time it was due to the end of the answer; at least the time-out when it failed. */
  readonly latencySeconds: number;
  readonly failed: boolean;
  /** Why it failed; absent where it did not. */
  readonly failure?: FailureKind;
}

export interface LoadOptions {
  readonly arrivals: Iterator<Arrival, never>;
  readonly balancer: Balancer;
  readonly client: HttpClient;
  readonly clock: Clock;
  /** Nothing that is due from then on is sent; absent: it goes on until it is stopped. */
  readonly untilSeconds?: number | undefined;
  readonly onOutcome: (outcome: Outcome) => void;
}

export interface RunningLoad {
  /** Seconds since the load started. */
  elapsedSeconds(): number;
  /** Sends nothing new and waits for what is under way, at most the time-out. */
  stop(): Promise<void>;
}

/**
 * Open loop: requests are sent when they are due, whether or not earlier ones have been answered, and a late send counts
 * against the request, so that a stall of the application (or of this process) is not omitted from the figures.
 */
export function startLoad({
  arrivals,
  balancer,
  client,
  clock,
  onOutcome,
  untilSeconds = Infinity,
}: LoadOptions): RunningLoad {
  const startMs = clock.monotonicMs();
  const elapsedSeconds = (): number => (clock.monotonicMs() - startMs) / 1e3;
  const underWay = new Set<Promise<void>>();
  let next = arrivals.next().value;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function send({ route, demandSeed, atSeconds }: Arrival): Promise<void> {
    const leftMillis = (atSeconds + TIMEOUT_SECONDS - elapsedSeconds()) * 1e3;
    const endpoint = leftMillis > 0 && underWay.size < MAX_UNDER_WAY ? balancer.acquire() : undefined;
    let failure: FailureKind | undefined = "unsent";
    if (endpoint !== undefined) {
      try {
        const status = await client.send({
          endpoint,
          route,
          headers: { [DEMAND_HEADER]: String(demandSeed) },
          signal: AbortSignal.timeout(Math.ceil(leftMillis)),
        });
        failure = status < 400 ? undefined : status === 503 ? "refused" : "error";
      } catch {
        failure = "broken";
      } finally {
        balancer.release(endpoint);
      }
    }
    const took = elapsedSeconds() - atSeconds;
    if (took > TIMEOUT_SECONDS) failure = "late";
    const failed = failure !== undefined;
    const latencySeconds = failed ? Math.max(took, TIMEOUT_SECONDS) : took;
    onOutcome({ route, dueSeconds: atSeconds, latencySeconds, failed, ...(failure && { failure }) });
  }

  function sendDue(): void {
    while (next.atSeconds < untilSeconds && next.atSeconds <= elapsedSeconds()) {
      const sending = send(next).finally(() => underWay.delete(sending));
      underWay.add(sending);
      next = arrivals.next().value;
    }
    if (!stopped && next.atSeconds < untilSeconds)
      timer = setTimeout(sendDue, Math.max(0, (next.atSeconds - elapsedSeconds()) * 1e3));
  }

  sendDue();
  return {
    elapsedSeconds,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await Promise.all(underWay);
    },
  };
}
