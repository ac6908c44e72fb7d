import { z } from "zod";
import { packed, unpacked } from "../packed.ts";
import { emptyMixture, KEPT, mixed, mixtureAfter } from "./level-mixture.ts";
import { askRules, RULES } from "./level-rules.ts";
import type { LevelPoint, Rule } from "./level-rules.ts";

/** All that say what the self time of a service is at today's size and a load. */
export const EXPERTS = [...RULES, "curve", "network"] as const;
export type Expert = (typeof EXPERTS)[number];
/** What is judged beside them: their mixture, and the geometric mean of curve and network, which says the shape. */
const JUDGED = ["level", "shape", ...RULES] as const;

/** Windows that rules look back on: a quarter of an hour of 15 s. */
const KEPT_POINTS = 64;

const sums = (count: number) => z.array(z.number()).length(count);

/** What the last windows say of the self time of one service as it runs. */
export const LevelMemory = z.strictObject({
  /** Percentile that it is of. */
  percentile: z.literal([0.5, 0.95, 0.99]),
  /** ln load and ln self time of the last windows, oldest first, as 32-bit floats in base64. */
  points: z.string().max(1_000),
  /** Fading sums of the experts' |ln error|, and of windows, see level-mixture.ts. */
  errors: sums(EXPERTS.length),
  weight: z.number().nonnegative(),
  /** Likewise, of what was served and of what it is compared with; then of its ln error, and of windows within the interval. */
  served: sums(JUDGED.length + 2),
  /** Windows judged. */
  windows: z.int().nonnegative(),
  /** ln CPU limit of the containers in the windows of `points`, NaN without one, as 32-bit floats in base64. */
  sizes: z.string().max(500).default(""),
  /** What a change of load or size made of the time: fading sums of |ln error| of curve and of network, and of such windows. */
  changes: sums(3).default([0, 0, 0]),
});
export type LevelMemory = z.infer<typeof LevelMemory>;

/** ln self time at one size and load, s: by the queueing curve and by the network. */
export interface ModelLogs {
  readonly curve: number;
  readonly network: number;
}

/** How well a service was known over its last windows, before each was seen: all of |ln(measured / expected)|. */
export interface LevelAccuracy {
  /** Of what was served. */
  readonly error: number;
  /** Mean ln(measured / expected): above 0 where more time was taken than was expected. */
  readonly bias: number;
  /** Share of the windows within the interval that should hold 0.8 of them, [0, 1]. */
  readonly coverage: number;
  readonly windows: number;
  /** Which expert sets the level now. */
  readonly expert: Expert;
  /** Of curve and network together, which say what other sizes and loads come to. */
  readonly modelError: number;
  /** Of the best rule of one line, and which that is. */
  readonly ruleError: number;
  readonly rule: Rule;
}

const NOTHING: Omit<LevelMemory, "percentile"> = {
  points: "",
  ...emptyMixture(EXPERTS.length),
  errors: [...emptyMixture(EXPERTS.length).errors],
  served: Array.from({ length: JUDGED.length + 2 }, () => 0),
  windows: 0,
  sizes: "",
  changes: [0, 0, 0],
};

const [BIAS, INSIDE] = [JUDGED.length, JUDGED.length + 1] as const;
/** Standard deviation of ln self time before windows have shown it, as one that counts as much as a window; and the least. */
const FIRST_SIGMA = 0.3;
const LEAST_SIGMA = 0.03;
/** Of a normal value: standard deviation over the mean distance, and standard deviations within which 0.8 of them lie. */
const OF_MEAN_DISTANCE = Math.sqrt(Math.PI / 2);
const OF_MIDDLE_80 = 1.2816;

/** As they were read: taking in a window asks for the same points up to three times. */
const readPoints = new WeakMap<LevelMemory, readonly LevelPoint[]>();

function pointsOf(memory: LevelMemory): readonly LevelPoint[] {
  const pointsBefore = readPoints.get(memory);
  if (pointsBefore !== undefined) return pointsBefore;
  const numbers = unpacked(memory.points);
  const points: LevelPoint[] = [];
  for (let i = 0; i + 1 < numbers.length; i += 2) {
    const [load, time] = [numbers[i] as number, numbers[i + 1] as number];
    if (Number.isFinite(load) && Number.isFinite(time)) points.push({ load, time });
  }
  readPoints.set(memory, points);
  return points;
}

/** What each expert says, in their order. Rules that know nothing yet say what the curve does. */
function saidBy(memory: LevelMemory | undefined, load: number, { curve, network }: ModelLogs): number[] {
  const rules = askRules(memory === undefined ? [] : pointsOf(memory), load);
  return [...RULES.map((rule) => rules[rule]), curve, network].map((log) =>
    Number.isFinite(log) ? log : curve,
  );
}

/** A window whose load or size was another one. */
export interface EarlierWindow extends LevelPoint {
  /** CPU limit of its containers; undefined: none. */
  readonly cpuCores: number | undefined;
}

/** The least change that teaches, as the sum of |ln| of load and size. */
const LEAST_CHANGE = 0.15;

