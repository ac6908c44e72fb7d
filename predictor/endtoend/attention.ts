import { attentionLayout, attentionShape, FEATURES_PER_SERVICE } from "./attention-model.ts";
import type { AttentionLayout, AttentionModel, FeatureScale } from "./attention-model.ts";

/** Latencies outside e^±18 seconds count as that, so that no logarithm leaves the finite numbers. */
const LARGEST_LOG = 18;

/** Share of a softmax below which what is left of it after one part is taken out is lost in rounding. */
const LEAST_REST = 1e-6;

/** Feature before scaling: ln seconds within bounds; the centre where there is no such number. */
function logOf(seconds: number, { centre }: FeatureScale): number {
  if (Number.isNaN(seconds)) return centre;
  return seconds > 0 ? Math.max(-LARGEST_LOG, Math.min(LARGEST_LOG, Math.log(seconds))) : -LARGEST_LOG;
}

/**
 * Log residual of a flow's tail over what its call graph says (Grad §IV-C):
 * L = scaled ln of mean and largest own tail of each service (Eq. 6), A = softmax(QKᵀ/√d)·V with Q, K, V = L·W (Eq. 7),
 * r = bound · tanh(w · tanh(W·A + b) + c). Value and gradient are closed forms on typed arrays made once; no call
 * allocates, and none returns anything but finite numbers, whatever the input.
 */
export class AttentionResidual {
  readonly model: AttentionModel;
  readonly #layout: AttentionLayout;
  readonly #count: number;
  /** Scaled features, `[service][feature]`, and their slopes by ln seconds. */
  readonly #features: Float64Array;
  readonly #slopes: Float64Array;
  readonly #ownTails: Float64Array;
  readonly #meanShares: Float64Array;
  readonly #query: Float64Array;
  readonly #key: Float64Array;
  readonly #value: Float64Array;
  /** Attention paid, `[service][to service]`. */
  readonly #shares: Float64Array;
  readonly #attended: Float64Array;
  readonly #hidden: Float64Array;
  readonly #attendedAdjoint: Float64Array;
  readonly #queryAdjoint: Float64Array;
  readonly #keyAdjoint: Float64Array;
  readonly #valueAdjoint: Float64Array;
  readonly #shareAdjoint: Float64Array;
  /** ln of the sum of exponentials of each service's scores: exp(score − this) is a share. */
  readonly #levels: Float64Array;
  // One service as it would be, for evaluateIf.
  readonly #changedFeatures = new Float64Array(FEATURES_PER_SERVICE);
  readonly #changedQuery: Float64Array;
  readonly #changedKey: Float64Array;
  readonly #changedValue: Float64Array;
  readonly #changedShares: Float64Array;
  readonly #changedAttended: Float64Array;
  readonly #changedHidden: Float64Array;
  #squashed = 0;

  constructor(model: AttentionModel) {
    const count = model.services.length;
    const make = (length: number): Float64Array => new Float64Array(length);
    this.model = model;
    this.#layout = attentionLayout(attentionShape(model));
    this.#count = count;
    this.#features = make(count * FEATURES_PER_SERVICE);
    this.#slopes = make(count * FEATURES_PER_SERVICE);
    this.#ownTails = make(count);
    this.#meanShares = make(count);
    this.#query = make(count * model.width);
    this.#key = make(count * model.width);
    this.#value = make(count * model.width);
    this.#shares = make(count * count);
    this.#attended = make(count * model.width);
    this.#hidden = make(model.hidden);
    this.#attendedAdjoint = make(count * model.width);
    this.#queryAdjoint = make(count * model.width);
    this.#keyAdjoint = make(count * model.width);
    this.#valueAdjoint = make(count * model.width);
    this.#shareAdjoint = make(count);
    this.#levels = make(count);
    this.#changedQuery = make(model.width);
    this.#changedKey = make(model.width);
    this.#changedValue = make(model.width);
    this.#changedShares = make(count);
    this.#changedAttended = make(count * model.width);
    this.#changedHidden = make(model.hidden);
  }

