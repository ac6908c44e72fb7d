import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Lookup } from "@tradewind/core/addresses.ts";
import { systemClock } from "@tradewind/core/clock.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { parseWith } from "@tradewind/core/config.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { TradewindError } from "@tradewind/core/errors.ts";
import { HttpDoor } from "@tradewind/core/http-door.ts";
import { createLog } from "@tradewind/core/log.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { serveProbes } from "@tradewind/core/probe-server.ts";
import type { ProbeServer } from "@tradewind/core/probe-server.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { TokenFile } from "@tradewind/core/token-file.ts";
import type { Running } from "@tradewind/core/running.ts";
import { recommendationHeader, recommendationList, servedNow } from "./api/list.ts";
import { serveApi } from "./api/server.ts";
import type { ApiServer } from "./api/server.ts";
import { startCluster } from "./cluster/cluster.ts";
import type { ClusterEdges } from "./cluster/cluster.ts";
import { limitsBy } from "./limits/limits.ts";
import { followApplication } from "./limits/own-application.ts";
import { ScalerThread } from "./keda/scaler-thread.ts";
import type { ScalerThreadOptions } from "./keda/messages.ts";
import { ExporterOptions } from "./options.ts";
import type { ExporterInput } from "./options.ts";
import { ClockSteps } from "./prometheus/clock-steps.ts";
import { registerConnections } from "./prometheus/connections.ts";
import { ExporterMetrics } from "./prometheus/metrics.ts";
import { registerProcess } from "./prometheus/process.ts";
import { registerApplication, serviceSeries } from "./prometheus/recommendations.ts";
import { Recommender } from "./recommender.ts";
import { OnePredictor } from "./source/plan-fetcher.ts";
import type { PlanFetcher } from "./source/plan-fetcher.ts";
import { PlanSource } from "./source/plan-source.ts";
import { PredictorChoice } from "./source/predictor-choice.ts";
import { DecisionBook } from "./store/book.ts";
import { StateKeeper } from "./store/keeper.ts";
import { StateFile } from "./store/state-file.ts";

const LOOPBACK = /^(127\.|localhost$|::1$)/;
/** How long an exporter that knows nothing keeps KEDA with those that do, while it asks for its first plan. */
const FIRST_PLAN_PATIENCE_MS = 2_000;

/** What a test may put in place of the real thing. */
export interface ExporterEdges {
  readonly clock?: Clock;
  readonly lookup?: Lookup;
  readonly cluster?: Pick<ClusterEdges, "connection" | "election" | "watchTimings">;
  readonly log?: Logger;
}

/**
 * Starts an exporter: reads back its last decisions, serves KEDA and HTTP from memory, and polls the predictor beside.
 * Addresses: `http` (URL) and `grpc` (`host:port`).
 * @throws TradewindError when an option is wrong, an address is taken or the certificates cannot be used
 */
