import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import {
  demandOf,
  emptyProfile,
  isCalibrated,
  predictOwnTime,
} from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { track } from "@tradewind/predictor/models/queue/track.ts";
import type { OwnTime, ProfileState } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { emptyNetworkAnswer } from "@tradewind/predictor/models/network/head.ts";
import type { LatencyNetwork, NetworkState } from "@tradewind/predictor/models/network/latency-network.ts";
import { MEDIAN } from "@tradewind/predictor/models/network/shape.ts";
import { mean, median } from "@tradewind/core/values/statistics.ts";
import type { Recorded, Recording } from "./recordings.ts";
import { boosted, linear, naive, piecewise } from "./rivals/rivals.ts";
import type { Row } from "./rivals/rivals.ts";

export const METHODS = ["ours", "tracked", "network", "linear", "piecewise", "boosted", "naive"] as const;
type Method = (typeof METHODS)[number];
type MethodErrors = Record<Method, number | null>;

/** A held-out row and what each method says of it, seconds. */
interface Predicted {
  readonly p95Seconds: number;
  readonly isKnee: boolean;
  readonly by: Record<Method, number>;
}

const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

/** The queueing curve at a row's size and load. */
function curveTail(state: ProfileState, { window: { observation } }: Recorded): number {
  const { cpuCores, loadPerContainer = 0 } = observation;
  predictOwnTime(state, { cpuCores, loadPerContainer }, 0.95, out);
  return out.tailSeconds;
}

const answer = emptyNetworkAnswer();

/** By the network that all services share, after the windows of the training; and the product's own: the geometric mean of it and the curve. */
function networkTails(
  network: LatencyNetwork,
  state: NetworkState,
  { window: { observation, surroundings } }: Recorded,
): { readonly network: number; readonly ours: number } {
  const { cpuCores, loadPerContainer = 0 } = observation;
  network.at(state, { cpuCores, loadPerContainer, interference: surroundings.interference }, answer);
  const log = answer.logs[MEDIAN] ?? Number.NaN;
  return { network: Math.exp(log), ours: Math.exp((log + answer.curveLog) / 2) };
}

/** What rivals see: size, load, memory, interference, and the utilisation that our profile expects of these. */
function columnsOf(state: ProfileState, { window: { observation, surroundings } }: Recorded): number[] {
  const { cpuCores, loadPerContainer = 0 } = observation;
  const { cpuSecondsPerRequest = 0, housekeepingCores = 0, parallelism = 1 } = demandOf(state) ?? {};
  const used = housekeepingCores + loadPerContainer * cpuSecondsPerRequest;
  const interference = INTERFERENCE_COMPONENTS.map((_, at) => surroundings.interference[at] ?? Number.NaN);
  return [
    loadPerContainer,
    used / Math.min(cpuCores ?? Infinity, parallelism),
    cpuCores ?? Number.NaN,
    surroundings.memoryRatio,
    ...interference,
  ];
}

/** Trains everything on the rows of one service that are not held out, and predicts those that are. */
function predictService(
  rows: readonly Recorded[],
  isTest: (row: Recorded) => boolean,
  { network }: UnseenOptions,
): Predicted[] {
  const train = rows.filter((row) => !isTest(row));
  const test = rows.filter(isTest);
  const windows = train.map(({ window }) => window);
  const state = windows.reduce((before, { observation }) => track(before, observation), emptyProfile());
  if (!isCalibrated(state)) return [];
  const seen = windows.reduce((before, window) => network.after(before, window), network.empty());
  const rowOf = (row: Recorded): Row => ({
    columns: columnsOf(state, row),
    latencySeconds: row.p95Seconds,
  });
  const [learnt, later] = [train.map(rowOf), test.map(rowOf)];
  const rivals = {
    linear: linear(learnt)(later),
    piecewise: piecewise(learnt)(later),
    boosted: boosted(learnt)(later),
    naive: naive(learnt)(later),
  };
  const loadOf = ({ window }: Recorded): number => window.observation.loadPerContainer ?? 0;
  const middle = median(rows.map(loadOf));
  const calm = median(rows.filter((row) => loadOf(row) <= middle).map(({ p95Seconds }) => p95Seconds));
  return test.map((row, at): Predicted => ({
    p95Seconds: row.p95Seconds,
    isKnee: row.p95Seconds >= 2 * calm,
    by: {
      tracked: curveTail(state, row),
      ...networkTails(network, seen, row),
      linear: rivals.linear[at] ?? 0,
      piecewise: rivals.piecewise[at] ?? 0,
      boosted: rivals.boosted[at] ?? 0,
      naive: rivals.naive[at] ?? 0,
    },
  }));
}

export interface UnseenSplit {
  readonly name: string;
  readonly split: string;
  readonly services: number;
  readonly rows: number;
  readonly mape: MethodErrors;
  readonly median: MethodErrors;
  readonly kneeRows: number;
  readonly kneeMape: MethodErrors;
  readonly kneeMedian: MethodErrors;
  readonly notes: string;
}

/** The same by method, for the table of held-out configurations and times. */
export function heldOutOf({
  kneeMape,
  kneeMedian,
  mape,
  median: middle,
  name,
  split,
}: UnseenSplit): Record<string, unknown> {
  const of = (method: Method): Record<string, number | null> => ({
    mean: mape[method],
    median: middle[method],
    kneeMean: kneeMape[method],
    kneeMedian: kneeMedian[method],
  });
  const [ours, curve, network] = [of("ours"), of("tracked"), of("network")];
  const rivals = {
    linear: of("linear"),
    piecewise: of("piecewise"),
    trees: of("boosted"),
    constant: of("naive"),
  };
  return { set: name, split, ours, curve, network, ...rivals };
}

/** Absolute percentage error of every method, one decimal; null without rows. */
function errorsOf(rows: readonly Predicted[], middle: (errors: readonly number[]) => number): MethodErrors {
  const errorOf = (method: Method): number | null => {
    if (rows.length === 0) return null;
    return (
      Math.round(1e3 * middle(rows.map(({ by, p95Seconds }) => Math.abs(by[method] / p95Seconds - 1)))) / 10
    );
  };
  return Object.fromEntries(METHODS.map((method) => [method, errorOf(method)])) as MethodErrors;
}

interface UnseenOptions {
  readonly network: LatencyNetwork;
}

/** Every split of one recording. @param quick two services only */
export function measureUnseen(
  { name, notes, rows, splits }: Recording,
  { quick, ...options }: UnseenOptions & { readonly quick: boolean },
): UnseenSplit[] {
  const usable = rows.filter(
    ({ p95Seconds, window }) => p95Seconds > 0 && (window.observation.loadPerContainer ?? 0) > 0,
  );
  const services = [...Map.groupBy(usable, ({ service }) => service).values()].slice(0, quick ? 2 : Infinity);
  return Object.entries(splits).map(([split, isTest]) => {
    const predicted = services.flatMap((each) => predictService(each, isTest, options));
    const knee = predicted.filter(({ isKnee }) => isKnee);
    return {
      name,
      split,
      services: services.length,
      rows: predicted.length,
      mape: errorsOf(predicted, mean),
      median: errorsOf(predicted, median),
      kneeRows: knee.length,
      kneeMape: errorsOf(knee, mean),
      kneeMedian: errorsOf(knee, median),
      notes,
    };
  });
}
