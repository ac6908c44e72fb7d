import { systemClock } from "@tradewind/core/clock.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { describeError } from "@tradewind/core/errors.ts";
import { createLog } from "@tradewind/core/log.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import type { Running } from "@tradewind/core/running.ts";
import { HttpSide } from "./http.ts";
import type { AgentOptions } from "./options.ts";
import { NodeAgent } from "./node-agent.ts";

/** What the agent needs from outside besides its options; tests put their own in. */
export interface AgentSurroundings {
  readonly clock: Clock;
  readonly log: Logger;
  readonly rng: Rng;
}

/** A slice of reading after which requests get their turn. */
const SLICE_MS = 20;
/** Never longer asleep than this, so that a controller without signals is looked at again. */
const LONGEST_SLEEP_MS = 1_000;
const NAMES_POLL_MS = 1_000;

/**
 * Starts the agent: finds the containers, samples, serves.
 * @throws TradewindError `cannot-listen`
 */
export async function startAgent(
  options: AgentOptions,
  surroundings: Partial<AgentSurroundings> = {},
): Promise<Running> {
  const clock = surroundings.clock ?? systemClock;
  const log = surroundings.log ?? createLog("agent", options.logLevel);
  const rng = surroundings.rng ?? seededRng(clock.nowMs());
  const node = new NodeAgent(options, { clock, log, rng });
  const http = new HttpSide(node);
  const separator = options.listen.lastIndexOf(":");
  const host = options.listen.slice(0, separator).replaceAll(/[[\]]/g, "");
  let address: string;
  try {
    address = await http.listen({ host, port: Number(options.listen.slice(separator + 1)) });
  } catch (error) {
    node.close();
    throw error;
  }
  const stopLoop = startLoop(node, clock, log);
  let stopping: Promise<void> | undefined;
  return {
    addresses: { http: address },
    stop: async () => {
      stopping ??= (async () => {
        stopLoop();
        node.close();
        await http.close();
      })();
      await stopping;
    },
  };
}

/** Runs what is due and sleeps until the next; returns how to stop it. */
function startLoop(node: NodeAgent, clock: Clock, log: Logger): () => void {
  let timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  let isStopped = false;
  const turn = (): void => {
    if (isStopped) return;
    let isDone = true;
    try {
      isDone = node.sample(SLICE_MS);
    } catch (error) {
      log.error(`sampling failed: ${describeError(error)}`);
    }
    if (!isDone) {
      timer = setImmediate(turn);
      return;
    }
    const waitMs = node.nextDueMs() - clock.monotonicMs();
    timer = setTimeout(turn, Math.min(LONGEST_SLEEP_MS, Math.max(1, waitMs)));
  };
  turn();
  const names = setInterval(() => void node.pollNames(), NAMES_POLL_MS);
  names.unref();
  return () => {
    isStopped = true;
    clearInterval(names);
    clearTimeout(timer as NodeJS.Timeout | undefined);
    clearImmediate(timer as NodeJS.Immediate | undefined);
  };
}
