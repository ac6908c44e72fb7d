import type { FlowGraph } from "./call-graph.ts";
import { emptyLargest, largestOfEqual, momentsOfLargest } from "./largest.ts";
import type { LargestOfEqual } from "./largest.ts";
import { emptyLogMoments, logMomentsOf, secondsOfMoments, varianceOf } from "./lognormal.ts";
import { Longer, UPPER_QUANTILE } from "./longer.ts";

/** Moments of one of several times that run side by side, and how they follow from those of the callee. */
interface Lane {
  mean: number;
  variance: number;
  meanByMean: number;
  meanByVariance: number;
  varianceByMean: number;
  varianceByVariance: number;
}

const emptyLane = (): Lane => ({
  mean: 0,
  variance: 0,
  meanByMean: 0,
  meanByVariance: 0,
  varianceByMean: 0,
  varianceByVariance: 0,
});

/**
 * Mean and variance of the time of a stage from those of its callees: the longest of its calls, all log-normal. Calls to one
 * callee are alike and count as the largest of so many; different callees are put together pair by pair, each time exact in
 * mean and variance. Where calls follow each other within the stage (`steps` over 1) it is known how many and not which:
 * then every lane is a row of `steps` calls of the mean kind, and the stage is the longest lane; between 1 and 2 steps the two
 * are mixed in proportion.
 */
export class StageTime {
  mean = 0;
  variance = 0;
  readonly #graph: FlowGraph;
  readonly #callMean: Float64Array;
  readonly #callVariance: Float64Array;
  /** By callee of a stage: the longest of the calls up to it, and the callee's moments that this was worked out from. */
  readonly #chainMean: Float64Array;
  readonly #chainVariance: Float64Array;
  /** Upper ends of the longest up to each callee, and of the calls to the callee alone. */
  readonly #chainUpper: Float64Array;
  readonly #laneUpper: Float64Array;
  readonly #seenMean: Float64Array;
  readonly #seenVariance: Float64Array;
  /** By callee of a stage: how the longest up to it follows from what it was worked out from; and 1 where that is up to date. */
  readonly #longer: Longer[] = [];
  readonly #isLongerKnown: Uint8Array;
  /** By callee of a stage, and behind these by stage: the largest of so many lanes. */
  readonly #equal: LargestOfEqual[] = [];
  readonly #lane = emptyLane();
  readonly #before = emptyLogMoments();
  readonly #next = emptyLogMoments();
  readonly #largest = emptyLargest();

  /** @param callMean mean time of each node, seconds, as of when a stage is evaluated; `callVariance` likewise */
  constructor(graph: FlowGraph, callMean: Float64Array, callVariance: Float64Array) {
    this.#graph = graph;
    this.#callMean = callMean;
    this.#callVariance = callVariance;
    const count = graph.callee.length;
    this.#chainMean = new Float64Array(count);
    this.#chainVariance = new Float64Array(count);
    this.#chainUpper = new Float64Array(count);
    this.#laneUpper = new Float64Array(count);
    this.#seenMean = new Float64Array(count).fill(Number.NaN);
    this.#seenVariance = new Float64Array(count);
    this.#isLongerKnown = new Uint8Array(count);
  }