/** Of the last windows that whose load and size differ most from these; undefined where none differs enough. @param load ln */
export function mostUnlike(
  memory: LevelMemory,
  { cpuCores, load }: { readonly cpuCores: number | undefined; readonly load: number },
): EarlierWindow | undefined {
  const points = pointsOf(memory);
  const sizes = unpacked(memory.sizes);
  const size = Math.log(cpuCores ?? Number.NaN);
  let [unlike, most]: [EarlierWindow | undefined, number] = [undefined, LEAST_CHANGE];
  for (const [index, point] of points.entries()) {
    const kept = sizes[index + sizes.length - points.length] ?? Number.NaN;
    // A limit that came or went is no change of its size.
    if (Number.isFinite(kept) !== Number.isFinite(size)) continue;
    const resized = Number.isFinite(size) ? Math.abs(kept - size) : 0;
    const change = Math.abs(point.load - load) + resized;
    if (change > most)
      [unlike, most] = [{ ...point, cpuCores: Number.isFinite(kept) ? Math.exp(kept) : undefined }, change];
  }
  return unlike;
}

/** Changes that were seen before the network takes part, and how much the better of two records counts. */
const LEAST_CHANGES = 3;
const RECORD_POWER = 4;
/** Of less than this the network is not asked. */
const LEAST_SHARE = 0.1;

/** Share of the network in what another size or load makes of the time, by the record of both, [0, 1]; 0 before they have one. */
export function networkShare({ changes }: Pick<LevelMemory, "changes"> = NOTHING): number {
  const [curve, network, windows] = changes as [number, number, number];
  if (windows <= LEAST_CHANGES || curve + network === 0) return 0;
  const share = 1 / (1 + (network / curve) ** RECORD_POWER);
  return share < LEAST_SHARE ? 0 : share;
}

/** Standard deviation of ln self time at today's size. */
function sigmaOf({ served, weight }: LevelMemory): number {
  const mean = (OF_MEAN_DISTANCE * (served[0] as number) + FIRST_SIGMA) / (weight + 1);
  return Math.max(LEAST_SIGMA, mean);
}

/** One window of a service: ln load of a container and ln self time. */
export interface LevelWindow extends LevelPoint {
  readonly percentile: LevelMemory["percentile"];
  /** CPU limit of its containers; undefined: none. */
  readonly cpuCores: number | undefined;
  /** What curve and network said of it before; undefined where they knew nothing yet. */
  readonly models: ModelLogs | undefined;
  /** The window before that was least like it, and what they say of that now; undefined: none is unlike it. */
  readonly earlier: (LevelPoint & { readonly models: ModelLogs }) | undefined;
  /** Spans hold less time than requests take of CPU: what was seen of changes is forgotten. */
  readonly isBlind: boolean;
}

/** Takes in a window, after judging by it what was said of it. */
export function levelAfter(
  before: LevelMemory | undefined,
  { cpuCores, earlier, isBlind, load, models, percentile, time }: LevelWindow,
): LevelMemory {
  const known = before?.percentile === percentile ? before : { ...NOTHING, percentile };
  const judged = models === undefined ? known : judgedBy(known, { load, time }, models);
  const points = [...pointsOf(known), { load, time }].slice(-KEPT_POINTS);
  const sizes = [...unpacked(known.sizes), Math.log(cpuCores ?? Number.NaN)].slice(-KEPT_POINTS);
  return {
    ...judged,
    ...(isBlind && { changes: NOTHING.changes }),
    ...(models && earlier && { changes: changesAfter(known, time - earlier.time, models, earlier.models) }),
    sizes: packed(Float64Array.from(sizes)),
    points: packed(Float64Array.from(points.flatMap((point) => [point.load, point.time]))),
  };
}

function changesAfter(
  { changes }: LevelMemory,
  measured: number,
  now: ModelLogs,
  earlier: ModelLogs,
): number[] {
  const errors = [now.curve - earlier.curve, now.network - earlier.network].map((said) =>
    Math.abs(measured - said),
  );
  return changes.map((sum, index) => KEPT * sum + (errors[index] ?? 1));
}

function judgedBy(memory: LevelMemory, { load, time }: LevelPoint, models: ModelLogs): LevelMemory {
  const said = saidBy(memory, load, models);
  const level = mixed(memory, said);
  const judged = [level, (models.curve + models.network) / 2, ...said.slice(0, RULES.length)];
  const isInside = Math.abs(time - level) <= OF_MIDDLE_80 * sigmaOf(memory);
  const added = [...judged.map((each) => Math.abs(time - each)), time - level, Number(isInside)];
  const { errors, weight } = mixtureAfter(memory, said, time);
  return {
    ...memory,
    errors: [...errors],
    weight,
    served: memory.served.map((each, i) => KEPT * each + (added[i] as number)),
    windows: memory.windows + 1,
  };
}

/** Undefined before the first window that was expected. */
export function accuracyOf(memory: LevelMemory | undefined): LevelAccuracy | undefined {
  if (memory === undefined || memory.windows === 0) return undefined;
  const { errors, served, weight, windows } = memory;
  const mean = (which: number): number => (served[which] as number) / weight;
  const ofRules = RULES.map((rule, i) => ({ rule, error: mean(i + 2) }));
  const best = ofRules.reduce((least, each) => (each.error < least.error ? each : least));
  return {
    error: mean(0),
    bias: mean(BIAS),
    coverage: Math.min(1, mean(INSIDE)),
    windows,
    expert: EXPERTS[errors.indexOf(Math.min(...errors))] as Expert,
    modelError: mean(1),
    ruleError: best.error,
    rule: best.rule,
  };
}

/** By how much the models may err more than the best rule, as a factor and beyond it, before they are held to near moves. */
const MODEL_RATIO = 1.5;
const MODEL_EXCESS = 0.1;

/** The models of a service do clearly worse than a rule of one line: what they say of sizes far from the present one is not trusted. */
export const isOutdone = ({ modelError, ruleError }: LevelAccuracy): boolean =>
  modelError > MODEL_RATIO * ruleError + MODEL_EXCESS;
