import type { FlowGraph } from "./call-graph.ts";
import { emptyMaxMoments, maxOfNormals } from "./normal.ts";

/** Standard normal quantile at 95 %: turns a tail into a spread and back. */
const TAIL_QUANTILE = 1.644_853_626_951_472_2;

/** Floor of the end-to-end variance, s²: keeps the derivative of its root finite. */
const MIN_VARIANCE = 1e-18;

/** Mean over tail of an exponentially distributed time: 1 / ln 20. Stands in until a service has been measured. */
export const EXPONENTIAL_MEAN_OVER_TAIL = 1 / Math.log(20);

/**
 * Tail latency of one flow from the own tails of its services, through the call graph: stages that follow each other
 * add their means and variances, calls that run side by side count as the maximum of normal times (Clark 1961), and the
 * tail is mean + 1.645 standard deviations. A flow of one service gives back that service's own tail.
 *
 * Each service's own time has mean `meanOverTail * tail`; what is left of the tail is spread. Evaluation is
 * incremental: {@link setOwnTail} re-evaluates only the callers above the service that changed.
 */
export class FlowTail {
  readonly graph: FlowGraph;
  readonly #ownTail: Float64Array;
  readonly #meanOverTail: Float64Array;
  readonly #mean: Float64Array;
  readonly #variance: Float64Array;
  readonly #dirty: Uint8Array;
  readonly #meanAdjoint: Float64Array;
  readonly #varianceAdjoint: Float64Array;
  readonly #chainMean: Float64Array;
  readonly #chainVariance: Float64Array;
  readonly #max = emptyMaxMoments();

  /**
   * @param ownTail own tail of each service, seconds, by service number
   * @param meanOverTail mean over tail of each service's own time, in (0, 1], by service number
   */
  constructor(graph: FlowGraph, ownTail: Float64Array, meanOverTail: Float64Array) {
    const count = graph.serviceOf.length;
    this.graph = graph;
    this.#ownTail = new Float64Array(count);
    this.#meanOverTail = new Float64Array(count);
    this.#mean = new Float64Array(count);
    this.#variance = new Float64Array(count);
    this.#dirty = new Uint8Array(count);
    this.#meanAdjoint = new Float64Array(count);
    this.#varianceAdjoint = new Float64Array(count);
    let widest = 0;
    for (let node = 0; node < count; node += 1) {
      const service = graph.serviceOf[node] ?? 0;
      this.#ownTail[node] = ownTail[service] ?? 0;
      this.#meanOverTail[node] = meanOverTail[service] ?? EXPONENTIAL_MEAN_OVER_TAIL;
      widest = Math.max(widest, (graph.calleeStart[node + 1] ?? 0) - (graph.calleeStart[node] ?? 0));
    }
    this.#chainMean = new Float64Array(widest);
    this.#chainVariance = new Float64Array(widest);
    for (let node = 0; node < count; node += 1) this.#evaluateNode(node);
  }

