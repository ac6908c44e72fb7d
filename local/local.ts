import { systemClock } from "@tradewind/core/process/clock.ts";
import type { SizeChanges } from "@tradewind/core/contract/recommendation.ts";
import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { attachActuator } from "./actuator/attach.ts";
import type { AttachedActuator } from "./actuator/attach.ts";
import { describeResize } from "./screen/render.ts";
import { createResizer } from "./actuator/resizer.ts";
import { createHttpClient } from "./application/call.ts";
import { applicationOf } from "./application/applications.ts";
import { labelFault } from "./fault/label-fault.ts";
import { scheduleFault } from "./fault/follow-fault.ts";
import { createDisturbance } from "./interference/disturbance.ts";
import { arrivals } from "./load/arrivals.ts";
import { startLoad } from "./load/generator.ts";
import { readTrace, shippedTrace } from "./load/trace.ts";
import type { RateTrace } from "./load/trace.ts";
import { mixOf, readUsers } from "./load/users.ts";
import type { UserTrace } from "./load/users.ts";
import { readUtilisation } from "./load/utilisation.ts";
import type { LocalOptions } from "./options.ts";
import { phaseAt, phasesOf } from "./load/phases.ts";
import { parsePolicy } from "./policy.ts";
import { startPlatform } from "./platform.ts";
import type { Platform } from "./platform.ts";
import { composeReport, createMeters } from "./report/meters.ts";
import type { Meters } from "./report/meters.ts";
import { endPredictor } from "./end-predictor.ts";
import { createObserver } from "./report/observer.ts";
import { createOutage } from "./outage.ts";
import type { Outage } from "./outage.ts";
import type { Observer } from "./report/observer.ts";
import { composePicture, ruleOf } from "./screen/compose.ts";
import { readKeys } from "./screen/keys.ts";
import type { Keys } from "./screen/keys.ts";
import { createQuestions, QUESTION_KEYS } from "./screen/questions.ts";
import type { Questions } from "./screen/questions.ts";
import type { Rival } from "./screen/picture.ts";
import type { Screen } from "./screen/screen.ts";
import { NAMESPACE } from "./supervise/workloads.ts";

/** Length of one round of phases when the run goes on until it is stopped. */
const ROUND_SECONDS = 150;
const TICK_MILLIS = 1_000;

/** A run of the local platform. */
export interface LocalRun extends Running {
  /**
   * Settles with the report when the run has ended, by its length or by `stop()`; everything is stopped by then.
   * Rejects when a process failed for good.
   */
  readonly finished: Promise<RunReport>;
}

/** A change that was carried out, to be told with its reason. */
interface CarriedOutChange {
  readonly service: string;
  readonly change: string;
  readonly size: keyof SizeChanges;
  /** What kept it from being what was recommended; empty when nothing did. */
  readonly limitedBy: string;
}

/** Parts of a run that has its platform. */
interface RunParts {
  readonly options: LocalOptions;
  readonly screen: Screen;
  readonly platform: Platform;
  readonly trace: RateTrace;
  /** Which users come when; absent: always in the same shares. */
  readonly users: UserTrace | undefined;
  /** Settled by whatever ends the run. */
  readonly ending: PromiseWithResolvers<void>;
  readonly meters: Meters;
  readonly outage: Outage;
  /** Seconds since the start of the load; 0 before it. */
  readonly clock: { elapsedSeconds: () => number };
  readonly rival: Rival | undefined;
}

/** What a run is started with beside its options. */
export interface LocalSurroundings {
  readonly screen: Screen;
  /** Gives up a start that is under way; once it is done, `stop()` ends the run. */
  readonly signal: AbortSignal;
  /** A run to draw beside this one. */
  readonly rival?: Rival | undefined;
}

/**
 * Starts the application, its load and all of Tradewind.
 * @throws TradewindError that names what could not be started, or the signal's reason; nothing is left running then
 */
