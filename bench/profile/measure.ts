import { seededRng } from "@tradewind/core/rng.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import type { Switches } from "@tradewind/predictor/profile/model.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { settingsFor, trainProfile } from "@tradewind/predictor/training/train-profile.ts";
import type { TrainSettings } from "@tradewind/predictor/training/train-profile.ts";
import type { Dataset, ServiceRows } from "./dataset.ts";
import { plain } from "./rivals/plain.ts";
import { boosted, linear, naive, piecewise } from "./rivals/rivals.ts";
import { covered, errorSum, percentage, signErrors } from "./score.ts";
import type { ErrorSum } from "./score.ts";

export const METHODS = [
  "ours",
  "noPrior",
  "noMonotone",
  "plain",
  "linear",
  "piecewise",
  "boosted",
  "naive",
] as const;
type Method = (typeof METHODS)[number];

const SWITCHES: Record<"ours" | "noPrior" | "noMonotone", Switches> = {
  ours: ALL_ON,
  noPrior: { ...ALL_ON, prior: false },
  noMonotone: { ...ALL_ON, monotone: false },
};

interface ServiceResult {
  readonly predictions: Record<Method, number[]>;
  readonly signErrors: number;
  readonly covered: number;
  readonly trainSeconds: number;
}

export interface MeasureOptions {
  readonly seed: number;
  readonly quick: boolean;
}

function settings(rows: number, quick: boolean): TrainSettings {
  const full = settingsFor(rows);
  return quick ? { ...full, maxEpochs: 8, members: 1, spareMembers: 0 } : full;
}

function train(service: ServiceRows, switches: Switches, options: MeasureOptions): TrainedProfile {
  const { folds, priorWeight } = service;
  const request = {
    namespace: "bench",
    service: service.service,
    version: 1,
    percentile: 0.95,
    nowMs: 0,
    priorWeight,
    sets: { folds, later: [] },
  };
  const chosen = { ...settings(folds.flat().length, options.quick), switches };
  return new TrainedProfile(trainProfile(request, chosen, seededRng(options.seed)));
}

function measureService(service: ServiceRows, inTime: boolean, options: MeasureOptions): ServiceResult {
  const { folds, test } = service;
  const [stop = [], ...others] = folds;
  const learnt = { train: others.flat(), stop };
  const startedMs = performance.now();
  const ours = train(service, SWITCHES.ours, options);
  const trainSeconds = (performance.now() - startedMs) / 1e3;
  const values = (profile: TrainedProfile): number[] => test.map(({ input }) => profile.evaluate(input));
  const budget = settings(folds.flat().length, options.quick);
  return {
    predictions: {
      ours: values(ours),
      noPrior: values(train(service, SWITCHES.noPrior, options)),
      noMonotone: values(train(service, SWITCHES.noMonotone, options)),
      plain: plain(learnt, budget, seededRng(options.seed))(test),
      linear: linear(learnt)(test),
      piecewise: piecewise(learnt)(test),
      boosted: boosted(learnt)(test),
      naive: naive(folds.flat())(test),
    },
    signErrors: signErrors(ours, test),
    covered: covered(ours, test, inTime),
    trainSeconds,
  };
}

type MethodErrors = Record<Method, number | null>;

function errorsWhere(
  services: readonly ServiceRows[],
  results: readonly ServiceResult[],
  keep: (latencySeconds: number, service: ServiceRows) => boolean,
): { rows: number; mape: MethodErrors } {
  const sums = (method: Method): ErrorSum[] =>
    services.map((service, i) =>
      errorSum(results[i]?.predictions[method] ?? [], service.test, (latency) => keep(latency, service)),
    );
  return {
    rows: sums("naive").reduce((count, { rows }) => count + rows, 0),
    mape: Object.fromEntries(METHODS.map((method) => [method, percentage(sums(method))])) as MethodErrors,
  };
}

/** Trains and scores every method on one data set. */
export function measure(
  dataset: Dataset,
  options: MeasureOptions,
  progress: (text: string) => void,
): Record<string, unknown> {
  const services = options.quick ? dataset.services.slice(0, 2) : dataset.services;
  const results = services.map((service, i) => {
    progress(`${dataset.name} ${dataset.split}: ${service.service} (${i + 1} of ${services.length})`);
    return measureService(service, dataset.inTime, options);
  });
  const sum = (number: (result: ServiceResult) => number): number =>
    results.reduce((total, result) => total + number(result), 0);
  const all = errorsWhere(services, results, () => true);
  const knee = errorsWhere(services, results, (latency, { calmSeconds }) => latency >= 2 * calmSeconds);
  const { alsoAboveSeconds: limit } = dataset;
  return {
    name: dataset.name,
    split: dataset.split,
    services: services.length,
    rows: all.rows,
    mape: all.mape,
    kneeRows: knee.rows,
    kneeMape: knee.mape,
    ...(limit === undefined
      ? {}
      : { aboveSeconds: limit, above: errorsWhere(services, results, (latency) => latency > limit) }),
    ...(dataset.samplingNoise !== undefined && { samplingNoise: dataset.samplingNoise }),
    signErrors: sum((result) => result.signErrors),
    coverage90: Math.round((1000 * sum((result) => result.covered)) / Math.max(1, all.rows)) / 10,
    trainSeconds: Math.round(10 * sum((result) => result.trainSeconds)) / 10,
    notes: dataset.notes,
  };
}