  /** Tail of the flow, seconds. */
  get tailSeconds(): number {
    const root = this.#mean.length - 1;
    return (this.#mean[root] ?? 0) + TAIL_QUANTILE * Math.sqrt(this.#variance[root] ?? 0);
  }

  /** Mean of the flow, seconds. */
  get meanSeconds(): number {
    return this.#mean.at(-1) ?? 0;
  }

  /** Sets the own tail of a service and re-evaluates what depends on it; a service outside the flow changes nothing. */
  setOwnTail(service: number, ownTailSeconds: number): void {
    const changed = this.graph.nodeOf[service] ?? -1;
    if (changed < 0 || this.#ownTail[changed] === ownTailSeconds) return;
    this.#ownTail[changed] = ownTailSeconds;
    this.#dirty[changed] = 1;
    for (let node = changed; node < this.#mean.length; node += 1) {
      if (this.#dirty[node] === 0) continue;
      this.#dirty[node] = 0;
      this.#evaluateNode(node);
      const end = this.graph.callerStart[node + 1] ?? 0;
      for (let at = this.graph.callerStart[node] ?? 0; at < end; at += 1) {
        this.#dirty[this.graph.caller[at] ?? 0] = 1;
      }
    }
  }

  /** Tail if a service's own tail were `ownTailSeconds`, everything else as it is. */
  tailIf(service: number, ownTailSeconds: number): number {
    const node = this.graph.nodeOf[service] ?? -1;
    if (node < 0) return this.tailSeconds;
    const before = this.#ownTail[node] ?? 0;
    this.setOwnTail(service, ownTailSeconds);
    const tail = this.tailSeconds;
    this.setOwnTail(service, before);
    return tail;
  }

  /** Adds `weight` × ∂tail/∂(own tail) of every service of the flow to `out`, by service number. */
  addGradient(weight: number, out: Float64Array): void {
    const root = this.#mean.length - 1;
    if (root < 0) return;
    this.#meanAdjoint.fill(0);
    this.#varianceAdjoint.fill(0);
    this.#meanAdjoint[root] = weight;
    const variance = Math.max(this.#variance[root] ?? 0, MIN_VARIANCE);
    this.#varianceAdjoint[root] = (weight * TAIL_QUANTILE) / (2 * Math.sqrt(variance));
    for (let node = root; node >= 0; node -= 1) {
      this.#spreadToCallees(node);
      const service = this.graph.serviceOf[node] ?? 0;
      const share = this.#meanOverTail[node] ?? 0;
      const spreadShare = (1 - share) / TAIL_QUANTILE;
      out[service] =
        (out[service] ?? 0) +
        (this.#meanAdjoint[node] ?? 0) * share +
        (this.#varianceAdjoint[node] ?? 0) * 2 * spreadShare * spreadShare * (this.#ownTail[node] ?? 0);
    }
  }

  #evaluateNode(node: number): void {
    const own = this.#ownTail[node] ?? 0;
    const share = this.#meanOverTail[node] ?? 0;
    const spread = ((1 - share) * own) / TAIL_QUANTILE;
    let mean = share * own;
    let variance = spread * spread;
    let groupMean = 0;
    let groupVariance = 0;
    let groupSize = 0;
    const end = this.graph.calleeStart[node + 1] ?? 0;
    for (let at = this.graph.calleeStart[node] ?? 0; at < end; at += 1) {
      const callMean = this.#callMean(at);
      const callVariance = this.#callVariance(at);
      if (this.graph.parallel[at] === 0) {
        mean += callMean;
        variance += callVariance;
      } else if (groupSize === 0) {
        groupMean = callMean;
        groupVariance = callVariance;
        groupSize = 1;
      } else {
        maxOfNormals(groupMean, groupVariance, callMean, callVariance, this.#max);
        groupMean = this.#max.mean;
        groupVariance = this.#max.variance;
        groupSize += 1;
      }
    }
    this.#mean[node] = mean + groupMean;
    this.#variance[node] = variance + groupVariance;
  }

  #callMean(at: number): number {
    return (this.graph.callsPerRequest[at] ?? 0) * (this.#mean[this.graph.callee[at] ?? 0] ?? 0);
  }

  /** `k` calls: k variances, and for the fraction of k that is a coin toss the variance of the toss. */
  #callVariance(at: number): number {
    const calls = this.graph.callsPerRequest[at] ?? 0;
    const callee = this.graph.callee[at] ?? 0;
    const mean = this.#mean[callee] ?? 0;
    const fraction = calls - Math.floor(calls);
    return calls * (this.#variance[callee] ?? 0) + fraction * (1 - fraction) * mean * mean;
  }

  #spreadToCallees(node: number): void {
    const meanAdjoint = this.#meanAdjoint[node] ?? 0;
    const varianceAdjoint = this.#varianceAdjoint[node] ?? 0;
    const start = this.graph.calleeStart[node] ?? 0;
    const end = this.graph.calleeStart[node + 1] ?? 0;
    let last = -1;
    for (let at = start; at < end; at += 1) {
      if (this.graph.parallel[at] === 0) {
        this.#spreadToCall(at, meanAdjoint, varianceAdjoint);
        continue;
      }
      const callMean = this.#callMean(at);
      const callVariance = this.#callVariance(at);
      if (last < 0) {
        this.#chainMean[at - start] = callMean;
        this.#chainVariance[at - start] = callVariance;
      } else {
        const chainMean = this.#chainMean[last - start] ?? 0;
        maxOfNormals(chainMean, this.#chainVariance[last - start] ?? 0, callMean, callVariance, this.#max);
        this.#chainMean[at - start] = this.#max.mean;
        this.#chainVariance[at - start] = this.#max.variance;
      }
      last = at;
    }
    if (last >= 0) this.#spreadToGroup(start, last, meanAdjoint, varianceAdjoint);
  }

  /** Walks the chain of maxima backwards, from the last parallel call to the first. */
  #spreadToGroup(start: number, last: number, meanAdjoint: number, varianceAdjoint: number): void {
    let mean = meanAdjoint;
    let variance = varianceAdjoint;
    let at = last;
    for (let before = last - 1; before >= start; before -= 1) {
      if (this.graph.parallel[before] === 0) continue;
      const max = this.#max;
      maxOfNormals(
        this.#chainMean[before - start] ?? 0,
        this.#chainVariance[before - start] ?? 0,
        this.#callMean(at),
        this.#callVariance(at),
        max,
      );
      this.#spreadToCall(
        at,
        mean * max.meanByMeanB + variance * max.varianceByMeanB,
        mean * max.meanByVarianceB + variance * max.varianceByVarianceB,
      );
      const chainMean = mean * max.meanByMeanA + variance * max.varianceByMeanA;
      variance = mean * max.meanByVarianceA + variance * max.varianceByVarianceA;
      mean = chainMean;
      at = before;
    }
    this.#spreadToCall(at, mean, variance);
  }

  #spreadToCall(at: number, meanAdjoint: number, varianceAdjoint: number): void {
    const calls = this.graph.callsPerRequest[at] ?? 0;
    const callee = this.graph.callee[at] ?? 0;
    const fraction = calls - Math.floor(calls);
    const mean = this.#mean[callee] ?? 0;
    this.#meanAdjoint[callee] =
      (this.#meanAdjoint[callee] ?? 0) +
      meanAdjoint * calls +
      varianceAdjoint * 2 * fraction * (1 - fraction) * mean;
    this.#varianceAdjoint[callee] = (this.#varianceAdjoint[callee] ?? 0) + varianceAdjoint * calls;
  }
}
