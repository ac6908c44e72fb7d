import type { Rng } from "@tradewind/core/rng.ts";
import {
  BASE_SECONDS,
  CPU_CORES,
  CPU_SECONDS_PER_REQUEST,
  FEATURE_COUNT,
  INPUT_COUNT,
  LOAD_PER_CONTAINER,
  LOG_BASE_SLOT,
  NETWORK_DIRECTIONS,
  NETWORK_INPUT_COUNT,
  UTILISATION_SLOT,
} from "../profile/inputs.ts";
import { calibrate } from "../profile/interval.ts";
import type { LatencyProfile } from "../profile/latency-profile.ts";
import type { IntervalScale, ModelErrors, ProfileModel, Span, Switches } from "../profile/model.ts";
import { ALL_ON, shapeOf } from "../profile/model.ts";
import { median } from "../profile/order-statistics.ts";
import { shownLogStretch, utilisation } from "../profile/prior.ts";
import { layoutOf } from "../profile/shape.ts";
import { TrainedProfile } from "../profile/trained-profile.ts";
import { fitNetwork } from "./fit.ts";
import type { FitOptions, FitRows } from "./fit.ts";
import type { RowSets, TrainingRow } from "./rows.ts";

export interface TrainSettings {
  readonly switches: Switches;
  /** Widths of the hidden layers: with the output four layers, as Grad has. */
  readonly hidden: readonly number[];
  /** Networks averaged. */
  readonly members: number;
  /** Networks trained in excess, of which the worst are dropped. */
  readonly spareMembers: number;
  /** `absolute` learns the median of ln latency, `squared` its mean, which listens more to the knee. */
  readonly loss: FitOptions["loss"];
  readonly learningRate: number;
  readonly batchRows: number;
  /** For up to three inputs that vary in the rows; longer for more. */
  readonly maxEpochs: number;
  /** Epochs without a better validation loss after which it stops; as many times longer. */
  readonly patience: number;
  readonly decay: number;
}

export const TRAIN_DEFAULTS: TrainSettings = {
  switches: ALL_ON,
  hidden: [16, 16, 8],
  members: 3,
  spareMembers: 1,
  loss: "absolute",
  learningRate: 0.02,
  batchRows: 256,
  maxEpochs: 60,
  patience: 15,
  decay: 0.0003,
};

/** Measured base latencies are noisy: learning starts from believing them this far. */
const BASE_WEIGHT_START = 0.7;

/** Members worse than the best by more than this factor have got stuck and would spoil the mean. */
const TOLERABLE_MEMBER_ERROR = 1.15;

/** Steps that a training takes at least, small data or large, unless it stops by itself. */
const LEAST_STEPS = 500;

/**
 * Inputs that this many epochs are enough for. With more the network has more bends to find, and one that stops early
 * smooths them out: memory then seems to help where it has long ceased to.
 */
const INPUTS_PER_EPOCHS = 3;
const MOST_INPUTS_COUNTED = 7;

/** The defaults with batches and epochs that suit this many rows. */
export function settingsFor(rows: number): TrainSettings {
  const batchRows = Math.min(TRAIN_DEFAULTS.batchRows, Math.max(32, Math.ceil(rows / 8)));
  const maxEpochs = Math.max(40, Math.ceil(LEAST_STEPS / Math.ceil(rows / batchRows)));
  return { ...TRAIN_DEFAULTS, batchRows, maxEpochs, patience: Math.ceil(maxEpochs / 3) };
}

/** Rows below which a network learns nothing that the prior does not know. */
export const LEAST_TRAINING_ROWS = 40;

export interface TrainRequest {
  readonly namespace: string;
  readonly service: string;
  readonly version: number;
  readonly percentile: number;
  readonly nowMs: number;
  readonly priorWeight: number;
  readonly sets: RowSets;
  /** Model to start from; used when it has the same shape and switches. */
  readonly warmStart?: ProfileModel | undefined;
}

