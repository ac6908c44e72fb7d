import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { median } from "@tradewind/core/values/statistics.ts";
import type { Contender } from "../contenders/contender.ts";
import type { Actuators } from "../contenders/contender.ts";
import { run } from "../contenders/run.ts";
import type { Obstacle, RunResult } from "../contenders/run.ts";
import { fixed } from "../model/distribution.ts";
import type { PlantModel } from "../model/plant-model.ts";
import { DEFAULT_HPA, NO_FAULTS } from "../world.ts";
import type { Plant } from "../world.ts";
import { fitHistory } from "./fitted.ts";
import type { FittedHistory } from "./fitted.ts";
import { splitHistory } from "./history.ts";
import { HistoryWorld } from "./history-world.ts";
import { recordedResult } from "./recorded.ts";
import type { RecordedResult } from "./recorded.ts";
import { validate } from "./validate.ts";
import type { RouteValidation } from "./validate.ts";

export interface BacktestOptions {
  readonly application: Application;
  /** Recorded intervals, oldest first. */
  readonly sets: readonly WindowSet[];
  /** Share of them, by time, that models are fitted on; above 0 and below 1. */
  readonly fitRatio: number;
  readonly contenders: readonly Contender[];
  readonly podStartSeconds: number;
  readonly seed: number;
  /** What policies may change; sizes too unless it is given. */
  readonly actuators?: Actuators;
  /** Of the later part only the stretch of this many intervals with the most requests is replayed; absent: all of it. */
  readonly mostReplayed?: number;
  /** Intervals before that, in which policies decide already and nothing counts; default 0. */
  readonly warmUpIntervals?: number;
  /** Replay each policy twice more, with latencies as far off as in the best and the worst hour that was judged. */
  readonly ranges?: boolean;
  /** @param what is being done @param doneRatio of all that there is to do, [0, 1] */
  readonly onProgress?: (what: string, doneRatio: number) => void;
}

/** What a policy would have done, by the fitted models. */
export interface Replayed {
  readonly policy: string;
  readonly about: string;
  readonly result: RunResult;
  /** The same where models are off as in the hours of the lowest and the highest 5 %; absent unless asked for. */
  readonly range?: readonly [RunResult, RunResult];
}

/** Sums over the replayed part, as people budget them. */
export interface BacktestReport {
  readonly application: string;
  readonly objectiveSeconds: number;
  readonly percentile: number;
  readonly fromMs: number;
  readonly fitUntilMs: number;
  readonly toMs: number;
  /** What was replayed of the judged part. */
  readonly replayFromMs: number;
  readonly replayToMs: number;
  readonly windowSeconds: number;
  /** `tracked`: by its queueing profile; `none`: too few windows for one. */
  readonly services: readonly { readonly service: string; readonly model: "tracked" | "none" }[];
  readonly routes: readonly RouteValidation[];
  readonly recorded: RecordedResult;
  readonly policies: readonly Replayed[];
  readonly seed: number;
}

/** Fewest intervals of each part that say anything. */
const LEAST_INTERVALS = 20;

/** @throws RangeError that says what is missing when the history is too short or has no route through the entry */
function checked(fitted: FittedHistory, application: Application): FittedHistory {
  if (fitted.routes.length > 0) return fitted;
  const entry = `no route enters through '${application.entry}'`;
  throw new RangeError(`${entry} in the first part of the history; check the application's entry`);
}

/**
 * Fits models on the first part of a recording, compares their predictions with the rest, and replays policies on it.
 * Replayed figures are simulated; only `recorded` and `routes` compare with measurements.
 */
export async function backtest(options: BacktestOptions): Promise<BacktestReport> {
  const { application, contenders, fitRatio, onProgress, seed, sets } = options;
  const { fit, later } = splitHistory(sets, fitRatio);
  const [first, begin, last] = [fit[0], later[0], later.at(-1)];
  if (first === undefined || begin === undefined || last === undefined || tooShort(fit, later))
    throw new RangeError(shortWords(fit, later));
  const fitUntilMs = begin.startMs;
  const stretch = busiest(later, options.mostReplayed ?? later.length);
  const turns = options.ranges === true ? SHIFTS : NO_SHIFT;
  const share = 1 / (contenders.length + 1);
  const fitted = checked(
    fitHistory(sets, application, fitUntilMs, (done) => onProgress?.("fitting models", share * done)),
    application,
  );
  const routes = validate(fitted, fit, later);
  const begun = sets.indexOf(stretch[0] ?? begin);
  const warmUp = sets.slice(Math.max(0, begun - (options.warmUpIntervals ?? 0)), begun);
  const plants = turns.map((place) => plantOf(options, fitted, shifted(routes, place), warmUp, stretch));
  const policies: Replayed[] = [];
  for (const [place, contender] of contenders.entries()) {
    const results: RunResult[] = [];
    for (const [turn, plant] of plants.entries()) {
      onProgress?.(`replaying ${contender.name}`, share * (place + 1 + turn / turns.length));
      results.push(await replayed(options, contender, { plant, truth: truthOf(plant, fitted) }));
    }
    const [result, low, high] = results;
    if (result === undefined) continue;
    const range = low === undefined || high === undefined ? {} : { range: [low, high] as const };
    policies.push({ policy: contender.name, about: contender.about, result, ...range });
  }
  return {
    application: application.name,
    objectiveSeconds: application.objective.milliseconds / 1e3,
    percentile: application.objective.percentile,
    fromMs: first.startMs,
    fitUntilMs,
    toMs: last.endMs,
    replayFromMs: stretch[0]?.startMs ?? fitUntilMs,
    replayToMs: stretch.at(-1)?.endMs ?? last.endMs,
    windowSeconds: windowSecondsOf(stretch),
    services: fitted.index.names.map((service) => ({
      service,
      model: fitted.services.has(service) ? "tracked" : "none",
    })),
    routes,
    recorded: recordedResult(stretch, fitted, application),
    policies,
    seed,
  };
}