  /** @param isTrial the nodes' moments are soon what they were before: what is kept of these stays */
  evaluate(stage: number, isTrial = false): void {
    const { calls, callee, calleeStart } = this.#graph;
    const start = calleeStart[stage] ?? 0;
    const end = calleeStart[stage + 1] ?? 0;
    if (end - start === 1 && calls[start] === 1) {
      const node = callee[start] ?? 0;
      this.mean = this.#callMean[node] ?? 0;
      this.variance = this.#callVariance[node] ?? 0;
      return;
    }
    const inRows = this.#shareInRows(stage);
    this.mean = 0;
    this.variance = 0;
    if (inRows < 1) this.#longestCall(start, end, isTrial);
    if (inRows === 0) return;
    this.#row(stage, this.#lane);
    this.mean += inRows * (this.#lane.mean - this.mean);
    this.variance += inRows * (this.#lane.variance - this.variance);
  }

  /** Adds what a change of the stage's moments owes to those of its callees to the adjoints of these. */
  spread(
    stage: number,
    meanAdjoint: number,
    varianceAdjoint: number,
    ofMean: Float64Array,
    ofVariance: Float64Array,
  ): void {
    const { calls, callee, calleeStart } = this.#graph;
    const start = calleeStart[stage] ?? 0;
    const end = calleeStart[stage + 1] ?? 0;
    if (end - start === 1 && calls[start] === 1) {
      add(ofMean, callee[start], meanAdjoint);
      add(ofVariance, callee[start], varianceAdjoint);
      return;
    }
    const inRows = this.#shareInRows(stage);
    if (inRows < 1) {
      const rest = 1 - inRows;
      this.#longestCall(start, end, false);
      this.#spreadToCalls(stage, rest * meanAdjoint, rest * varianceAdjoint, ofMean, ofVariance);
    }
    if (inRows > 0) {
      this.#spreadToRow(stage, inRows * meanAdjoint, inRows * varianceAdjoint, ofMean, ofVariance);
    }
  }

  #shareInRows(stage: number): number {
    return Math.min(1, (this.#graph.steps[stage] ?? 1) - 1);
  }

  /** The longest of all calls. Keeps the moments of the longest up to each callee, and begins at the first that has changed. */
  #longestCall(start: number, end: number, isTrial: boolean): void {
    const { callee } = this.#graph;
    const lane = this.#lane;
    let at = start;
    while (at < end && this.#isSeen(at, callee[at] as number)) at += 1;
    let mean = at === start ? 0 : (this.#chainMean[at - 1] as number);
    let variance = at === start ? 0 : (this.#chainVariance[at - 1] as number);
    let upper = at === start ? 0 : (this.#chainUpper[at - 1] as number);
    for (; at < end; at += 1) {
      const node = callee[at] as number;
      this.#callsTo(at, lane);
      const isSeen = this.#isSeen(at, node);
      const laneUpper = isSeen
        ? (this.#laneUpper[at] as number)
        : secondsOfMoments(lane.mean, lane.variance, UPPER_QUANTILE);
      if (mean > 0 && lane.mean > 0) {
        upper = this.#lengthen(mean, variance, lane, Math.max(upper, laneUpper));
        mean = this.#largest.mean;
        variance = this.#largest.variance;
      } else if (lane.mean > 0) {
        mean = lane.mean;
        variance = lane.variance;
        upper = laneUpper;
      }
      if (isTrial) continue;
      this.#seenMean[at] = this.#callMean[node] as number;
      this.#seenVariance[at] = this.#callVariance[node] as number;
      this.#laneUpper[at] = laneUpper;
      this.#isLongerKnown[at] = 0;
      this.#chainMean[at] = mean;
      this.#chainVariance[at] = variance;
      this.#chainUpper[at] = upper;
    }
    this.mean = mean;
    this.variance = variance;
  }

  #isSeen(at: number, node: number): boolean {
    return this.#seenMean[at] === this.#callMean[node] && this.#seenVariance[at] === this.#callVariance[node];
  }

  /**
   * The longer one of two times without the slopes of {@link Longer}, and the same otherwise.
   * @param least the longer one of their upper ends
   * @returns its upper end
   */
  #lengthen(mean: number, variance: number, lane: Lane, least: number): number {
    const largest = this.#largest;
    logMomentsOf(mean, variance, this.#before);
    logMomentsOf(lane.mean, lane.variance, this.#next);
    momentsOfLargest(this.#before, this.#next, largest);
    const upper = secondsOfMoments(largest.mean, largest.variance, UPPER_QUANTILE);
    if (!(upper < least)) return upper;
    largest.variance = varianceOf(largest.mean, least, UPPER_QUANTILE);
    return secondsOfMoments(largest.mean, largest.variance, UPPER_QUANTILE);
  }

  #spreadToCalls(
    stage: number,
    meanAdjoint: number,
    varianceAdjoint: number,
    ofMean: Float64Array,
    ofVariance: Float64Array,
  ): void {
    const start = this.#graph.calleeStart[stage] ?? 0;
    let mean = meanAdjoint;
    let variance = varianceAdjoint;
    for (let at = (this.#graph.calleeStart[stage + 1] ?? 0) - 1; at >= start; at -= 1) {
      const lane = this.#lane;
      this.#callsTo(at, lane);
      if (!(lane.mean > 0)) continue;
      const before = at === start ? 0 : (this.#chainMean[at - 1] ?? 0);
      const isFirst = !(before > 0);
      let laneMean = mean;
      let laneVariance = variance;
      if (!isFirst) {
        const longer = this.#longerAt(at, lane);
        longer.split(mean, variance);
        laneMean = longer.laneMean;
        laneVariance = longer.laneVariance;
        mean = longer.beforeMean;
        variance = longer.beforeVariance;
      }
      const node = this.#graph.callee[at];
      add(ofMean, node, laneMean * lane.meanByMean + laneVariance * lane.varianceByMean);
      add(ofVariance, node, laneMean * lane.meanByVariance + laneVariance * lane.varianceByVariance);
      if (isFirst) return;
    }
  }

  /** Of the longest before a callee and the calls to it. */
  #longerAt(at: number, lane: Lane): Longer {
    const longer = (this.#longer[at] ??= new Longer());
    if (this.#isLongerKnown[at] === 1) return longer;
    this.#isLongerKnown[at] = 1;
    longer.evaluate(this.#chainMean[at - 1] ?? 0, this.#chainVariance[at - 1] ?? 0, lane);
    return longer;
  }

  /** All calls to one callee: the longest of them, or with a chance of less than 1 of a call that of the toss. */
  #callsTo(at: number, out: Lane): void {
    const node = this.#graph.callee[at] ?? 0;
    const calls = this.#graph.calls[at] ?? 1;
    const mean = this.#callMean[node] ?? 0;
    const variance = this.#callVariance[node] ?? 0;
    if (calls > 1) {
      this.#longestOf(at, calls, mean, variance, out);
      return;
    }
    out.mean = calls * mean;
    out.variance = calls * variance + calls * (1 - calls) * mean * mean;
    out.meanByMean = calls;
    out.meanByVariance = 0;
    out.varianceByMean = 2 * calls * (1 - calls) * mean;
    out.varianceByVariance = calls;
  }

  /** Lanes of `steps` calls each; slopes are by the moments of one lane. */
  #row(stage: number, out: Lane): void {
    const { callee, calleeStart, calls, steps } = this.#graph;
    const length = steps[stage] ?? 1;
    let all = 0;
    let mean = 0;
    let variance = 0;
    for (let at = calleeStart[stage] ?? 0; at < (calleeStart[stage + 1] ?? 0); at += 1) {
      const count = calls[at] ?? 0;
      all += count;
      mean += count * (this.#callMean[callee[at] ?? 0] ?? 0);
      variance += count * (this.#callVariance[callee[at] ?? 0] ?? 0);
    }
    const share = Math.min(1, length / all);
    this.#longestOf(callee.length + stage, Math.max(1, 1 / share), share * mean, share * variance, out);
  }

  #spreadToRow(
    stage: number,
    mean: number,
    variance: number,
    ofMean: Float64Array,
    ofVariance: Float64Array,
  ): void {
    const { callee, calleeStart, calls, steps } = this.#graph;
    const lane = this.#lane;
    this.#row(stage, lane);
    const start = calleeStart[stage] ?? 0;
    const end = calleeStart[stage + 1] ?? 0;
    let all = 0;
    for (let at = start; at < end; at += 1) all += calls[at] ?? 0;
    const share = Math.min(1, (steps[stage] ?? 1) / all);
    const byMean = share * (mean * lane.meanByMean + variance * lane.varianceByMean);
    const byVariance = share * (mean * lane.meanByVariance + variance * lane.varianceByVariance);
    for (let at = start; at < end; at += 1) {
      add(ofMean, callee[at], (calls[at] ?? 0) * byMean);
      add(ofVariance, callee[at], (calls[at] ?? 0) * byVariance);
    }
  }

  /** The longest of `count` independent times of one kind, `count` at least 1. */
  #longestOf(place: number, count: number, mean: number, variance: number, out: Lane): void {
    const { above, deviation } = mean > 0 ? this.#equalAt(place, count, mean, variance) : NOTHING;
    const spread = Math.sqrt(variance);
    out.mean = mean + above * spread;
    out.variance = deviation * deviation * variance;
    out.meanByMean = 1;
    out.meanByVariance = spread > 0 ? above / (2 * spread) : 0;
    out.varianceByMean = 0;
    out.varianceByVariance = deviation * deviation;
  }

  /** By the shape that the times had first: a longer callee then never makes the stage shorter. */
  #equalAt(place: number, count: number, mean: number, variance: number): LargestOfEqual {
    let equal = this.#equal[place];
    if (equal === undefined) {
      equal = largestOfEqual(count, Math.sqrt(Math.log1p(variance / (mean * mean))));
      this.#equal[place] = equal;
    }
    return equal;
  }
}

const NOTHING: LargestOfEqual = { above: 0, deviation: 1 };

function add(adjoints: Float64Array, node: number | undefined, amount: number): void {
  if (node !== undefined) adjoints[node] = (adjoints[node] ?? 0) + amount;
}