/** Network inputs of a row before normalisation: features, then utilisation and ln base where the prior is on. */
function networkInputs({ input }: TrainingRow, prior: boolean): number[] {
  const features = Array.from(input.subarray(0, FEATURE_COUNT));
  if (!prior) return features;
  return Array.from({ length: NETWORK_INPUT_COUNT }, (_, slot) => {
    if (slot === UTILISATION_SLOT) return utilisationOf(input);
    return slot === LOG_BASE_SLOT
      ? Math.log(input[BASE_SECONDS] ?? Number.NaN)
      : (features[slot] ?? Number.NaN);
  });
}

const utilisationOf = (input: Float64Array): number =>
  utilisation(
    input[LOAD_PER_CONTAINER] ?? Number.NaN,
    input[CPU_SECONDS_PER_REQUEST] ?? Number.NaN,
    input[CPU_CORES] ?? Number.NaN,
  );

function spanOf(values: readonly number[]): Span {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return { low: 0, high: 0, neutral: 0 };
  return {
    low: known.reduce((low, value) => Math.min(low, value)),
    high: known.reduce((high, value) => Math.max(high, value)),
    neutral: median(known),
  };
}

function normalise(value: number, { low, high, neutral }: Span): number {
  if (high <= low) return 0;
  const known = Number.isFinite(value) ? value : neutral;
  return (Math.min(high, Math.max(low, known)) - low) / (high - low);
}

/** Everything about a model but what the network learns. */
type Frame = Pick<
  ProfileModel,
  "switches" | "priorWeight" | "spans" | "baseSeconds" | "cpuSecondsPerRequest" | "inflation"
>;

function frameOf(rows: readonly TrainingRow[], switches: Switches, priorWeight: number): Frame {
  const columns = rows.map((row) => networkInputs(row, switches.prior));
  const width = switches.prior ? NETWORK_INPUT_COUNT : FEATURE_COUNT;
  const stateOf = (index: number, otherwise: number): number => {
    const known = rows.map(({ input }) => input[index] ?? Number.NaN).filter((value) => value > 0);
    return known.length === 0 ? otherwise : median(known);
  };
  const inflation = rows.find((row) => row.inflation !== undefined)?.inflation;
  const typical = median(rows.map(({ latencySeconds }) => latencySeconds));
  return {
    switches,
    priorWeight: switches.prior ? priorWeight : 0,
    spans: Array.from({ length: width }, (_, i) => spanOf(columns.map((column) => column[i] ?? Number.NaN))),
    baseSeconds: switches.prior ? stateOf(BASE_SECONDS, typical) : typical,
    cpuSecondsPerRequest: stateOf(CPU_SECONDS_PER_REQUEST, 1e-3),
    ...(inflation && { inflation }),
  };
}

function fitRows(rows: readonly TrainingRow[], { switches, spans, baseSeconds }: Frame): FitRows {
  const known = (value: number): number => (switches.prior && Number.isFinite(value) ? value : 0);
  return {
    count: rows.length,
    inputs: Float32Array.from(
      rows.flatMap((row) =>
        networkInputs(row, switches.prior).map((value, i) => normalise(value, spans[i] ?? spanOf([]))),
      ),
    ),
    offset: new Float32Array(rows.length).fill(Math.log(baseSeconds)),
    logStretch: Float32Array.from(rows, ({ input }) => known(shownLogStretch(utilisationOf(input)))),
    logBase: Float32Array.from(rows, ({ input }) =>
      known(Math.log((input[BASE_SECONDS] ?? Number.NaN) / baseSeconds)),
    ),
    target: Float32Array.from(rows, ({ latencySeconds }) => Math.log(latencySeconds)),
    weight: new Float32Array(rows.length).fill(1),
  };
}

/** ln measured − ln predicted in units of the spread, for every row. */
export function scoresOf(profile: TrainedProfile, rows: readonly TrainingRow[]): number[] {
  return rows.map(({ input, latencySeconds }) => {
    const predicted = profile.evaluate(input);
    return Math.log(latencySeconds / predicted) / profile.spread;
  });
}