export async function startLocal(
  options: LocalOptions,
  { rival, screen, signal }: LocalSurroundings,
): Promise<LocalRun> {
  const { trace, users } = await loadOf(options);
  const ending = Promise.withResolvers<void>();
  // Awaited only once the platform stands; a failure before that must not count as unhandled.
  ending.promise.catch(() => undefined);
  const meters = createMeters({
    phases: phasesOf(options.for ?? ROUND_SECONDS),
    objectiveSeconds: options.objective,
    isEndless: options.for === undefined,
  });
  const outage = createOutage(meters);
  const clock = { elapsedSeconds: () => 0 };
  const platform = await startPlatform(options, {
    say: (text) => screen.say(text),
    onFailure: (error) => ending.reject(error),
    onProcess(name, state) {
      const line = name === "predictor" && state === "up" ? outage.end(clock.elapsedSeconds()) : undefined;
      if (line !== undefined) screen.say(line);
    },
    signal,
  });
  const finished = run({ options, screen, platform, trace, users, ending, meters, outage, clock, rival });
  finished.catch(() => undefined);
  return {
    addresses: platform.processes.addresses,
    finished,
    async stop() {
      ending.resolve();
      await finished.catch(() => undefined);
    },
  };
}

/** @throws TradewindError `invalid-load` where a file cannot be used */
async function loadOf({
  application,
  load,
  loadUtilisation,
  users,
}: LocalOptions): Promise<{ readonly trace: RateTrace; readonly users: UserTrace | undefined }> {
  const topology = applicationOf(application);
  const trace =
    loadUtilisation !== undefined
      ? await readUtilisation(loadUtilisation, topology)
      : load !== undefined
        ? await readTrace(load)
        : shippedTrace(topology.load);
  return { trace, users: users === undefined ? undefined : await readUsers(users, topology.flows) };
}

/** Puts the load on the platform and follows it to its end. */
async function run(parts: RunParts): Promise<RunReport> {
  const { clock, ending, meters, options, outage, platform, screen } = parts;
  try {
    const roundSeconds = options.for ?? ROUND_SECONDS;
    const policy = parsePolicy(options.policy);
    const phases = phasesOf(roundSeconds);
    const observer = createObserver(platform.processes.addresses);
    const decided: CarriedOutChange[] = [];
    const actuator = attach(parts, meters, observer, decided);
    const resizer = createResizer(platform.fleet, ({ service, from, to }) => {
      meters.actuations += 1;
      const size = from.cpuCores === to.cpuCores ? "memoryBytes" : "cpuCores";
      decided.push({ service, change: describeResize(from, to), size, limitedBy: "" });
    });
    const disturbance = createDisturbance({
      phases,
      kind: options.interference,
      searchPath: process.env["PATH"] ?? "",
      onSpawn: (pid) => platform.register.add("interference", pid),
      say: (text) => screen.say(text),
    });
    const fault = scheduleFault(options.fault, platform.fleet, {
      say: (text) => screen.say(text),
      nowMs: () => systemClock.nowMs(),
      onOver: async (over, time) => labelFault(platform.processes.addresses.predictor, over, time),
    });
    const predictorEnds = endPredictor(options, {
      processes: platform.processes,
      outage,
      say: (text) => screen.say(text),
    });
    const client = createHttpClient();
    const { flows } = applicationOf(options.application);
    const load = startLoad({
      arrivals: arrivals(
        parts.trace,
        roundSeconds,
        parts.users === undefined ? flows : mixOf(parts.users, roundSeconds, flows),
        seededRng(options.seed),
      ),
      balancer: platform.entryBalancer,
      client,
      untilSeconds: options.for,
      clock: systemClock,
      onOutcome(outcome) {
        meters.phases.record(outcome);
        meters.recent.record(outcome);
        meters.timeline.record(outcome);
      },
    });
    clock.elapsedSeconds = () => load.elapsedSeconds();
    const help = { isShown: false };
    const questions = createQuestions(platform.processes.addresses.predictor);
    const keys = followKeys(parts, help, questions);

    const tick = async (): Promise<void> => {
      const atS = load.elapsedSeconds();
      sampleFleet(platform, meters, atS);
      if (options.for !== undefined && atS >= options.for) return ending.resolve();
      await disturbance.follow(atS);
      fault.follow(atS);
      predictorEnds(atS);
      const observation = await observer.refresh();
      actuator.follow();
      await resizer.apply(observation.recommendations);
      for (const { service, change, limitedBy, size } of decided.splice(0)) {
        const known = observation.recommendations?.recommendations.find((each) => each.service === service);
        const rule =
          policy.kind === "tradewind"
            ? (known?.setBy?.[size]?.reason ?? known?.reason ?? "")
            : ruleOf(policy);
        // The reason names the sizes as well, and the line has them already.
        const why = [limitedBy, rule.replace(`, ${change}`, "")].filter((text) => text !== "");
        screen.say(`${service}  ${change}  ${why.join("; ")}`);
      }
      screen.show(
        composePicture({
          options,
          atS: load.elapsedSeconds(),
          phase: phaseAt(phases, atS).name,
          phases,
          meters,
          rival: parts.rival,
          isInteractive: keys.isInteractive,
          showsHelp: help.isShown,
          notes: [outage.note(load.elapsedSeconds())].filter((note) => note !== undefined),
          answer: questions.lines,
          states: platform.fleet.states(),
          observation,
          interference: disturbance.source,
          quota: platform.quota.description,
          addresses: platform.processes.addresses,
        }),
      );
    };
    sampleFleet(platform, meters, 0);
    const stopTicking = repeat(TICK_MILLIS, tick, (error) => ending.reject(error));
    try {
      await ending.promise;
    } finally {
      keys.stop();
      await stopTicking();
      await disturbance.stop();
      await load.stop();
      await actuator.stop();
      client.close();
    }
    const durationS = load.elapsedSeconds();
    const identity = {
      seed: options.seed,
      policy: options.policy,
      application: options.application,
      objectiveMs: options.objective * 1e3,
      durationS,
    };
    return composeReport(identity, meters, await observer.refresh());
  } finally {
    await platform.stop();
  }
}

