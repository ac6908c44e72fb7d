import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import { CURVES } from "./curve.ts";
import type { CurveAnswers } from "./curve.ts";
import { PLACE_INPUTS } from "./shape.ts";
import { logistic, softplus, squash, squashSlope } from "./smooth.ts";
import { anchorOf, CORES, DEMAND, hasCores, LOAD, logLoad, TIME } from "./window-inputs.ts";
import type { Anchors } from "./window-inputs.ts";

/** Size, load and surroundings of one container that are asked about. */
export interface Question {
  /** CPU limit; undefined: none. */
  readonly cpuCores: number | undefined;
  /** Requests per second. */
  readonly loadPerContainer: number;
  /** Memory limit over that of the last window. Default 1. */
  readonly memoryScale?: number | undefined;
  /** By component; NaN: not measured. Default: as in the last window. */
  readonly interference?: readonly number[] | undefined;
}

/** Inputs of the head at one place, none of which falls when it gets worse, and how they move with ln cores, load and memory. */
export interface PlaceInputs {
  readonly values: Float64Array;
  readonly byCores: Float64Array;
  readonly byLoad: Float64Array;
  readonly byMemory: Float64Array;
  /** ln use of the CPU limit at the usual demand, {@link UNLIMITED} without; and ln load over the usual. */
  limitUse: number;
  relativeLoad: number;
  isLimited: boolean;
}

export const emptyPlace = (): PlaceInputs => ({
  values: new Float64Array(PLACE_INPUTS),
  byCores: new Float64Array(PLACE_INPUTS),
  byLoad: new Float64Array(PLACE_INPUTS),
  byMemory: new Float64Array(PLACE_INPUTS),
  limitUse: 0,
  relativeLoad: 0,
  isLimited: false,
});

/** ln use of a limit that is not there. */
export const UNLIMITED = -6;
/** Loads and sizes this far from the usual, as ln, are one. */
const FARTHEST = 5;
export const CURVE = 2;
const MEMORY = CURVE + CURVES;
const INTERFERENCE = MEMORY + 2;
/** Working set over the limit from which a lack of memory is felt, and how sharply. */
const ENOUGH = 0.88;
const SHARPNESS = 20;
const MOST_MEMORY = 3;

/** What is known apart from the place. */
export interface Surface {
  readonly anchors: Anchors;
  readonly isCalibrated: boolean;
  /** Memory working set over the limit, NaN: not known; and interference by component. */
  readonly memoryRatio: number;
  readonly interference: readonly number[];
}

/** Allocates nothing. */
export function writePlace(
  surface: Surface,
  question: Question,
  curves: CurveAnswers,
  out: PlaceInputs,
): void {
  const { anchors } = surface;
  const { byCores, byLoad, byMemory, values } = out;
  const load = logLoad(question.loadPerContainer);
  const cores = Math.log(question.cpuCores ?? 1);
  out.isLimited = question.cpuCores !== undefined && hasCores(anchors);
  out.relativeLoad = load - anchorOf(anchors, LOAD);
  out.limitUse = out.isLimited ? load + anchorOf(anchors, DEMAND) - cores : UNLIMITED;
  values[0] = squash(out.relativeLoad, FARTHEST);
  byLoad[0] = squashSlope(values[0], FARTHEST);
  values[1] = out.isLimited ? -squash(cores - anchorOf(anchors, CORES), FARTHEST) : 0;
  byCores[1] = out.isLimited ? -squashSlope(values[1], FARTHEST) : 0;
  const time = anchorOf(anchors, TIME);
  for (let i = 0; i < CURVES; i += 1) {
    const distance = surface.isCalibrated ? (curves.logs[i] as number) - time : 0;
    const slope = surface.isCalibrated ? 1 / Math.sqrt(1 + distance * distance) : 0;
    values[CURVE + i] = Math.asinh(distance);
    byCores[CURVE + i] = slope * (curves.byCores[i] as number);
    byLoad[CURVE + i] = slope * (curves.byLoad[i] as number);
  }
  const isMemoryKnown = !Number.isNaN(surface.memoryRatio);
  const ratio = isMemoryKnown ? surface.memoryRatio / (question.memoryScale ?? 1) : 0;
  const held = squash(ratio, MOST_MEMORY);
  const byRatio = isMemoryKnown ? -ratio * squashSlope(held, MOST_MEMORY) : 0;
  values[MEMORY] = held;
  byMemory[MEMORY] = byRatio;
  values[MEMORY + 1] = isMemoryKnown ? softplus(SHARPNESS * (held - ENOUGH)) / SHARPNESS : 0;
  byMemory[MEMORY + 1] = byRatio * logistic(SHARPNESS * (held - ENOUGH));
  const interference = question.interference ?? surface.interference;
  for (let i = 0; i < INTERFERENCE_COMPONENTS.length; i += 1) {
    const value = interference[i] ?? Number.NaN;
    values[INTERFERENCE + i] = Number.isNaN(value) ? 0 : value;
  }
}