/** Errors of any profile on rows it was not trained on. */
export function errorsOf(profile: LatencyProfile, rows: readonly TrainingRow[]): ModelErrors {
  let sum = 0;
  let covered = 0;
  for (const { input, latencySeconds } of rows) {
    sum += Math.abs(profile.evaluate(input) - latencySeconds) / latencySeconds;
    const { lowerSeconds, upperSeconds } = profile.verdict;
    if (latencySeconds >= lowerSeconds && latencySeconds <= upperSeconds) covered += 1;
  }
  const count = Math.max(1, rows.length);
  return { rows: rows.length, meanAbsoluteRatio: sum / count, coverage: covered / count };
}

function sameKind(
  model: ProfileModel | undefined,
  settings: TrainSettings,
  spans: readonly Span[],
): model is ProfileModel {
  return (
    model !== undefined &&
    model.activation === "tanh" &&
    model.spans.length === spans.length &&
    model.hidden.join() === settings.hidden.join() &&
    model.switches.monotone === settings.switches.monotone
  );
}

/**
 * Parameters of a model in the frame of another: the first layer is stretched and shifted and the last bias moved, so that
 * the same inputs before normalisation give the same latency.
 */
function rebased(model: ProfileModel, parameters: Float64Array, frame: Frame): Float64Array {
  const moved = parameters.slice();
  const { hidden, centre, baseWeight } = layoutOf(shapeOf(model));
  const [first] = hidden;
  if (first === undefined) return moved;
  for (const [i, to] of frame.spans.entries()) {
    const from = model.spans[i];
    if (from === undefined || from.high <= from.low || to.high <= to.low) continue;
    const width = from.high - from.low;
    for (let j = 0; j < first.to; j += 1) {
      const at = first.weights + i * first.to + j;
      const weight = parameters[at] ?? 0;
      moved[at] = (weight * (to.high - to.low)) / width;
      moved[first.biases + j] = (moved[first.biases + j] ?? 0) + (weight * (to.low - from.low)) / width;
    }
  }
  const shift = Math.log(model.baseSeconds / frame.baseSeconds) * (1 - (parameters[baseWeight] ?? 0));
  moved[centre.biases] = (moved[centre.biases] ?? 0) + shift;
  return moved;
}

function initialFrom(warm: ProfileModel | undefined, m: number, frame: Frame): Float64Array | undefined {
  const parameters = warm?.members[m];
  return warm === undefined || parameters === undefined ? undefined : rebased(warm, parameters, frame);
}

/** Every other later row calibrates, the rest judge. */
function halves<T>(rows: readonly T[]): { even: T[]; odd: T[] } {
  return { even: rows.filter((_, i) => i % 2 === 0), odd: rows.filter((_, i) => i % 2 === 1) };
}

/** How much longer than for a few inputs a training goes on. */
function epochFactor({ spans }: Frame): number {
  const varying = spans.filter(({ low, high }) => high > low).length;
  return Math.max(1, Math.min(varying, MOST_INPUTS_COUNTED) / INPUTS_PER_EPOCHS);
}

function checked({ service, sets }: TrainRequest): TrainingRow[] {
  const rows = sets.folds.flat();
  if (rows.length < LEAST_TRAINING_ROWS) {
    throw new RangeError(`${service}: ${rows.length} rows to train on, needs ${LEAST_TRAINING_ROWS}`);
  }
  for (const { input, latencySeconds } of [...rows, ...sets.later]) {
    if (!(latencySeconds > 0) || !Number.isFinite(latencySeconds) || input.length !== INPUT_COUNT) {
      throw new RangeError(`${service}: a row of ${input.length} inputs and ${latencySeconds} s`);
    }
  }
  return rows;
}

/** One network and the fold that it did not train on. */
interface Member {
  readonly parameters: Float64Array;
  readonly fold: number;
}