  /**
   * @param ownTails largest own tail over the containers of each of the model's services, seconds; NaN where unknown
   * @param meanShares mean over largest own tail of each service's containers; taken as 1 where absent
   * @returns log residual, within plus and minus the model's bound
   */
  evaluate(ownTails: Float64Array, meanShares?: Float64Array): number {
    for (let service = 0; service < this.#count; service += 1) {
      this.#ownTails[service] = ownTails[service] ?? Number.NaN;
      this.#meanShares[service] = meanShares?.[service] ?? 1;
    }
    return this.#run();
  }

  /**
   * What {@link evaluate} would come to if one service's largest own tail were another, at a cost that grows with the
   * services rather than with their square. Leaves the last evaluation as it was.
   */
  evaluateIf(service: number, ownTail: number): number {
    const first = service * FEATURES_PER_SERVICE;
    const { query, key, value } = this.#layout;
    this.#changedFeatures[0] = this.#scaled(first, ownTail * (this.#meanShares[service] as number));
    this.#changedFeatures[1] = this.#scaled(first + 1, ownTail);
    this.#projectOne(query, this.#changedFeatures, 0, this.#changedQuery, 0);
    this.#projectOne(key, this.#changedFeatures, 0, this.#changedKey, 0);
    this.#projectOne(value, this.#changedFeatures, 0, this.#changedValue, 0);
    for (let other = 0; other < this.#count; other += 1) {
      if (other !== service && !this.#reattend(other, service)) return this.#evaluateAfresh(service, ownTail);
    }
    this.#attendChanged(service);
    return this.model.bound * Math.tanh(this.#head(this.#changedAttended, this.#changedHidden));
  }

  #evaluateAfresh(service: number, ownTail: number): number {
    const before = this.#ownTails[service] as number;
    this.#ownTails[service] = ownTail;
    const value = this.#run();
    this.#ownTails[service] = before;
    this.#run();
    return value;
  }

  #run(): number {
    for (let service = 0; service < this.#count; service += 1) {
      const most = this.#ownTails[service] as number;
      this.#place(service * FEATURES_PER_SERVICE, most * (this.#meanShares[service] as number));
      this.#place(service * FEATURES_PER_SERVICE + 1, most);
    }
    this.#project(this.#layout.query, this.#query);
    this.#project(this.#layout.key, this.#key);
    this.#project(this.#layout.value, this.#value);
    for (let service = 0; service < this.#count; service += 1) this.#attend(service);
    this.#squashed = Math.tanh(this.#head(this.#attended, this.#hidden));
    return this.model.bound * this.#squashed;
  }

  /** Adds `weight` × ∂r/∂(own tail) of the last {@link evaluate} to `out`, by the model's services. */
  addGradient(weight: number, out: Float64Array): void {
    this.#headBackwards(weight);
    this.#queryAdjoint.fill(0);
    this.#keyAdjoint.fill(0);
    this.#valueAdjoint.fill(0);
    for (let service = 0; service < this.#count; service += 1) this.#attendBackwards(service);
    for (let service = 0; service < this.#count; service += 1) {
      const ownTail = this.#ownTails[service] as number;
      if (!(ownTail > 0)) continue;
      const first = service * FEATURES_PER_SERVICE;
      const byLog =
        this.#featureAdjoint(service, 0) * (this.#slopes[first] as number) +
        this.#featureAdjoint(service, 1) * (this.#slopes[first + 1] as number);
      const slope = byLog / ownTail;
      if (Number.isFinite(slope)) out[service] = (out[service] as number) + slope;
    }
  }

  #scaled(at: number, seconds: number): number {
    const scale = this.model.scales[at] as FeatureScale;
    return (Math.max(scale.low, Math.min(scale.high, logOf(seconds, scale))) - scale.centre) / scale.scale;
  }

  #place(at: number, seconds: number): void {
    const scale = this.model.scales[at] as FeatureScale;
    const log = logOf(seconds, scale);
    const isHeld = log < scale.low || log > scale.high || Math.abs(log) >= LARGEST_LOG;
    this.#features[at] = this.#scaled(at, seconds);
    this.#slopes[at] = !isHeld && seconds > 0 ? 1 / scale.scale : 0;
  }

