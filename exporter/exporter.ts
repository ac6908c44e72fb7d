import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AgeClock, noSteps, systemClock } from "@tradewind/core/process/clock.ts";
import type { ForwardSteps } from "@tradewind/core/process/clock.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { TradewindError } from "@tradewind/core/values/errors.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { startHeartbeat } from "@tradewind/core/process/heartbeat.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { applicationSources } from "@tradewind/kubernetes/application/sources.ts";
import { recommendationList } from "./decide/recommendation-list.ts";
import { applicationsIn } from "./decide/override/known-services.ts";
import { startCluster } from "./controller/leader.ts";
import { sceneApplications } from "./controller/scene/scene-applications.ts";
import { ScalerThread } from "./serve/keda/scaler-thread.ts";
import { newBeats } from "./serve/keda/watchdog.ts";
import type { ScalerThreadOptions } from "./serve/keda/messages.ts";
import { ExporterOptions } from "./options.ts";
import type { ExporterInput } from "./options.ts";
import { ExporterMetrics } from "./serve/prometheus/metrics.ts";
import { followApplications } from "./plans/follow-applications.ts";
import { startAlone } from "./silence/start.ts";
import { prepareDecisions } from "./decision-parts.ts";
import type { ExporterEdges, Setting } from "./decision-parts.ts";
import { openPorts } from "./open-ports.ts";

const LOOPBACK = /^(127\.|localhost$|::1$)/;
/** How long an exporter that knows nothing keeps KEDA with those that do, while it asks for its first plan. */
const FIRST_PLAN_PATIENCE_MS = 2_000;
/** How often overrides are looked at whose time may be up. */
const OVERRIDE_LOOK_MS = 500;
/** A watchdog looks a few times a second, and leaves a moment for its last words. */
const WATCHDOG_LATE_MS = 500;
/** The threads, which know more, come before the supervisor. */
const SUPERVISOR_LATER_MS = 500;

/**
 * Starts an exporter: reads back its last decisions, serves KEDA and HTTP from memory, and polls the predictor beside.
 * Addresses: `http` (URL) and `grpc` (`host:port`).
 * @throws TradewindError when an option is wrong, an address is taken or the certificates cannot be used
 */
export async function startExporter(input: ExporterInput, edges: ExporterEdges = {}): Promise<Running> {
  const options = parseWith(ExporterOptions, input, "scaler options");
  const forwardSteps = noSteps();
  const setting: Setting = {
    options,
    edges,
    clock: new AgeClock(edges.clock ?? systemClock, forwardSteps),
    forwardSteps,
    log: edges.log ?? createLog("exporter", options.logLevel),
    metrics: new ExporterMetrics(),
    undo: new AsyncDisposableStack(),
  };
  try {
    const addresses = await startParts(setting);
    let stopping: Promise<void> | undefined;
    return { addresses, stop: () => (stopping ??= setting.undo.disposeAsync()) };
  } catch (error) {
    await setting.undo.disposeAsync();
    throw error;
  }
}

/** @returns the addresses listened on, by role */
async function startParts(setting: Setting): Promise<Record<string, string>> {
  const { clock, edges, forwardSteps, log, metrics, options, undo } = setting;
  let endHeartbeat: (() => void) | undefined;
  undo.defer(() => endHeartbeat?.());
  const scaler = await ScalerThread.start(threadOptions(options, forwardSteps), {
    observer: metrics.tls("grpc"),
    onDeath: (error) => endWith(error, log),
  });
  undo.defer(() => scaler.stop());
  const deciding = await prepareDecisions(setting, scaler);
  const { annotations, application, journal, overrides, plans, recommender, settings, statuses } = deciding;
  const restored = await recommender.restore();
  await overrides.restore();
  const looking = setInterval(() => {
    void overrides.look();
    const now = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    for (const place of applicationsIn(recommender.book)) {
      const { editor, override } = application.annotated(place.namespace, place.application);
      const configured = application.find(place.namespace, place.application);
      const changed = configured === undefined ? [] : settings.look(configured, editor, clock.nowMs());
      if (changed.length > 0) void journal.append(changed);
      void annotations.take(place, override, now);
    }
  }, OVERRIDE_LOOK_MS).unref();
  undo.defer(() => clearInterval(looking));
  const { api, probes } = await openPorts(setting, scaler, deciding);
  const poll = followApplications(options, plans, {
    clock,
    log,
    lookup: edges.lookup,
    onApplications: (applications) => {
      scaler.setApplications(applications);
      scaler.setPredictorProblem(undefined);
    },
  });
  const firstPoll = Promise.all([plans.start(), poll.start()]);
  undo.defer(() => plans.stop());
  undo.defer(() => poll.stop());
  // Before the polling is, which waits for the plan in hand, which waits for a thread that may be stuck.
  undo.defer(() => scaler.stop());
  undo.defer(
    startAlone({ options, ...deciding, registry: metrics.registry, clock, log, lookup: edges.lookup }),
  );
  if (restored === 0) {
    await Promise.race([firstPoll, delay(FIRST_PLAN_PATIENCE_MS, undefined, { ref: false })]);
  }
  const grpc = await scaler.listen();
  if (options.watchdog > 0) endHeartbeat = startHeartbeat(options.watchdog * 1e3 + SUPERVISOR_LATER_MS);
  if (options.tls === undefined && !LOOPBACK.test(options.grpcListen.host)) {
    log.warn({ grpc }, "the scaler port is open to the network without TLS; see docs/keda.md");
  }
  const sources = await applicationSources(options.application);
  const places = sources.filter((source) => source.kind === "resource");
  const cluster = await startCluster(options.cluster, {
    clock,
    log,
    rng: seededRng(randomInt(2 ** 31)),
    registry: metrics.registry,
    list: () => recommendationList(recommender, statuses(), clock, plans.hasAnswer),
    auditHead: () => journal.head(),
    applications: () =>
      sceneApplications(recommender, statuses(), clock, {
        places,
        application: (namespace, name) => application.find(namespace, name),
        reading: (namespace, name) => application.reading(namespace, name),
      }),
    ...edges.cluster,
  });
  undo.defer(() => cluster?.stop());
  undo.defer(() => api.drain());
  log.info({ restored, http: api.address, grpc }, "scaler started");
  return { http: api.address, grpc, ...(probes && { probe: probes.address }) };
}

function threadOptions(options: ExporterOptions, forwardSteps: ForwardSteps): ScalerThreadOptions {
  const { grpcListen, logLevel, maxSenderWork, scaler, tls, watchdog } = options;
  const { streamLifetimeMs, ...limits } = scaler;
  return {
    listen: grpcListen,
    limits: { ...limits, maxSenderWork },
    streamLifetimeMs,
    logLevel,
    forwardSteps,
    ...(tls === undefined ? {} : { tls }),
    ...(watchdog === 0
      ? {}
      : { watchdog: { beats: newBeats(), limitMs: watchdog * 1e3 - WATCHDOG_LATE_MS } }),
  };
}

/** An exporter that nobody answers for must not look alive: its process ends, and is started again with its state. */
function endWith(error: TradewindError, log: Logger): void {
  log.fatal({ problem: describeError(error) }, "ending, to be started again");
  process.nextTick(() => {
    throw error;
  });
}
