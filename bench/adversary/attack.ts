import { load } from "../scaler/scaler-process.ts";
import type { Worst } from "./climb.ts";
import type { Stage } from "./stage.ts";

const HONEST_ADDRESS = "127.0.0.9";
const HONEST_PER_SECOND = 50;
/** Of the most expensive requests, sent side by side again and again. */
const AT_ONCE = 16;

export interface AttackFigures {
  readonly seconds: number;
  readonly requests: number;
  readonly honestCalls: number;
  readonly honestFailed: number;
  readonly honestP50Ms: number;
  readonly honestP99Ms: number;
  /** Of the three processes: without one that starts them again, those that ended. */
  readonly ended: readonly string[];
}

/** What KEDA sees of a scaler while a stranger sends the most expensive requests that were found, from another address, as fast as they are answered. */
export async function attack(stage: Stage, worst: readonly Worst[], seconds: number): Promise<AttackFigures> {
  let requests = 0;
  const over = new AbortController();
  const sending = worst.slice(0, AT_ONCE).map(async ({ again }) => {
    while (!over.signal.aborted) {
      await again();
      requests += 1;
    }
  });
  const address = (stage.scaler.addresses["grpc"] ?? "").replace("http://", "");
  const job = { address, objects: 1, seed: 1, seconds, perSecond: HONEST_PER_SECOND };
  const service = { namespace: "default", name: "geo" };
  try {
    const honest = await load({ ...job, service, localAddress: HONEST_ADDRESS }, () => undefined);
    const processes = [stage.agent, stage.predictor, stage.scaler];
    return {
      seconds,
      requests,
      honestCalls: honest.calls + honest.failed,
      honestFailed: honest.failed,
      honestP50Ms: honest.p50Ms,
      honestP99Ms: honest.p99Ms,
      ended: processes.filter(({ isAlive }) => !isAlive).map(({ ending }) => ending),
    };
  } finally {
    over.abort();
    await Promise.allSettled(sending);
  }
}
