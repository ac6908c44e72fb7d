import { systemClock } from "@tradewind/core/clock.ts";
import { RunReport } from "@tradewind/core/contract/run-report.ts";
import { parseWith } from "@tradewind/core/config.ts";
import { describeError } from "@tradewind/core/errors.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import type { Running } from "@tradewind/core/running.ts";
import { VERSION } from "@tradewind/core/version.ts";
import { createActuator } from "./actuator/actuator.ts";
import type { Actuation } from "./actuator/actuator.ts";
import { createKeda } from "./actuator/keda.ts";
import { DEMO_TIMINGS, recommendedBehavior } from "./actuator/scaled-object.ts";
import { createScalerClient } from "./actuator/scaler-client.ts";
import { createHttpClient } from "./application/call.ts";
import { HOTEL } from "./application/topology.ts";
import { startInterference } from "./interference/interference.ts";
import type { Interference } from "./interference/interference.ts";
import { arrivals } from "./load/arrivals.ts";
import { startLoad } from "./load/generator.ts";
import { createLatencyHistogram } from "./load/latency-histogram.ts";
import { defaultTrace, readTrace } from "./load/trace.ts";
import type { LocalOptions } from "./options.ts";
import { phaseAt, phasesOf } from "./phases/phases.ts";
import { startPlatform } from "./platform.ts";
import type { Platform } from "./platform.ts";
import { createObserver } from "./report/observer.ts";
import type { Observation } from "./report/observer.ts";
import { createPhaseMeter } from "./report/phase-meter.ts";
import { createRecentMeter } from "./report/recent.ts";
import { composePicture } from "./screen/compose.ts";
import type { Screen } from "./screen/screen.ts";
import { NAMESPACE } from "./supervise/workloads.ts";

/** Length of one round of phases when the run goes on until it is stopped. */
const ROUND_SECONDS = 150;
const TICK_MILLIS = 1_000;
const RECENT_SECONDS = 5;

/** A run of the local platform. */
export interface LocalRun extends Running {
  /**
   * Settles with the report when the run has ended, by its length or by `stop()`; everything is stopped by then.
   * Rejects when a process failed for good.
   */
  readonly finished: Promise<RunReport>;
}

/** Everything that counts during a run. */
function createMeters(options: LocalOptions) {
  const roundSeconds = options.for ?? ROUND_SECONDS;
  const phases = phasesOf(roundSeconds);
  return {
    roundSeconds,
    phases,
    phaseMeter: createPhaseMeter(phases, options.objective),
    recent: createRecentMeter(RECENT_SECONDS),
    rpcLatency: createLatencyHistogram(),
    counts: { rpcErrors: 0, actuations: 0 },
  };
}
type Meters = ReturnType<typeof createMeters>;

function composeReport(
  options: LocalOptions,
  meters: Meters,
  durationS: number,
  seen: Observation,
): RunReport {
  const { rpcLatency, counts, phaseMeter } = meters;
  const report: RunReport = {
    version: VERSION,
    seed: options.seed,
    policy: options.policy,
    application: HOTEL.name,
    objectiveMs: options.objective * 1e3,
    durationS,
    spans: seen.spans,
    windows: seen.windowsFormed,
    recommendations: seen.decisions,
    actuations: counts.actuations,
    keda: {
      rpcs: rpcLatency.count,
      errors: counts.rpcErrors,
      p99Ms: (rpcLatency.quantileSeconds(0.99) ?? 0) * 1e3,
    },
    agent: {
      samples: seen.agentSamples,
      cpuRatio: seen.snapshot?.agent.cpuRatio ?? 0,
      rssBytes: seen.snapshot?.agent.residentBytes ?? 0,
    },
    phases: [...phaseMeter.report()],
  };
  return parseWith(RunReport, report, "the report of this run");
}

function startActuator(
  platform: Platform,
  meters: Meters,
  screen: Screen,
  reasonOf: (service: string) => string,
) {
  const { fleet, processes } = platform;
  const replicas = (service: string): number =>
    fleet.states().find(({ definition }) => definition.name === service)?.replicasWanted ?? 0;
  const onActuation = ({ service, from, to, reason }: Actuation): void => {
    meters.counts.actuations += 1;
    const why = reason === "desired" ? reasonOf(service) : `${reason}; ${reasonOf(service)}`;
    screen.say(`${service}  ${from} → ${to}  ${why}`);
  };
  return createActuator({
    keda: createKeda(() =>
      createScalerClient(processes.addresses.grpc, (millis, failed) => {
        meters.rpcLatency.record(millis / 1e3);
        if (failed) meters.counts.rpcErrors += 1;
      }),
    ),
    target: { replicas, scale: (service, wanted) => fleet.scale(service, wanted) },
    timings: DEMO_TIMINGS,
    clock: systemClock,
    onActuation,
    onTrouble: (service, text) =>
      screen.say(
        text === undefined ? `scaler of ${service} answers again` : `${text}; replicas stay as they are`,
      ),
  });
}

