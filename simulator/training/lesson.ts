import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { basisAfter, EMPTY_BASIS, isReady, surfaceOf } from "@tradewind/predictor/models/network/basis.ts";
import type { Basis } from "@tradewind/predictor/models/network/basis.ts";
import { askCurves, demandsIn, emptyCurves } from "@tradewind/predictor/models/network/curve.ts";
import { emptyPlace, UNLIMITED, writePlace } from "@tradewind/predictor/models/network/place-inputs.ts";
import type { Question } from "@tradewind/predictor/models/network/place-inputs.ts";
import { ANCHOR_INPUTS, PLACE_INPUTS, WINDOW_INPUTS } from "@tradewind/predictor/models/network/shape.ts";
import {
  anchorOf,
  LEAST_CALLS,
  TIME,
  writeAnchors,
} from "@tradewind/predictor/models/network/window-inputs.ts";
import type { NetworkWindow } from "@tradewind/predictor/models/network/window-inputs.ts";
import { MOST_USE, ServiceCourse, sizeWithinBounds } from "./course.ts";
import type { Moment } from "./course.ts";
import { drawPlan } from "./prior.ts";

/** Windows of a service, moments at which is asked, and questions of each: later windows, the place as it is, and others. */
export const WINDOWS = 48;
export const ASKS = 6;
const AHEAD = [1, 4] as const;
const MOVED = 2;
export const QUESTIONS = AHEAD.length + 1 + MOVED;
/** Of a question: inputs of its place, ln use of the limit, ln load over the usual, target, weight. */
export const QUESTION = PLACE_INPUTS + 4;
/** Of a moment: number of the window, and what the anchors say. */
export const ASK = 1 + ANCHOR_INPUTS;
export const LESSON = WINDOWS * WINDOW_INPUTS + ASKS * ASK + ASKS * QUESTIONS * QUESTION;

const FIRST_ASK = 4;

const curves = emptyCurves();
const place = emptyPlace();
const anchors = new Float64Array(ANCHOR_INPUTS);
const inputs = new Float64Array(WINDOW_INPUTS);

/** A service of the prior, all of it by its seed: its windows as the network sees them, and questions with their true answers. */
export function drawLesson(seed: number): Float32Array {
  const rng = seededRng(seed);
  const course = new ServiceCourse(drawPlan(rng), seed);
  const windows: NetworkWindow[] = [];
  const moments: Moment[] = [];
  const bases: Basis[] = [];
  const lesson = new Float32Array(LESSON);
  for (let i = 0; i < WINDOWS; i += 1) {
    const { moment, window } = course.next();
    windows.push(window);
    moments.push(moment);
    bases.push(basisAfter(bases.at(-1) ?? EMPTY_BASIS, window, inputs));
    lesson.set(inputs, i * WINDOW_INPUTS);
  }
  const span = WINDOWS - FIRST_ASK - Math.max(...AHEAD);
  for (let ask = 0; ask < ASKS; ask += 1) {
    const at = FIRST_ASK + Math.floor(((ask + rng()) * span) / ASKS);
    const basis = bases[at] as Basis;
    const askFrom = WINDOWS * WINDOW_INPUTS + ask * ASK;
    lesson[askFrom] = at;
    writeAnchors(basis.anchors, anchors, 0);
    lesson.set(anchors, askFrom + 1);
    const asked = [
      ...AHEAD.map((ahead) => laterWindow(windows[at + ahead] as NetworkWindow)),
      ...places(course, moments[at] as Moment, rng),
    ];
    for (const [i, each] of asked.entries()) {
      const from = WINDOWS * WINDOW_INPUTS + ASKS * ASK + (ask * QUESTIONS + i) * QUESTION;
      writeQuestion(basis, each, lesson.subarray(from, from + QUESTION));
    }
  }
  return lesson;
}

interface Asked {
  readonly question: Question;
  /** NaN: not known. */
  readonly p95Seconds: number;
  readonly weight: number;
}

/** Weight of a later window beside a true answer. */
const LATER_WEIGHT = 0.5;

/** A later window as it was measured: it shows levels and their noise. */
function laterWindow({ observation, surroundings }: NetworkWindow): Asked {
  const isMeasured = (observation.calls ?? 0) >= LEAST_CALLS && (observation.p95Seconds ?? 0) > 0;
  return {
    question: {
      cpuCores: observation.cpuCores,
      loadPerContainer: observation.loadPerContainer ?? 0,
      interference: surroundings.interference,
    },
    p95Seconds: isMeasured ? (observation.p95Seconds ?? Number.NaN) : Number.NaN,
    weight: LATER_WEIGHT,
  };
}

/** The place as it is and others, by the same requests. */
function places(course: ServiceCourse, now: Moment, rng: Rng): Asked[] {
  const key = Math.trunc(rng() * 2 ** 30);
  const moved = Array.from({ length: MOVED }, (): Moment => {
    const kind = rng();
    const isLimited = now.quotaCores < Infinity;
    const cores = Math.exp(0.45 * standardNormal(rng));
    const load = Math.exp(0.5 * standardNormal(rng));
    const movesCores = isLimited && (kind < 0.4 || kind > 0.85);
    const movesLoad = !movesCores || kind > 0.85;
    const quotaCores = movesCores ? sizeWithinBounds(now.quotaCores * cores) : now.quotaCores;
    const wanted = movesLoad ? now.requestsPerSecond * load : now.requestsPerSecond;
    const memoryScale =
      rng() < 0.15 ? now.memoryScale * Math.exp(0.35 * standardNormal(rng)) : now.memoryScale;
    const moment = { ...now, quotaCores, memoryScale };
    return { ...moment, requestsPerSecond: Math.min(wanted, MOST_USE * course.fullPerSecond(moment)) };
  });
  return [now, ...moved].map((moment) => ({
    question: course.questionAt(moment, now),
    p95Seconds: course.trueTail(moment, key),
    weight: 1,
  }));
}

function writeQuestion(basis: Basis, { p95Seconds, question, weight }: Asked, out: Float32Array): void {
  const isAsked = isReady(basis) && p95Seconds > 0 && question.loadPerContainer > 0;
  if (!isAsked) {
    out.fill(0);
    out[PLACE_INPUTS] = UNLIMITED;
    return;
  }
  askCurves(basis.profile, demandsIn(basis.profile), question, curves);
  writePlace(surfaceOf(basis), question, curves, place);
  out.set(place.values);
  out[PLACE_INPUTS] = place.limitUse;
  out[PLACE_INPUTS + 1] = place.relativeLoad;
  out[PLACE_INPUTS + 2] = Math.log(p95Seconds) - anchorOf(basis.anchors, TIME);
  out[PLACE_INPUTS + 3] = weight;
}
