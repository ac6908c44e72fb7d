import { systemClock } from "@tradewind/core/process/clock.ts";
import { HttpDoor } from "@tradewind/core/net/http-door.ts";
import { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { serveProbes } from "@tradewind/core/net/probe-server.ts";
import type { ProbeServer } from "@tradewind/core/net/probe-server.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { HttpSide } from "./run/http.ts";
import { startLoop } from "./run/loop.ts";
import type { AgentOptions } from "./options.ts";
import { NodeAgent } from "./run/node-agent.ts";
import type { SelfMetrics } from "./run/self.ts";
import type { AgentSurroundings } from "./node/surroundings.ts";

const NAMES_POLL_MS = 1_000;
/** The hardware can wait until the first samples are in. */
const HARDWARE_AFTER_MS = 2_000;

/**
 * Starts the agent: finds the containers, samples, serves.
 * @throws TradewindError `cannot-listen`, `token-unusable` or `tls-material`
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
  const { allowedHosts, httpTokenFile: tokenFile, maxSenderWork } = options;
  const monotonicMs = (): number => clock.monotonicMs();
  let http: HttpSide;
  let address: string;
  let probes: ProbeServer | undefined;
  let tls: ReloadingTls | undefined;
  try {
    const door = new HttpDoor({ allowedHosts, tokenFile, monotonicMs, log });
    const byToken = tokenFile !== undefined;
    const onRefused = (): void => node.self.requestRefused();
    const work = new SenderWork({ maxSenderWork, byToken, monotonicMs, log, onRefused });
    tls = await openTls(options.httpTls, log, node.self);
    http = new HttpSide(node, door, work, tls);
    if (options.probeListen !== undefined) {
      probes = await serveProbes(listenOf(options.probeListen), {
        dead: () => undefined,
        notReady: () => node.notReady(),
      });
    }
    address = await http.listen(listenOf(options.listen));
  } catch (error) {
    await probes?.stop();
    tls?.stop();
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
    addresses: { http: address, ...(probes && { probe: probes.address }) },
    stop: async () => {
      stopping ??= (async () => {
        stopLoop();
        clearInterval(names);
        clearTimeout(hardware);
        node.close();
        await http.close();
        tls?.stop();
        await probes?.stop();
      })();
      await stopping;
    },
  };
}

/** The module is loaded only where it is needed: the agent counts its megabytes. */
async function openTls(
  files: AgentOptions["httpTls"],
  log: Logger,
  self: SelfMetrics,
): Promise<ReloadingTls | undefined> {
  if (files === undefined) return undefined;
  const { ReloadingTls } = await import("@tradewind/core/net/reloading-tls.ts");
  return ReloadingTls.open(files, { everyMs: files.refreshMs, log, observer: self });
}

/** Host and port of `host:port`; an IPv6 host comes in brackets. */
function listenOf(text: string): { host: string; port: number } {
  const separator = text.lastIndexOf(":");
  const host = text.slice(0, separator).replaceAll(/[[\]]/g, "");
  return { host, port: Number(text.slice(separator + 1)) };
}
