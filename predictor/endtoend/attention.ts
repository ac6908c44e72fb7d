import { attentionLayout, attentionShape, FEATURES_PER_SERVICE } from "./attention-model.ts";
import type { AttentionLayout, AttentionModel, FeatureScale } from "./attention-model.ts";

/** Latencies outside e^±18 seconds count as that, so that no logarithm leaves the finite numbers. */
const LARGEST_LOG = 18;

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
  }

  /**
   * @param ownTails largest own tail over the containers of each of the model's services, seconds; NaN where unknown
   * @param meanShares mean over largest own tail of each service's containers; taken as 1 where absent
   * @returns log residual, within plus and minus the model's bound
   */
  evaluate(ownTails: Float64Array, meanShares?: Float64Array): number {
    for (let service = 0; service < this.#count; service += 1) {
      const most = ownTails[service] ?? Number.NaN;
      this.#ownTails[service] = most;
      this.#place(service * FEATURES_PER_SERVICE, most * (meanShares?.[service] ?? 1));
      this.#place(service * FEATURES_PER_SERVICE + 1, most);
    }
    this.#project(this.#layout.query, this.#query);
    this.#project(this.#layout.key, this.#key);
    this.#project(this.#layout.value, this.#value);
    for (let service = 0; service < this.#count; service += 1) this.#attend(service);
    return this.#head();
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

  #place(at: number, seconds: number): void {
    const scale = this.model.scales[at] as FeatureScale;
    const log = logOf(seconds, scale);
    const held = Math.max(scale.low, Math.min(scale.high, log));
    this.#features[at] = (held - scale.centre) / scale.scale;
    this.#slopes[at] = held === log && seconds > 0 && Math.abs(log) < LARGEST_LOG ? 1 / scale.scale : 0;
  }

  #project(matrix: number, out: Float64Array): void {
    const { width, parameters } = this.model;
    for (let service = 0; service < this.#count; service += 1) {
      const first = service * FEATURES_PER_SERVICE;
      const mean = this.#features[first] as number;
      const most = this.#features[first + 1] as number;
      for (let d = 0; d < width; d += 1) {
        out[service * width + d] =
          mean * (parameters[matrix + d] as number) + most * (parameters[matrix + width + d] as number);
      }
    }
  }

  /** Softmax over the scores of one service, and the values weighted by it. */
  #attend(service: number): void {
    const { width } = this.model;
    const row = service * this.#count;
    const own = service * width;
    const scale = 1 / Math.sqrt(width);
    let most = Number.NEGATIVE_INFINITY;
    for (let other = 0; other < this.#count; other += 1) {
      let score = 0;
      for (let d = 0; d < width; d += 1) {
        score += (this.#query[own + d] as number) * (this.#key[other * width + d] as number);
      }
      score *= scale;
      this.#shares[row + other] = score;
      if (score > most) most = score;
    }
    let total = 0;
    for (let other = 0; other < this.#count; other += 1) {
      const share = Math.exp((this.#shares[row + other] as number) - most);
      this.#shares[row + other] = share;
      total += share;
    }
    this.#attended.fill(0, own, own + width);
    for (let other = 0; other < this.#count; other += 1) {
      const share = (this.#shares[row + other] as number) / total;
      this.#shares[row + other] = share;
      for (let d = 0; d < width; d += 1) {
        this.#attended[own + d] =
          (this.#attended[own + d] as number) + share * (this.#value[other * width + d] as number);
      }
    }
  }

  #head(): number {
    const { hidden, bound, parameters } = this.model;
    const { hiddenWeights, hiddenBiases, outWeights, outBias } = this.#layout;
    let out = parameters[outBias] as number;
    for (let unit = 0; unit < hidden; unit += 1) {
      let sum = parameters[hiddenBiases + unit] as number;
      for (let at = 0; at < this.#attended.length; at += 1) {
        sum += (this.#attended[at] as number) * (parameters[hiddenWeights + at * hidden + unit] as number);
      }
      const bent = Math.tanh(sum);
      this.#hidden[unit] = bent;
      out += bent * (parameters[outWeights + unit] as number);
    }
    this.#squashed = Math.tanh(out);
    return bound * this.#squashed;
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
