import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { median } from "@tradewind/core/values/statistics.ts";
import type { Contender } from "../contenders/contender.ts";
import { run } from "../contenders/run.ts";
import type { RunResult } from "../contenders/run.ts";
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
  /** @param what is being done @param doneRatio of all that there is to do, [0, 1] */
  readonly onProgress?: (what: string, doneRatio: number) => void;
}

/** What a policy would have done, by the fitted models. */
export interface Replayed {
  readonly policy: string;
  readonly about: string;
  readonly result: RunResult;
}

/** Sums over the replayed part, as people budget them. */
export interface BacktestReport {
  readonly application: string;
  readonly objectiveSeconds: number;
  readonly percentile: number;
  readonly fromMs: number;
  readonly fitUntilMs: number;
  readonly toMs: number;
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
  if (first === undefined || begin === undefined || last === undefined || tooShort(fit, later)) {
    const need = `needs ${LEAST_INTERVALS} intervals to fit and ${LEAST_INTERVALS} to replay`;
    const [window] = sets;
    const seconds = window === undefined ? 15 : (window.endMs - window.startMs) / 1e3;
    const least = `${Math.ceil((2 * LEAST_INTERVALS * seconds) / 60)} minutes of windows of ${seconds} s`;
    throw new RangeError(
      `${need}, has ${fit.length} and ${later.length}; record ${least} at least, or choose a longer time with --from and --to`,
    );
  }
  const fitUntilMs = begin.startMs;
  const share = 1 / (contenders.length + 1);
  const fitted = checked(
    fitHistory(sets, application, fitUntilMs, (done) => onProgress?.("fitting models", share * done)),
    application,
  );
  const routes = validate(fitted, fit, later);
  const plant = plantOf(options, fitted, routes, later);
  const policies: Replayed[] = [];
  for (const [place, contender] of contenders.entries()) {
    onProgress?.(`replaying ${contender.name}`, share * (place + 1));
    const result = await run({
      obstacle: { plant, truth: truthOf(plant, fitted) },
      contender,
      actuators: "replicas+cpu+memory",
      seed,
    });
    policies.push({ policy: contender.name, about: contender.about, result });
  }
  return {
    application: application.name,
    objectiveSeconds: application.objective.milliseconds / 1e3,
    percentile: application.objective.percentile,
    fromMs: first.startMs,
    fitUntilMs,
    toMs: last.endMs,
    windowSeconds: plant.windowSeconds,
    services: fitted.index.names.map((service) => ({
      service,
      model: fitted.services.has(service) ? "tracked" : "none",
    })),
    routes,
    recorded: recordedResult(later, fitted, application),
    policies,
    seed,
  };
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
  sets: readonly WindowSet[],
): Plant {
  const startMs = sets[0]?.startMs ?? 0;
  const endMs = sets.at(-1)?.endMs ?? startMs;
  return {
    name: "history",
    about: "the recorded load, with latency by fitted models",
    application,
    seconds: (endMs - startMs) / 1e3,
    startMs,
    warmUpSeconds: 0,
    windowSeconds: median(sets.map((set) => (set.endMs - set.startMs) / 1e3)),
    podStartSeconds,
    hpa: DEFAULT_HPA,
    faults: NO_FAULTS,
    create: (seed) => new HistoryWorld({ application, fitted, validation, sets, podStartSeconds, seed }),
  };
}
