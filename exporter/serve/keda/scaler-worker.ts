import { parentPort, workerData } from "node:worker_threads";
import { status } from "@grpc/grpc-js";
import { AgeClock, systemClock } from "@tradewind/core/process/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { CallCounts } from "./call-counts.ts";
import { ReloadingCredentials } from "./credentials.ts";
import { LoopDelay } from "./loop-delay.ts";
import type {
  Answers,
  CarriedError,
  FromScaler,
  Question,
  ScalerThreadOptions,
  ToScaler,
} from "./messages.ts";
import { serveScaler } from "./server.ts";
import type { ScalerServer } from "./server.ts";
import { ActivityStreams } from "./streams.ts";
import { ServedTable } from "../../keep/served-table.ts";
import type { CallObserver } from "./watch-calls.ts";
import { startWatchdog } from "./watchdog.ts";

/**
 * The thread that answers KEDA. It has a heap and an event loop of its own, so that no call waits while the other thread
 * reads a plan, decides, writes or is scraped; all it knows is what it is sent.
 */
const port = parentPort;
if (port === null) throw new Error("keda/scaler-worker.ts runs only as a worker thread");
const options = workerData as ScalerThreadOptions;
const { forwardSteps, limits, listen, streamLifetimeMs, tls } = options;

const ageClock = new AgeClock(systemClock, forwardSteps);
const table = new ServedTable();
const streams = new ActivityStreams({
  maxStreams: limits.maxStreams,
  maxPerAddress: limits.maxStreamsPerAddress,
  lifetimeMs: streamLifetimeMs,
});
const log = createLog("exporter", options.logLevel);
const counts = new CallCounts(status);
const loop = new LoopDelay();
const watchdog = options.watchdog && startWatchdog("grpc", options.watchdog);
const observer: CallObserver = {
  finished: (rpc, code, seconds) => {
    counts.finished(rpc, code, seconds);
    watchdog?.progress();
  },
};
let credentials: ReloadingCredentials | undefined;
let server: ScalerServer | undefined;

const answers: { readonly [Each in Question]: () => Promise<Answers[Each]> | Answers[Each] } = {
  open: async () => {
    if (tls === undefined) return;
    const observer = {
      tlsReloaded: (...reloaded: [result: "changed" | "failed", expiresAtMs: number | undefined]) =>
        say({ kind: "tls", reloaded }),
    };
    credentials = await ReloadingCredentials.open(tls, { everyMs: tls.refreshMs, log, observer });
  },
  listen: async () => {
    const surroundings = { source: table, streams, monotonicMs: () => ageClock.monotonicMs() };
    const edges = { observer, monotonicMs: () => systemClock.monotonicMs(), log };
    server = await serveScaler(listen, credentials, surroundings, limits, edges);
    return server.address;
  },
  "put-in-force": () => {
    table.putInForce();
    streams.announce();
  },
  report: () => {
    const loopDelaySeconds = loop.takeSeconds();
    return {
      calls: counts.series(),
      openStreams: streams.size,
      ...(server === undefined ? {} : { connections: server.connections(), refused: server.refused() }),
      ...(loopDelaySeconds === undefined ? {} : { loopDelaySeconds }),
    };
  },
  ping: () => undefined,
  stop: async () => {
    await server?.stop();
    credentials?.stop();
    loop.stop();
  },
};

port.on("message", (message: ToScaler) => {
  if (message.kind === "rows") table.gather(message.rows);
  else if (message.kind === "predictor") table.predictorProblem = message.problem;
  else if (message.kind === "applications") table.setApplications(message.applications);
  else void reply(message);
});

async function reply({ id, question }: Extract<ToScaler, { kind: "question" }>): Promise<void> {
  try {
    say({ kind: "answer", id, answer: await answers[question]() });
  } catch (error) {
    say({ kind: "refused", id, error: carried(error) });
  }
}

function say(message: FromScaler): void {
  port?.postMessage(message, []);
}

function carried(error: unknown): CarriedError {
  const code = error instanceof TradewindError ? error.code : "internal";
  if (!(error instanceof Error)) return { code, message: describeError(error), cause: "" };
  return { code, message: error.message, cause: error.cause === undefined ? "" : describeError(error.cause) };
}
