import type { FlowGraph } from "./call-graph.ts";
import {
  emptyLogMoments,
  logMomentsOf,
  meanOfLog,
  momentsOverTail,
  tailOfMoments,
  varianceOfLog,
} from "./lognormal.ts";
import type { Tail } from "./lognormal.ts";
import { emptyMaxMoments, maxOfNormals } from "./normal.ts";

/** Mean over tail of an exponentially distributed time: 1 / ln 20. Stands in until a service has been measured. */
export const EXPONENTIAL_MEAN_OVER_TAIL = 1 / Math.log(20);

/**
 * Tail latency of one flow from the own tails of its services, through the call graph: own times are log-normal, with mean
 * `meanOverTail * tail`; stages that follow each other add their means and variances, calls that run side by side count as
 * their maximum, which is that of normal logarithms (Clark 1961), and the tail is that of a log-normal time with the mean
 * and variance that this comes to. A flow of one service gives back that service's own tail, if that is up to 3.87 times its
 * mean.
 *
 * Evaluation is incremental: {@link setOwnTail} re-evaluates only the callers above the service that changed.
 */
export class FlowTail {
  readonly graph: FlowGraph;
  readonly #ownTail: Float64Array;
  readonly #meanOverTail: Float64Array;
  readonly #deviationOverTail: Float64Array;
  readonly #mean: Float64Array;
  readonly #variance: Float64Array;
  readonly #dirty: Uint8Array;
  readonly #meanAdjoint: Float64Array;
  readonly #varianceAdjoint: Float64Array;
  readonly #chainLogMean: Float64Array;
  readonly #chainLogVariance: Float64Array;
  readonly #max = emptyMaxMoments();
  readonly #log = emptyLogMoments();
  readonly #tail: Tail = { seconds: 0, byMean: 0, byVariance: 0 };

  /**
   * @param ownTail own tail of each service, seconds, by service number
   * @param meanOverTail mean over tail of each service's own time, in (0, 1], by service number
   */
  constructor(graph: FlowGraph, ownTail: Float64Array, meanOverTail: Float64Array) {
    const count = graph.serviceOf.length;
    this.graph = graph;
    this.#ownTail = new Float64Array(count);
    this.#meanOverTail = new Float64Array(count);
    this.#deviationOverTail = new Float64Array(count);
    this.#mean = new Float64Array(count);
    this.#variance = new Float64Array(count);
    this.#dirty = new Uint8Array(count);
    this.#meanAdjoint = new Float64Array(count);
    this.#varianceAdjoint = new Float64Array(count);
    let widest = 0;
    for (let node = 0; node < count; node += 1) {
      const service = graph.serviceOf[node] ?? 0;
      this.#ownTail[node] = ownTail[service] ?? 0;
      const moments = momentsOverTail(meanOverTail[service] ?? EXPONENTIAL_MEAN_OVER_TAIL);
      this.#meanOverTail[node] = moments.mean;
      this.#deviationOverTail[node] = moments.deviation;
      widest = Math.max(widest, (graph.calleeStart[node + 1] ?? 0) - (graph.calleeStart[node] ?? 0));
    }
    this.#chainLogMean = new Float64Array(widest);
    this.#chainLogVariance = new Float64Array(widest);
    for (let node = 0; node < count; node += 1) this.#evaluateNode(node);
  }