export async function startExporter(input: ExporterInput, edges: ExporterEdges = {}): Promise<Running> {
  const options = parseWith(ExporterOptions, input, "exporter options");
  const clock = edges.clock ?? systemClock;
  const log = edges.log ?? createLog("exporter", options.logLevel);
  const metrics = new ExporterMetrics();
  const undo = new AsyncDisposableStack();
  try {
    const scaler = await ScalerThread.start(threadOptions(options), {
      observer: metrics,
      monotonicMs: () => clock.monotonicMs(),
      onDeath: (error) => endWith(error, log),
    });
    undo.defer(() => scaler.stop());
    const keeper = new StateKeeper(options.state === undefined ? undefined : new StateFile(options.state), {
      clock,
      log,
      counter: metrics,
    });
    undo.defer(() => keeper.flush());
    const application = await followApplication({
      from: options.application,
      kubeconfig: options.cluster.kubeconfig,
      connection: edges.cluster?.connection,
      clock,
      log,
    });
    undo.defer(() => application.stop());
    const recommender = new Recommender(
      new DecisionBook(),
      {
        limitsOf: limitsBy(options.limits, () => application.current()),
        exporterStartedAtMs: clock.nowMs(),
        staleAfterSeconds: options.staleAfter,
        restartGraceSeconds: options.restartGrace,
        clockToleranceMs: options.clockTolerance * 1e3,
      },
      { keeper, clock, counter: metrics, serve: (rows) => scaler.serve(rows) },
    );
    const restored = await recommender.restore();
    const clockSteps = new ClockSteps(clock);
    const plans: PlanSource = new PlanSource(
      planFetcher(options, {
        clock,
        log,
        lookup: edges.lookup,
        onRefused: (code) => metrics.planRefused(code),
      }),
      {
        onPlan: (plan) => recommender.takePlan(plan),
        onPoll: (result) => {
          metrics.polled(result);
          metrics.clockStepped(clockSteps.look());
          scaler.setPredictorProblem(plans.status.problem);
        },
      },
      {
        clock,
        log,
        rng: seededRng(randomInt(2 ** 31)),
        pollMs: options.pollMs,
      },
    );
    scaler.setPredictorProblem(plans.status.problem);
    const list = () => recommendationList(recommender, plans.status, clock);
    registerApplication(metrics.registry, () => recommendationHeader(plans.status, clock));
    undo.defer(registerProcess(metrics.registry, () => metrics.scaler));

    const door = new HttpDoor({
      allowedHosts: options.allowedHosts,
      tokenFile: options.httpTokenFile,
      monotonicMs: () => clock.monotonicMs(),
    });
    const api = await serveApi(options.listen, {
      list,
      decisionJson: (id) => recommender.book.json(id),
      historyJson: (namespace, service) => recommender.book.historyJson(namespace, service),
      missing: () => missing(plans, keeper, recommender, application.problem()),
      isAlive: () => scaler.isResponsive(),
      door,
      metrics: async function* () {
        metrics.scaler = await scaler.report();
        yield await metrics.registry.metrics();
        yield* serviceSeries(servedNow(recommender, clock.monotonicMs()), () => clock.monotonicMs());
      },
      log,
    });
    undo.defer(() => api.stop());
    const probes = await startProbes(options.probeListen, scaler, api);
    undo.defer(() => probes?.stop());
    registerConnections(metrics.registry, {
      grpc: () => metrics.scaler.connections,
      http: () => api.connections(),
      probe: () => probes?.counts(),
    });
    const firstPoll = plans.start();
    undo.defer(() => plans.stop());
    // Before the polling is, which waits for the plan in hand, which waits for a thread that may be stuck.
    undo.defer(() => scaler.stop());
    if (restored === 0) {
      await Promise.race([firstPoll, delay(FIRST_PLAN_PATIENCE_MS, undefined, { ref: false })]);
    }
    const grpc = await scaler.listen();
    if (options.tls === undefined && !LOOPBACK.test(options.grpcListen.host)) {
      log.warn({ grpc }, "the scaler port is open to the network without TLS; see docs/keda.md");
    }
    const cluster = await startCluster(options.cluster, {
      clock,
      log,
      rng: seededRng(randomInt(2 ** 31)),
      registry: metrics.registry,
      list,
      header: () => plans.status.plan,
      ...edges.cluster,
    });
    undo.defer(() => cluster?.stop());
    undo.defer(() => api.drain());
    log.info({ restored, http: api.address, grpc }, "exporter started");

    let stopping: Promise<void> | undefined;
    return {
      addresses: { http: api.address, grpc, ...(probes && { probe: probes.address }) },
      stop: () => (stopping ??= undo.disposeAsync()),
    };
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

interface PlanEdges {
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookup: Lookup | undefined;
  readonly onRefused: (problem: string) => void;
}

/** One predictor is asked as it is; several are compared. */
function planFetcher(options: ExporterOptions, edges: PlanEdges): PlanFetcher {
  const { clockTolerance, predictor, predictorDeadline, predictorTokenFile, staleAfter } = options;
  const limits = {
    clock: edges.clock,
    deadlineMs: predictorDeadline * 1e3,
    staleAfterMs: staleAfter * 1e3,
    clockToleranceMs: clockTolerance * 1e3,
    ...(predictorTokenFile !== undefined && { authorization: bearer(predictorTokenFile, edges.clock) }),
  };
  const [only, ...others] = predictor;
  if (only !== undefined && others.length === 0 && !only.startsWith("dns+")) {
    return new OnePredictor(only, limits);
  }
  return new PredictorChoice({ targets: predictor, ...limits, ...edges });
}

function bearer(path: string, clock: Clock): () => string {
  const token = new TokenFile(path, () => clock.monotonicMs());
  return () => `Bearer ${token.current()}`;
}

function threadOptions({ grpcListen, logLevel, scaler, tls }: ExporterOptions): ScalerThreadOptions {
  const { streamLifetimeMs, ...limits } = scaler;
  const options = { listen: grpcListen, limits, streamLifetimeMs, logLevel };
  return tls === undefined ? options : { ...options, tls };
}

async function startProbes(
  listen: ExporterOptions["probeListen"],
  scaler: ScalerThread,
  api: ApiServer,
): Promise<ProbeServer | undefined> {
  if (listen === undefined) return undefined;
  return serveProbes(listen, {
    dead: async () =>
      (await scaler.isResponsive()) ? undefined : "the thread that answers KEDA does not answer",
    notReady: () => (api.isDraining() ? "the exporter is stopping" : undefined),
  });
}

/** An exporter that nobody answers for must not look alive: its process ends, and is started again with its state. */
function endWith(error: TradewindError, log: Logger): void {
  log.fatal({ problem: describeError(error) }, "ending, to be started again");
  process.nextTick(() => {
    throw error;
  });
}

/** What a person should know who wonders why there are no numbers. */
function missing(
  plans: PlanSource,
  keeper: StateKeeper,
  { book }: Recommender,
  withoutBounds: string | undefined,
): string[] {
  const { problem } = plans.status;
  return [
    ...(withoutBounds === undefined ? [] : [`the guard knows no bounds of services: ${withoutBounds}`]),
    ...(problem === undefined ? [] : [problem]),
    ...(keeper.problem === undefined ? [] : [`state is kept in memory only: ${keeper.problem}`]),
    ...(book.size > 0 ? [] : ["no decision yet: GetMetrics answers UNAVAILABLE, GetMetricSpec works"]),
  ];
}