/** The keys of the live picture. */
function followKeys(
  { clock, outage, platform, screen }: RunParts,
  help: { isShown: boolean },
  questions: Questions,
): Keys {
  return readKeys(process.stdin, {
    isLive: screen.isLive,
    onKey(key) {
      if (key === "?") help.isShown = !help.isShown;
      const question = QUESTION_KEYS.find((each) => each === key);
      if (question !== undefined) void questions.toggle(question, clock.elapsedSeconds());
      if (key !== "k" || !platform.processes.kill("predictor")) return;
      outage.begin(clock.elapsedSeconds());
      screen.say("killed the predictor; the scaler goes on answering from its last decision");
    },
    onQuit: () => process.emit("SIGINT"),
  });
}

function attach(
  { options, platform: { fleet, processes }, screen }: RunParts,
  meters: Meters,
  observer: Observer,
  decided: CarriedOutChange[],
): AttachedActuator {
  return attachActuator({
    policy: parsePolicy(options.policy),
    topology: applicationOf(options.application),
    observed: () => observer.last,
    namespace: NAMESPACE,
    fleet,
    scalerAddress: processes.addresses.grpc,
    onCall(millis, failed) {
      meters.rpcLatency.add(millis);
      if (failed) meters.rpcErrors += 1;
    },
    onActuation({ service, from, to, reason }) {
      meters.actuations += 1;
      meters.starts += Math.max(0, to - from);
      meters.stops += Math.max(0, from - to);
      decided.push({
        service,
        change: `${from} → ${to}`,
        size: "replicas",
        limitedBy: reason === "desired" ? "" : reason,
      });
    },
    say: (text) => screen.say(text),
  });
}

function sampleFleet({ fleet }: Platform, meters: Meters, atS: number): void {
  const sizes = fleet.states().flatMap(({ ready }) => ready.map((replica) => replica.limits));
  meters.phases.sample({
    atS,
    replicas: sizes.length,
    cpuSeconds: fleet.cpuSeconds(),
    allocatedCpuCores: sizes.reduce((sum, { cpuCores }) => sum + cpuCores, 0),
    allocatedMemoryBytes: sizes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
  });
}

/**
 * Calls `turn` every `millis`, never twice at once.
 * @returns ends it, and resolves when the turn under way has ended
 */
function repeat(
  millis: number,
  turn: () => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let current: Promise<void> | undefined;
  const timer = setInterval(() => {
    current ??= turn()
      .catch(onError)
      .finally(() => {
        current = undefined;
      });
  }, millis);
  return async () => {
    clearInterval(timer);
    await current;
  };
}