  #project(matrix: number, out: Float64Array): void {
    for (let service = 0; service < this.#count; service += 1) {
      const first = service * FEATURES_PER_SERVICE;
      this.#projectOne(matrix, this.#features, first, out, service * this.model.width);
    }
  }

  #projectOne(
    matrix: number,
    features: Float64Array,
    first: number,
    out: Float64Array,
    outFrom: number,
  ): void {
    const { width, parameters } = this.model;
    const mean = features[first] as number;
    const most = features[first + 1] as number;
    for (let d = 0; d < width; d += 1) {
      out[outFrom + d] =
        mean * (parameters[matrix + d] as number) + most * (parameters[matrix + width + d] as number);
    }
  }

  #score(query: Float64Array, queryFrom: number, key: Float64Array, keyFrom: number): number {
    const { width } = this.model;
    let score = 0;
    for (let d = 0; d < width; d += 1)
      score += (query[queryFrom + d] as number) * (key[keyFrom + d] as number);
    return score / Math.sqrt(width);
  }

  /** Softmax over the scores of one service, and the values weighted by it. */
  #attend(service: number): void {
    const { width } = this.model;
    const row = service * this.#count;
    for (let other = 0; other < this.#count; other += 1) {
      this.#shares[row + other] = this.#score(this.#query, service * width, this.#key, other * width);
    }
    this.#levels[service] = this.#softmax(this.#shares, row);
    this.#weigh(this.#shares, row, this.#attended, service * width);
  }

  /** Turns scores into shares, in place. @returns ln of the sum of their exponentials */
  #softmax(scores: Float64Array, from: number): number {
    let most = Number.NEGATIVE_INFINITY;
    for (let at = from; at < from + this.#count; at += 1) most = Math.max(most, scores[at] as number);
    let total = 0;
    for (let at = from; at < from + this.#count; at += 1) {
      const share = Math.exp((scores[at] as number) - most);
      scores[at] = share;
      total += share;
    }
    for (let at = from; at < from + this.#count; at += 1) scores[at] = (scores[at] as number) / total;
    return most + Math.log(total);
  }

  #weigh(shares: Float64Array, from: number, out: Float64Array, outFrom: number): void {
    const { width } = this.model;
    out.fill(0, outFrom, outFrom + width);
    for (let other = 0; other < this.#count; other += 1) {
      const share = shares[from + other] as number;
      for (let d = 0; d < width; d += 1) {
        out[outFrom + d] = (out[outFrom + d] as number) + share * (this.#value[other * width + d] as number);
      }
    }
  }

  /**
   * What a service attends to when another one has changed: that one's old share taken out, its new one put in.
   * @returns false where too little would be left of the old sum to do that exactly
   */
  #reattend(service: number, changed: number): boolean {
    const { width } = this.model;
    const before = this.#shares[service * this.#count + changed] as number;
    const score = this.#score(this.#query, service * width, this.#changedKey, 0);
    const after = Math.exp(score - (this.#levels[service] as number));
    const total = 1 - before + after;
    if (!(1 - before > LEAST_REST) || !(after < 1 / LEAST_REST)) return false;
    for (let d = 0; d < width; d += 1) {
      const own = service * width + d;
      this.#changedAttended[own] =
        ((this.#attended[own] as number) -
          before * (this.#value[changed * width + d] as number) +
          after * (this.#changedValue[d] as number)) /
        total;
    }
    return true;
  }

  /** What the changed service itself attends to. */
  #attendChanged(changed: number): void {
    const { width } = this.model;
    const shares = this.#changedShares;
    for (let other = 0; other < this.#count; other += 1) {
      shares[other] =
        other === changed
          ? this.#score(this.#changedQuery, 0, this.#changedKey, 0)
          : this.#score(this.#changedQuery, 0, this.#key, other * width);
    }
    this.#softmax(shares, 0);
    this.#weigh(shares, 0, this.#changedAttended, changed * width);
    const own = shares[changed] as number;
    for (let d = 0; d < width; d += 1) {
      const at = changed * width + d;
      this.#changedAttended[at] =
        (this.#changedAttended[at] as number) +
        own * ((this.#changedValue[d] as number) - (this.#value[at] as number));
    }
  }

  /** The head's last sum; leaves the hidden units in `hiddenOut`. */
  #head(attended: Float64Array, hiddenOut: Float64Array): number {
    const { hidden, parameters } = this.model;
    const { hiddenWeights, hiddenBiases, outWeights, outBias } = this.#layout;
    let out = parameters[outBias] as number;
    for (let unit = 0; unit < hidden; unit += 1) {
      let sum = parameters[hiddenBiases + unit] as number;
      for (let at = 0; at < attended.length; at += 1) {
        sum += (attended[at] as number) * (parameters[hiddenWeights + at * hidden + unit] as number);
      }
      const bent = Math.tanh(sum);
      hiddenOut[unit] = bent;
      out += bent * (parameters[outWeights + unit] as number);
    }
    return out;
  }

  #headBackwards(weight: number): void {
    const { hidden, bound, parameters } = this.model;
    const { hiddenWeights, outWeights } = this.#layout;
    const out = weight * bound * (1 - this.#squashed * this.#squashed);
    this.#attendedAdjoint.fill(0);
    for (let unit = 0; unit < hidden; unit += 1) {
      const bent = this.#hidden[unit] as number;
      const adjoint = out * (parameters[outWeights + unit] as number) * (1 - bent * bent);
      for (let at = 0; at < this.#attended.length; at += 1) {
        this.#attendedAdjoint[at] =
          (this.#attendedAdjoint[at] as number) +
          adjoint * (parameters[hiddenWeights + at * hidden + unit] as number);
      }
    }
  }

  #attendBackwards(service: number): void {
    const { width } = this.model;
    const row = service * this.#count;
    const own = service * width;
    let mean = 0;
    for (let other = 0; other < this.#count; other += 1) {
      const share = this.#shares[row + other] as number;
      let adjoint = 0;
      for (let d = 0; d < width; d += 1) {
        const attended = this.#attendedAdjoint[own + d] as number;
        adjoint += attended * (this.#value[other * width + d] as number);
        this.#valueAdjoint[other * width + d] =
          (this.#valueAdjoint[other * width + d] as number) + share * attended;
      }
      this.#shareAdjoint[other] = adjoint;
      mean += share * adjoint;
    }
    const scale = 1 / Math.sqrt(width);
    for (let other = 0; other < this.#count; other += 1) {
      const score =
        scale * (this.#shares[row + other] as number) * ((this.#shareAdjoint[other] as number) - mean);
      for (let d = 0; d < width; d += 1) {
        const key = other * width + d;
        this.#queryAdjoint[own + d] =
          (this.#queryAdjoint[own + d] as number) + score * (this.#key[key] as number);
        this.#keyAdjoint[key] = (this.#keyAdjoint[key] as number) + score * (this.#query[own + d] as number);
      }
    }
  }

  #featureAdjoint(service: number, feature: number): number {
    const { width, parameters } = this.model;
    const { query, key, value } = this.#layout;
    const own = service * width;
    const from = feature * width;
    let adjoint = 0;
    for (let d = 0; d < width; d += 1) {
      adjoint +=
        (this.#queryAdjoint[own + d] as number) * (parameters[query + from + d] as number) +
        (this.#keyAdjoint[own + d] as number) * (parameters[key + from + d] as number) +
        (this.#valueAdjoint[own + d] as number) * (parameters[value + from + d] as number);
    }
    return adjoint;
  }
}