  /** Tail of the flow, seconds. */
  get tailSeconds(): number {
    return this.#tailOfRoot().seconds;
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

  /** Own tail of a service, seconds; 0 outside the flow. */
  ownTailOf(service: number): number {
    return this.#ownTail[this.graph.nodeOf[service] ?? -1] ?? 0;
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
    const { byMean, byVariance } = this.#tailOfRoot();
    this.#meanAdjoint[root] = weight * byMean;
    this.#varianceAdjoint[root] = weight * byVariance;
    for (let node = root; node >= 0; node -= 1) {
      this.#spreadToCallees(node);
      const service = this.graph.serviceOf[node] ?? 0;
      const deviation = this.#deviationOverTail[node] ?? 0;
      out[service] =
        (out[service] ?? 0) +
        (this.#meanAdjoint[node] ?? 0) * (this.#meanOverTail[node] ?? 0) +
        (this.#varianceAdjoint[node] ?? 0) * 2 * deviation * deviation * (this.#ownTail[node] ?? 0);
    }
  }

  #tailOfRoot(): Tail {
    const root = this.#mean.length - 1;
    tailOfMoments(this.#mean[root] ?? 0, this.#variance[root] ?? 0, this.#tail);
    return this.#tail;
  }

  #evaluateNode(node: number): void {
    const own = this.#ownTail[node] ?? 0;
    const deviation = (this.#deviationOverTail[node] ?? 0) * own;
    let mean = (this.#meanOverTail[node] ?? 0) * own;
    let variance = deviation * deviation;
    let groupLogMean = 0;
    let groupLogVariance = 0;
    let groupSize = 0;
    const end = this.graph.calleeStart[node + 1] ?? 0;
    for (let at = this.graph.calleeStart[node] ?? 0; at < end; at += 1) {
      const callMean = this.#callMean(at);
      if (this.graph.parallel[at] === 0) {
        mean += callMean;
        variance += this.#callVariance(at);
        continue;
      }
      if (!(callMean > 0)) continue;
      logMomentsOf(callMean, this.#callVariance(at), this.#log);
      if (groupSize > 0) {
        maxOfNormals(groupLogMean, groupLogVariance, this.#log.mean, this.#log.variance, this.#max);
      }
      const longest = groupSize > 0 ? this.#max : this.#log;
      groupLogMean = longest.mean;
      groupLogVariance = longest.variance;
      groupSize += 1;
    }
    if (groupSize > 0) {
      mean += meanOfLog(groupLogMean, groupLogVariance);
      variance += varianceOfLog(groupLogMean, groupLogVariance);
    }
    this.#mean[node] = mean;
    this.#variance[node] = variance;
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
      if (!(callMean > 0)) continue;
      logMomentsOf(callMean, this.#callVariance(at), this.#log);
      let longest: { readonly mean: number; readonly variance: number } = this.#log;
      if (last >= 0) {
        const chainMean = this.#chainLogMean[last - start] ?? 0;
        const chainVariance = this.#chainLogVariance[last - start] ?? 0;
        maxOfNormals(chainMean, chainVariance, this.#log.mean, this.#log.variance, this.#max);
        longest = this.#max;
      }
      this.#chainLogMean[at - start] = longest.mean;
      this.#chainLogVariance[at - start] = longest.variance;
      last = at;
    }
    if (last >= 0) this.#spreadToGroup(start, last, meanAdjoint, varianceAdjoint);
  }

  /** Walks the chain of maxima backwards, from the last parallel call to the first, in logarithms. */
  #spreadToGroup(start: number, last: number, meanAdjoint: number, varianceAdjoint: number): void {
    const groupLogMean = this.#chainLogMean[last - start] ?? 0;
    const groupLogVariance = this.#chainLogVariance[last - start] ?? 0;
    const groupMean = meanOfLog(groupLogMean, groupLogVariance);
    const groupVariance = varianceOfLog(groupLogMean, groupLogVariance);
    const byLogVariance = groupMean * groupMean * (2 * Math.exp(groupLogVariance) - 1);
    let mean = meanAdjoint * groupMean + varianceAdjoint * 2 * groupVariance;
    let variance = (meanAdjoint * groupMean) / 2 + varianceAdjoint * byLogVariance;
    let at = last;
    for (let before = last - 1; before >= start; before -= 1) {
      if (this.graph.parallel[before] === 0 || !(this.#callMean(before) > 0)) continue;
      const max = this.#max;
      const chainMean = this.#chainLogMean[before - start] ?? 0;
      const chainVariance = this.#chainLogVariance[before - start] ?? 0;
      logMomentsOf(this.#callMean(at), this.#callVariance(at), this.#log);
      maxOfNormals(chainMean, chainVariance, this.#log.mean, this.#log.variance, max);
      this.#spreadToLog(
        at,
        mean * max.meanByMeanB + variance * max.varianceByMeanB,
        mean * max.meanByVarianceB + variance * max.varianceByVarianceB,
      );
      const meanBefore = mean * max.meanByMeanA + variance * max.varianceByMeanA;
      variance = mean * max.meanByVarianceA + variance * max.varianceByVarianceA;
      mean = meanBefore;
      at = before;
    }
    logMomentsOf(this.#callMean(at), this.#callVariance(at), this.#log);
    this.#spreadToLog(at, mean, variance);
  }

  /** From the moments of a call's logarithm, which {@link #log} holds, to those of the call. */
  #spreadToLog(at: number, meanAdjoint: number, varianceAdjoint: number): void {
    const log = this.#log;
    this.#spreadToCall(
      at,
      meanAdjoint * log.meanByMean + varianceAdjoint * log.varianceByMean,
      meanAdjoint * log.meanByVariance + varianceAdjoint * log.varianceByVariance,
    );
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
