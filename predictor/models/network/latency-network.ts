import type { Demands } from "../queue/own-time.ts";
import type { ProfileState } from "../queue/profile-state.ts";
import { basisAfter, EMPTY_BASIS, isReady, surfaceOf } from "./basis.ts";
import type { Basis } from "./basis.ts";
import { askCurves, demandsIn, emptyCurves } from "./curve.ts";
import { dense } from "./dense.ts";
import { Head } from "./head.ts";
import type { HeadContext, NetworkAnswer } from "./head.ts";
import { emptyPlace, writePlace } from "./place-inputs.ts";
import type { Question, Surface } from "./place-inputs.ts";
import {
  ANCHOR_INPUTS,
  CHANNELS,
  GROUP,
  HIDDEN,
  KEPT,
  LEAST_SUM,
  LOUDEST,
  WEIGHT_COUNT,
  WINDOW_INPUTS,
} from "./shape.ts";
import type { LayerName } from "./shape.ts";
import { squash } from "./smooth.ts";
import { anchorOf, TIME, writeAnchors } from "./window-inputs.ts";
import type { NetworkWindow } from "./window-inputs.ts";

export type { NetworkWindow, Question };

/** What is known of one service after its windows: plain numbers. */
export interface NetworkState extends Basis {
  /** Of the first and of the second fading sum: values, then their weights. */
  readonly sums: readonly number[];
  /** What the first layer saw of the last window; empty before any. */
  readonly inputs: readonly number[];
}

const EMPTY: NetworkState = {
  ...EMPTY_BASIS,
  sums: Array.from({ length: 4 * CHANNELS }, () => 0),
  inputs: [],
};

interface Prepared {
  readonly surface: Surface;
  readonly demands: readonly Demands[];
  readonly context: HeadContext;
  readonly time: number;
}

/**
 * The latency profile that is trained once for all services. Nothing is trained here: what a service is like is in the state that its
 * windows leave, and more cores or memory never make an answer longer, nor more load or interference shorter, whatever the weights.
 */
export class LatencyNetwork {
  private readonly weights: Float64Array;
  private readonly head: Head;
  private readonly prepared = new WeakMap<NetworkState, Prepared>();
  private readonly curves = emptyCurves();
  private readonly place = emptyPlace();
  private readonly window = new Float64Array(WINDOW_INPUTS);
  private readonly one = new Float64Array(HIDDEN);
  private readonly two = new Float64Array(HIDDEN);
  private readonly sum = new Float64Array(2 * CHANNELS);
  private readonly joined = new Float64Array(HIDDEN + CHANNELS);
  private readonly all = new Float64Array(WINDOW_INPUTS + 2 * CHANNELS + ANCHOR_INPUTS);

  /** @throws RangeError when it is not as many as the network has */
  constructor(weights: Float64Array) {
    if (weights.length !== WEIGHT_COUNT)
      throw new RangeError(`the latency network has ${WEIGHT_COUNT} weights, not ${weights.length}`);
    this.weights = weights;
    this.head = new Head(weights);
  }

  empty(): NetworkState {
    return EMPTY;
  }

  /**
   * Takes in one window; windows come in order of time.
   * @param profile after the window, where it is known
   */
  after(state: NetworkState, window: NetworkWindow, profile?: ProfileState): NetworkState {
    const { window: inputs } = this;
    const basis = basisAfter(state, window, inputs, { demands: this.prepared.get(state)?.demands, profile });
    const sums = [...state.sums];
    this.fade(inputs, sums);
    return { ...basis, sums, inputs: [...inputs] };
  }

  /** Whether it has seen enough to answer. */
  isReady(state: NetworkState): boolean {
    return isReady(state);
  }

  /**
   * The p95 of the self time at a place, with its quantiles and slopes; meaningful once {@link isReady}. Allocates nothing after the
   * first of a state.
   * @param isTimeAlone the slopes are not asked for
   */
  at(state: NetworkState, question: Question, out: NetworkAnswer, isTimeAlone = false): void {
    const { context, demands, surface, time } = this.prepare(state);
    askCurves(state.profile, demands, question, this.curves);
    writePlace(surface, question, this.curves, this.place);
    this.head.answer(context, this.place, time, out, isTimeAlone);
    out.curveLog = this.curves.logs[0] as number;
  }

  private prepare(state: NetworkState): Prepared {
    const known = this.prepared.get(state);
    if (known !== undefined) return known;
    const made: Prepared = {
      surface: surfaceOf(state),
      demands: demandsIn(state.profile),
      context: this.head.contextOf(this.read(state)),
      time: anchorOf(state.anchors, TIME),
    };
    this.prepared.set(state, made);
    return made;
  }

  /** Both fading sums after a window. */
  private fade(inputs: Float64Array, sums: number[]): void {
    const { joined, one, sum, two } = this;
    this.dense("first", inputs, one, true);
    this.dense("second", one, two, true);
    this.dense("shortSum", two, sum, false);
    add(sum, sums, 0);
    joined.set(two);
    means(sums, 0, joined, HIDDEN);
    this.dense("third", joined, one, true);
    this.dense("longSum", one, sum, false);
    add(sum, sums, 2 * CHANNELS);
  }

  /** What the state says to the head. */
  private read({ anchors, inputs, sums }: NetworkState): Float64Array {
    const { all, one, two } = this;
    all.fill(0);
    all.set(inputs);
    means(sums, 0, all, WINDOW_INPUTS);
    means(sums, 2 * CHANNELS, all, WINDOW_INPUTS + CHANNELS);
    writeAnchors(anchors, all, WINDOW_INPUTS + 2 * CHANNELS);
    this.dense("fourth", all, one, true);
    this.dense("context", one, two, true);
    return two;
  }

  private dense(name: LayerName, input: Float64Array, out: Float64Array, isBent: boolean): void {
    dense(this.weights, name, input, out);
    if (!isBent) return;
    for (let i = 0; i < out.length; i += 1) {
      const value = out[i] as number;
      out[i] = value / (1 + Math.exp(-value));
    }
  }
}

/** Fades a sum and adds what a window says to it, as loud as it says it. */
function add(said: Float64Array, sums: number[], from: number): void {
  for (let i = 0; i < CHANNELS; i += 1) {
    const kept = KEPT[Math.floor(i / GROUP)] as number;
    const loud = Math.exp(squash(said[CHANNELS + i] as number, LOUDEST));
    sums[from + i] = kept * (sums[from + i] as number) + loud * (said[i] as number);
    sums[from + CHANNELS + i] = kept * (sums[from + CHANNELS + i] as number) + loud;
  }
}

function means(sums: readonly number[], from: number, out: Float64Array, to: number): void {
  for (let i = 0; i < CHANNELS; i += 1)
    out[to + i] = (sums[from + i] as number) / ((sums[from + CHANNELS + i] as number) + LEAST_SUM);
}