/**
 * Starts the application, its load and all of Tradewind.
 * @throws TradewindError that names what could not be started; nothing is left running then
 */
export async function startLocal(options: LocalOptions, screen: Screen): Promise<LocalRun> {
  const trace = options.load === undefined ? defaultTrace() : await readTrace(options.load);
  const meters = createMeters(options);
  const ending = Promise.withResolvers<void>();
  const platform = await startPlatform(options, {
    say: (text) => screen.say(text),
    onFailure: (error) => ending.reject(error),
  });
  const { fleet, entryBalancer, processes } = platform;

  const observer = createObserver(processes.addresses);
  const reasonOf = (service: string): string =>
    observer.last.recommendations?.recommendations.find((each) => each.service === service)?.reason ?? "";
  const actuator = startActuator(platform, meters, screen, reasonOf);
  const client = createHttpClient();
  const load = startLoad({
    arrivals: arrivals(trace, meters.roundSeconds, HOTEL.flows, seededRng(options.seed)),
    balancer: entryBalancer,
    client,
    clock: systemClock,
    onOutcome(outcome) {
      meters.phaseMeter.record(outcome);
      meters.recent.record(outcome);
    },
  });

  let interference: Interference | undefined;
  const disturb = async (atS: number): Promise<void> => {
    const { name, toS } = phaseAt(meters.phases, atS);
    const wanted = name === "interference" && options.interference !== "none";
    if (wanted && interference === undefined) {
      const searchPath = options.interference === "built-in" ? "" : (process.env["PATH"] ?? "");
      const seconds = toS - (atS % meters.roundSeconds);
      interference = startInterference({
        seconds,
        searchPath,
        onSpawn: (pid) => platform.register.add("interference", pid),
      });
      screen.say(`${interference.source} disturbs the application for ${Math.round(seconds)} s`);
    } else if (!wanted && interference !== undefined) {
      const ended = interference;
      interference = undefined;
      await ended.stop();
    }
  };

  const sample = (): void => {
    const ready = fleet.states().reduce((sum, each) => sum + each.ready.length, 0);
    meters.phaseMeter.sample({
      atS: load.elapsedSeconds(),
      replicas: ready,
      cpuSeconds: fleet.cpuSeconds(),
    });
  };

  /** A ScaledObject is applied once the scaler knows its service, as a chart waits for its scaler to be ready. */
  const applyScaledObjects = ({ recommendations }: Observation): void => {
    for (const { service, valid } of recommendations?.recommendations ?? []) {
      const definition = HOTEL.services.find(({ name }) => name === service);
      if (definition === undefined || !valid || actuator.has(service)) continue;
      actuator.apply({
        ref: {
          name: service,
          namespace: NAMESPACE,
          scalerMetadata: { scalerAddress: processes.addresses.grpc, service },
        },
        service,
        minReplicaCount: definition.minReplicas,
        maxReplicaCount: definition.maxReplicas,
        behavior: recommendedBehavior(DEMO_TIMINGS),
      });
    }
  };

  const tick = async (): Promise<void> => {
    const atS = load.elapsedSeconds();
    sample();
    if (options.for !== undefined && atS >= options.for) return ending.resolve();
    await disturb(atS);
    const seen = await observer.refresh();
    applyScaledObjects(seen);
    screen.show(
      composePicture({
        options,
        atS: load.elapsedSeconds(),
        phase: phaseAt(meters.phases, atS).name,
        load: meters.recent.read(load.elapsedSeconds()),
        states: fleet.states(),
        observation: seen,
        interference: interference?.source,
        quota: platform.quota.description,
        addresses: processes.addresses,
      }),
    );
  };
  let ticking = Promise.resolve();
  let isTicking = false;
  const timer = setInterval(() => {
    if (isTicking) return;
    isTicking = true;
    ticking = tick()
      .catch((error: unknown) => ending.reject(error))
      .finally(() => {
        isTicking = false;
      });
  }, TICK_MILLIS);
  sample();

  const shutDown = async (): Promise<void> => {
    clearInterval(timer);
    await ticking;
    await interference?.stop();
    await load.stop();
    await actuator.stop();
    client.close();
  };
  const finish = async (): Promise<RunReport> => {
    try {
      await ending.promise;
      const durationS = load.elapsedSeconds();
      await shutDown();
      return composeReport(options, meters, durationS, await observer.refresh());
    } catch (error) {
      await shutDown().catch((problem: unknown) => screen.say(describeError(problem)));
      throw error;
    } finally {
      await platform.stop();
    }
  };
  const finished = finish();
  return {
    addresses: processes.addresses,
    finished,
    async stop() {
      ending.resolve();
      await finished.catch(() => undefined);
    },
  };
}
