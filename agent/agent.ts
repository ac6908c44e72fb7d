import { systemClock } from "@tradewind/core/clock.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { createLog } from "@tradewind/core/log.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import type { Running } from "@tradewind/core/running.ts";
import { HttpSide } from "./http.ts";
import { startLoop } from "./loop.ts";
import type { AgentOptions } from "./options.ts";
import { NodeAgent } from "./node-agent.ts";

/** What the agent needs from outside besides its options; tests put their own in. */
export interface AgentSurroundings {
  readonly clock: Clock;
  readonly log: Logger;
  readonly rng: Rng;
  /** Collects garbage now; called now and then by a process that wants to stay small. */
  readonly collectGarbage: () => void;
}

const NAMES_POLL_MS = 1_000;
/** The hardware can wait until the first samples are in. */
const HARDWARE_AFTER_MS = 2_000;

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
  const collectGarbage = surroundings.collectGarbage ?? (() => undefined);
  const node = new NodeAgent(options, { clock, log, rng, collectGarbage });
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
  const stopLoop = startLoop(node, { clock, log, rng });
  const hardware = options.inventory
    ? setTimeout(() => void node.lookAtHardware(), HARDWARE_AFTER_MS).unref()
    : undefined;
  const names = setInterval(() => void node.pollNames(), NAMES_POLL_MS);
  let stopping: Promise<void> | undefined;
  return {
    addresses: { http: address },
    stop: async () => {
      stopping ??= (async () => {
        stopLoop();
        clearInterval(names);
        clearTimeout(hardware);
        node.close();
        await http.close();
      })();
      await stopping;
    },
  };
}