const replayed = async (
  { actuators = "replicas+cpu+memory", seed }: BacktestOptions,
  contender: Contender,
  obstacle: Obstacle,
): Promise<RunResult> => run({ obstacle, contender, actuators, seed });

function shortWords(fit: readonly WindowSet[], later: readonly WindowSet[]): string {
  const need = `needs ${LEAST_INTERVALS} intervals to fit and ${LEAST_INTERVALS} to replay`;
  const [window] = [...fit, ...later];
  const seconds = window === undefined ? 15 : (window.endMs - window.startMs) / 1e3;
  const least = `${Math.ceil((2 * LEAST_INTERVALS * seconds) / 60)} minutes of windows of ${seconds} s`;
  return `${need}, has ${fit.length} and ${later.length}; record ${least} at least, or choose a longer time with --from and --to`;
}

/** Of a route's hourly errors: none added, the lowest and the highest. */
const NO_SHIFT = [undefined] as const;
const SHIFTS = [undefined, 0, 1] as const;

const shifted = (routes: readonly RouteValidation[], place: 0 | 1 | undefined): RouteValidation[] =>
  routes.map((route) =>
    place === undefined ? route : { ...route, shift: route.shift + route.hourly[place] },
  );

const windowSecondsOf = (sets: readonly WindowSet[]): number =>
  median(sets.map((set) => (set.endMs - set.startMs) / 1e3));

/** The stretch of so many intervals with the most requests. */
function busiest(sets: readonly WindowSet[], most: number): readonly WindowSet[] {
  const requests = sets.map(
    ({ endMs, flows, startMs }) =>
      (endMs - startMs) * flows.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0),
  );
  let sum = requests.slice(0, most).reduce((total, each) => total + each, 0);
  let best = { sum, from: 0 };
  for (let from = 1; from + most <= sets.length; from += 1) {
    sum += (requests[from + most - 1] ?? 0) - (requests[from - 1] ?? 0);
    if (sum > best.sum) best = { sum, from };
  }
  return sets.slice(best.from, best.from + most);
}

/** What contenders may know of how the recording was made: its routes, and that all of its traces were seen. */
function truthOf(
  { application, podStartSeconds, seconds, startMs }: Plant,
  { routes }: FittedHistory,
): PlantModel {
  return {
    application: {
      name: application.name,
      entry: application.entry,
      services: [],
      routes: routes.map(({ route }) => ({
        name: route,
        service: application.entry,
        operation: route,
        share: 1 / routes.length,
      })),
    },
    load: () => 0,
    seconds,
    startMs,
    cluster: { nodes: 0, nodeCores: 0, nodeMemoryBytes: 0, podStartMs: fixed(1e3 * podStartSeconds) },
    telemetry: { sampledRatio: 1, spanDelaySeconds: 2 },
  };
}

const tooShort = (...parts: readonly (readonly WindowSet[])[]): boolean =>
  parts.some((part) => part.length < LEAST_INTERVALS);

function plantOf(
  { application, podStartSeconds }: BacktestOptions,
  fitted: FittedHistory,
  validation: readonly RouteValidation[],
  warmUp: readonly WindowSet[],
  counted: readonly WindowSet[],
): Plant {
  const sets = [...warmUp, ...counted];
  const startMs = sets[0]?.startMs ?? 0;
  const endMs = sets.at(-1)?.endMs ?? startMs;
  return {
    name: "history",
    about: "the recorded load, with latency by fitted models",
    application,
    seconds: (endMs - startMs) / 1e3,
    startMs,
    warmUpSeconds: ((counted[0]?.startMs ?? startMs) - startMs) / 1e3,
    windowSeconds: windowSecondsOf(counted),
    podStartSeconds,
    hpa: DEFAULT_HPA,
    faults: NO_FAULTS,
    create: (seed) => new HistoryWorld({ application, fitted, validation, sets, podStartSeconds, seed }),
  };
}
