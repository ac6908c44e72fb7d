import type { FlowGraph } from "./call-graph.ts";
import {
  BEYOND_TAIL,
  emptyTail,
  EXPONENTIAL_MEAN_OVER_TAIL,
  momentsOverTail,
  SPIKE_SHARE,
  tailOfMoments,
} from "./lognormal.ts";
import type { Tail } from "./lognormal.ts";
import { StageTime } from "./stage-time.ts";

/** A service with spikes that its own tail does not show, and what they add to the flow over its own tail. */
interface Spikes {
  readonly node: number;
  readonly mean: number;
  readonly variance: number;
}

/** Tail of a flow by its moments. */
interface Composed {
  isKnown: boolean;
  seconds: number;
  /** Without spikes and with them; the second is empty where there are none. */
  readonly tail: Tail;
  readonly withSpikes: Tail;
}

const emptyComposed = (): Composed => ({
  isKnown: false,
  seconds: 0,
  tail: emptyTail(),
  withSpikes: emptyTail(),
});

/**
 * Tail latency of one flow from the own tails of its services, through the call graph. Each own time has a mean and a variance
 * over its tail, see {@link momentsOverTail}. Stages that follow each other add their means and variances; a stage takes as
 * long as the longest of its calls, see {@link StageTime}; the tail is that of a log-normal time with the mean and variance
 * that this comes to, and no smaller than the own tail of any service that every request reaches. A flow of one service gives
 * back that service's own tail.
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
  /** Node whose own tail is the largest among those that every request which reaches the node reaches too. */
  readonly #longest: Int32Array;
  readonly #stageTime: StageTime;
  readonly #dirty: Uint8Array;
  /** No node before it is dirty. */
  #firstDirty: number;
  readonly #meanAdjoint: Float64Array;
  readonly #varianceAdjoint: Float64Array;
  readonly #spikes: readonly Spikes[];
  /** How far spikes are frequent enough to show in the tail, in [0, 1]. */
  readonly #spikesShown: number;
  #composed: Composed = emptyComposed();
  /** What {@link trySet} has changed: own tail and tail of the flow before, and nodes with what they were. */
  #triedNode = -1;
  #triedTail = 0;
  #composedBefore: Composed = emptyComposed();
  #touchedCount = 0;
  readonly #touched: Int32Array;
  readonly #touchedMean: Float64Array;
  readonly #touchedVariance: Float64Array;
  readonly #touchedLongest: Int32Array;

  /**
   * @param ownTail own tail of each service, seconds, by service number
   * @param meanOverTail mean over tail of each service's own time, above 0, by service number
   */
  constructor(graph: FlowGraph, ownTail: Float64Array, meanOverTail: Float64Array) {
    const count = graph.serviceOf.length;
    const spikes: Spikes[] = [];
    let expectedSpikes = 0;
    this.graph = graph;
    this.#ownTail = new Float64Array(count);
    this.#meanOverTail = new Float64Array(count);
    this.#deviationOverTail = new Float64Array(count);
    this.#mean = new Float64Array(count);
    this.#variance = new Float64Array(count);
    this.#longest = new Int32Array(count);
    this.#dirty = new Uint8Array(count);
    this.#touched = new Int32Array(count);
    this.#touchedMean = new Float64Array(count);
    this.#touchedVariance = new Float64Array(count);
    this.#touchedLongest = new Int32Array(count);
    this.#meanAdjoint = new Float64Array(count);
    this.#varianceAdjoint = new Float64Array(count);
    this.#stageTime = new StageTime(graph, this.#mean, this.#variance);
    for (let node = 0; node < count; node += 1) {
      const service = graph.serviceOf[node] ?? 0;
      this.#ownTail[node] = ownTail[service] ?? 0;
      const moments = momentsOverTail(meanOverTail[service] ?? EXPONENTIAL_MEAN_OVER_TAIL);
      this.#meanOverTail[node] = moments.mean;
      this.#deviationOverTail[node] = moments.deviation;
      if (!(moments.spikeMean > 0)) continue;
      const visits = graph.visits[node] ?? 0;
      expectedSpikes -= visits * Math.log1p(-SPIKE_SHARE);
      spikes.push({ node, mean: visits * moments.spikeMean, variance: visits * moments.spikeDeviation ** 2 });
    }
    this.#spikes = spikes;
    const chance = -Math.expm1(-expectedSpikes);
    this.#spikesShown = Math.min(1, Math.max(0, (chance - SPIKE_SHARE) / (BEYOND_TAIL - SPIKE_SHARE)));
    for (let node = 0; node < count; node += 1) this.#evaluateNode(node);
    this.#firstDirty = count;
  }

  /** Tail of the flow, seconds. */
  get tailSeconds(): number {
    return Math.max(this.#compose().seconds, this.#leastSeconds());
  }

  /** Mean of the flow, seconds. */
  get meanSeconds(): number {
    this.#refresh();
    const mean = this.#mean.at(-1) ?? 0;
    return this.#spikes.reduce((sum, spikes) => sum + spikes.mean * (this.#ownTail[spikes.node] ?? 0), mean);
  }

  /** Sets the own tail of a service; what depends on it is evaluated when it is asked for. A service outside the flow changes nothing. */
  setOwnTail(service: number, ownTailSeconds: number): void {
    const changed = this.graph.nodeOf[service] ?? -1;
    this.#triedNode = -1;
    if (changed < 0 || this.#ownTail[changed] === ownTailSeconds) return;
    this.#composed.isKnown = false;
    this.#ownTail[changed] = ownTailSeconds;
    this.#dirty[changed] = 1;
    this.#firstDirty = Math.min(this.#firstDirty, changed);
  }

  /** Evaluates the nodes of which something has changed. */
  #refresh(): void {
    const count = this.#mean.length;
    for (let node = this.#firstDirty; node < count; node += 1) {
      if (this.#dirty[node] === 0) continue;
      this.#evaluateNode(node);
      this.#spoilCallers(node);
    }
    this.#firstDirty = count;
  }

  #spoilCallers(node: number): void {
    const { caller, callerStart } = this.graph;
    this.#dirty[node] = 0;
    const end = callerStart[node + 1] ?? 0;
    for (let at = callerStart[node] ?? 0; at < end; at += 1) this.#dirty[caller[at] ?? 0] = 1;
  }

  /** As {@link setOwnTail}, until {@link undo}. */
  trySet(service: number, ownTailSeconds: number): void {
    const changed = this.graph.nodeOf[service] ?? -1;
    this.#refresh();
    this.#triedNode = -1;
    if (changed < 0 || this.#ownTail[changed] === ownTailSeconds) return;
    this.#triedNode = changed;
    this.#triedTail = this.#ownTail[changed] ?? 0;
    this.#touchedCount = 0;
    this.#swapComposed();
    this.#composed.isKnown = false;
    this.#ownTail[changed] = ownTailSeconds;
    this.#dirty[changed] = 1;
    for (let node = changed; node < this.#mean.length; node += 1) {
      if (this.#dirty[node] === 0) continue;
      this.#remember(node);
      this.#evaluateNode(node, true);
      this.#spoilCallers(node);
    }
  }

  /** Takes back the last {@link trySet}, if nothing was set since. */
  undo(): void {
    if (this.#triedNode < 0) return;
    this.#ownTail[this.#triedNode] = this.#triedTail;
    for (let at = 0; at < this.#touchedCount; at += 1) {
      const node = this.#touched[at] as number;
      this.#mean[node] = this.#touchedMean[at] as number;
      this.#variance[node] = this.#touchedVariance[at] as number;
      this.#longest[node] = this.#touchedLongest[at] as number;
    }
    this.#triedNode = -1;
    this.#swapComposed();
  }

  #swapComposed(): void {
    const composed = this.#composed;
    this.#composed = this.#composedBefore;
    this.#composedBefore = composed;
  }

  #remember(node: number): void {
    const at = this.#touchedCount;
    this.#touched[at] = node;
    this.#touchedMean[at] = this.#mean[node] as number;
    this.#touchedVariance[at] = this.#variance[node] as number;
    this.#touchedLongest[at] = this.#longest[node] as number;
    this.#touchedCount = at + 1;
  }

  /** Own tail of a service, seconds; 0 outside the flow. */
  ownTailOf(service: number): number {
    return this.#ownTail[this.graph.nodeOf[service] ?? -1] ?? 0;
  }

  /** Tail if a service's own tail were `ownTailSeconds`, everything else as it is. */
  tailIf(service: number, ownTailSeconds: number): number {
    const node = this.graph.nodeOf[service] ?? -1;
    if (node < 0) return this.tailSeconds;
    this.trySet(service, ownTailSeconds);
    const tail = this.tailSeconds;
    this.undo();
    return tail;
  }

  /** Adds `weight` × ∂tail/∂(own tail) of every service of the flow to `out`, by service number. */
  addGradient(weight: number, out: Float64Array): void {
    const root = this.#mean.length - 1;
    if (root < 0) return;
    const composed = this.#compose();
    if (composed.seconds < this.#leastSeconds()) {
      const service = this.graph.serviceOf[this.#longest[root] ?? root] ?? 0;
      out[service] = (out[service] ?? 0) + weight;
      return;
    }
    const shown = weight * this.#spikesShown;
    const unshown = weight - shown;
    const { tail, withSpikes } = composed;
    this.#meanAdjoint.fill(0);
    this.#varianceAdjoint.fill(0);
    this.#meanAdjoint[root] = unshown * tail.byMean + shown * withSpikes.byMean;
    this.#varianceAdjoint[root] = unshown * tail.byVariance + shown * withSpikes.byVariance;
    for (const { mean, node, variance } of this.#spikes) {
      const service = this.graph.serviceOf[node] ?? 0;
      const byVariance = 2 * variance * withSpikes.byVariance * (this.#ownTail[node] ?? 0);
      out[service] = (out[service] ?? 0) + shown * (mean * withSpikes.byMean + byVariance);
    }
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

  #compose(): Composed {
    const composed = this.#composed;
    if (composed.isKnown) return composed;
    this.#refresh();
    const { tail, withSpikes } = composed;
    const root = this.#mean.length - 1;
    let mean = this.#mean[root] ?? 0;
    let variance = this.#variance[root] ?? 0;
    tailOfMoments(mean, variance, tail);
    composed.seconds = tail.seconds;
    composed.isKnown = true;
    if (this.#spikes.length === 0) return composed;
    for (const spikes of this.#spikes) {
      const seconds = this.#ownTail[spikes.node] ?? 0;
      mean += spikes.mean * seconds;
      variance += spikes.variance * seconds * seconds;
    }
    tailOfMoments(mean, variance, withSpikes);
    composed.seconds = tail.seconds + this.#spikesShown * (withSpikes.seconds - tail.seconds);
    return composed;
  }

  /** No request is faster than its slowest part, so neither is the tail. */
  #leastSeconds(): number {
    const root = this.#mean.length - 1;
    return this.#ownTail[this.#longest[root] ?? root] ?? 0;
  }

  #evaluateNode(node: number, isTrial = false): void {
    const { calleeStart, callee, isSure, perRequest, stageStart, toss } = this.graph;
    const own = this.#ownTail[node] ?? 0;
    const deviation = (this.#deviationOverTail[node] ?? 0) * own;
    let mean = (this.#meanOverTail[node] ?? 0) * own;
    let variance = deviation * deviation;
    let longest = node;
    const stages = stageStart[node + 1] ?? 0;
    for (let stage = stageStart[node] ?? 0; stage < stages; stage += 1) {
      const time = this.#stageTime;
      time.evaluate(stage, isTrial);
      const count = perRequest[stage] ?? 0;
      mean += count * time.mean;
      variance += count * time.variance + (toss[stage] ?? 0) * time.mean * time.mean;
      for (let at = calleeStart[stage] ?? 0; at < (calleeStart[stage + 1] ?? 0); at += 1) {
        const below = this.#longest[callee[at] ?? 0] ?? 0;
        if (isSure[at] === 1 && (this.#ownTail[below] ?? 0) > (this.#ownTail[longest] ?? 0)) longest = below;
      }
    }
    this.#mean[node] = mean;
    this.#variance[node] = variance;
    this.#longest[node] = longest;
  }

  #spreadToCallees(node: number): void {
    const { perRequest, stageStart, toss } = this.graph;
    const meanAdjoint = this.#meanAdjoint[node] ?? 0;
    const varianceAdjoint = this.#varianceAdjoint[node] ?? 0;
    for (let stage = stageStart[node] ?? 0; stage < (stageStart[node + 1] ?? 0); stage += 1) {
      const time = this.#stageTime;
      const chance = toss[stage] ?? 0;
      const count = perRequest[stage] ?? 0;
      if (chance > 0) time.evaluate(stage);
      const byMean = count * meanAdjoint + (chance > 0 ? 2 * chance * time.mean * varianceAdjoint : 0);
      time.spread(stage, byMean, count * varianceAdjoint, this.#meanAdjoint, this.#varianceAdjoint);
    }
  }
}