/** Mean |ln measured − ln predicted|. */
const logError = (profile: TrainedProfile, rows: readonly TrainingRow[]): number =>
  rows.reduce(
    (sum, { input, latencySeconds }) => sum + Math.abs(Math.log(latencySeconds / profile.evaluate(input))),
    0,
  ) / rows.length;

/** The best members on all rows, without those that got stuck. */
function chosenMembers(
  members: readonly Member[],
  alone: (member: Member) => TrainedProfile,
  rows: readonly TrainingRow[],
  most: number,
): Member[] {
  const judged = members.map((member) => ({ member, error: logError(alone(member), rows) }));
  judged.sort((a, b) => a.error - b.error);
  const tolerable = TOLERABLE_MEMBER_ERROR * (judged[0]?.error ?? 0);
  return judged
    .slice(0, most)
    .filter(({ error }) => error <= tolerable)
    .map(({ member }) => member);
}

/**
 * Trains one profile: `members + spareMembers` networks, each on all folds but one, of which the best stay. The interval is
 * calibrated on half of the later block and the errors are measured on the other half; without a later block the interval
 * is calibrated on the folds that each network has not seen.
 * @throws RangeError with fewer than {@link LEAST_TRAINING_ROWS} training rows or a row that is not finite and positive
 */
export function trainProfile(request: TrainRequest, settings: TrainSettings, rng: Rng): ProfileModel {
  const rows = checked(request);
  const { folds, later } = request.sets;
  const frame = frameOf(rows, settings.switches, request.priorWeight);
  const stretched = epochFactor(frame);
  const warm = sameKind(request.warmStart, settings, frame.spans) ? request.warmStart : undefined;
  const members = Array.from({ length: settings.members + settings.spareMembers }, (_, m): Member => {
    const fold = m % folds.length;
    const seen = folds.length === 1 ? rows : folds.flatMap((each, i) => (i === fold ? [] : each));
    const options: FitOptions = {
      shape: { inputs: frame.spans.length, hidden: settings.hidden, activation: "tanh" },
      directions: NETWORK_DIRECTIONS,
      monotone: settings.switches.monotone,
      loss: settings.loss,
      learningRate: settings.learningRate,
      batchRows: settings.batchRows,
      maxEpochs: Math.ceil(stretched * settings.maxEpochs),
      patience: Math.ceil(stretched * settings.patience),
      spreadQuantile: 0.9,
      decay: settings.decay,
      stretchWeight: frame.priorWeight,
      baseWeight: settings.switches.prior ? BASE_WEIGHT_START : 0,
      initial: initialFrom(warm, m, frame),
    };
    const { parameters } = fitNetwork(
      fitRows(seen, frame),
      fitRows(folds[fold] ?? rows, frame),
      options,
      rng,
    );
    return { parameters: Float64Array.from(parameters, Math.fround), fold };
  });
  const modelOf = (chosen: readonly Member[], interval: IntervalScale): ProfileModel => ({
    ...frame,
    namespace: request.namespace,
    service: request.service,
    version: request.version,
    percentile: request.percentile,
    trainedAtMs: request.nowMs,
    trainingRows: rows.length,
    hidden: settings.hidden,
    activation: "tanh",
    members: chosen.map(({ parameters }) => parameters),
    interval,
    errors: { rows: 0, meanAbsoluteRatio: 0, coverage: 0 },
  });
  const unscaled = { low: -1, high: 1 };
  const alone = (member: Member): TrainedProfile => new TrainedProfile(modelOf([member], unscaled));
  const chosen = chosenMembers(members, alone, rows, settings.members);
  const { even, odd } = halves(later);
  const scores =
    later.length === 0
      ? chosen.flatMap((member) => scoresOf(alone(member), folds[member.fold] ?? []))
      : scoresOf(new TrainedProfile(modelOf(chosen, unscaled)), even);
  const model = modelOf(chosen, calibrate(scores));
  return { ...model, errors: errorsOf(new TrainedProfile(model), odd) };
}
