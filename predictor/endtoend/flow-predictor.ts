import { AttentionResidual } from "./attention.ts";
import type { AttentionModel } from "./attention-model.ts";
import type { FlowGraph, ServiceIndex } from "./call-graph.ts";
import { FlowTail } from "./flow-tail.ts";

/** A trained residual, and the application's number of each of its services: -1 where the service is gone. */
export interface FlowResidual {
  readonly model: AttentionModel;
  readonly serviceOf: Int32Array;
}

/** Finds a model's services in an application. */
export function bindResidual(model: AttentionModel, index: ServiceIndex): FlowResidual {
  return { model, serviceOf: Int32Array.from(model.services, (name) => index.numberOf.get(name) ?? -1) };
}

/** Residuals of more services than this are held where they are while a plan is made: they cost services² a look. */
export const MOST_SERVICES_FOLLOWED = 100;

/**
 * Tail of one flow: what its call graph says, times exp(r) with r the learnt residual where there is one. The gradient is
 * that of the product: exp(r) · ∂graph + tail · ∂r.
 */
export class FlowPredictor {
  readonly #graph: FlowTail;
  readonly #residual: AttentionResidual | undefined;
  readonly #serviceOf: Int32Array;
  readonly #rowOf: ReadonlyMap<number, number>;
  readonly #ownTails: Float64Array;
  readonly #rowGradient: Float64Array;
  readonly #isFollowed: boolean;
  #logResidual = 0;
  #isCurrent = true;

  /**
   * @param ownTail own tail of each service, seconds, by service number
   * @param meanOverTail mean over tail of each service's own time, in (0, 1], by service number
   */
  constructor(graph: FlowGraph, ownTail: Float64Array, meanOverTail: Float64Array, residual?: FlowResidual) {
    this.#graph = new FlowTail(graph, ownTail, meanOverTail);
    this.#residual = residual && new AttentionResidual(residual.model);
    this.#serviceOf = residual?.serviceOf ?? new Int32Array();
    this.#rowOf = new Map([...this.#serviceOf].map((service, row) => [service, row]));
    this.#ownTails = Float64Array.from(this.#serviceOf, (service) => measured(ownTail[service]));
    this.#rowGradient = new Float64Array(this.#serviceOf.length);
    this.#isFollowed = this.#serviceOf.length <= MOST_SERVICES_FOLLOWED;
    this.#logResidual = this.#residual?.evaluate(this.#ownTails) ?? 0;
  }

  /** ln of measured over what the call graph says, as the residual has learnt it; 0 without one. */
  get logResidual(): number {
    this.#makeCurrent();
    return this.#logResidual;
  }

  /** Seconds. */
  get tailSeconds(): number {
    return this.#graph.tailSeconds * Math.exp(this.logResidual);
  }

  /** Sets the own tail of a service; a service outside the flow changes nothing. */
  setOwnTail(service: number, ownTailSeconds: number): void {
    this.#graph.setOwnTail(service, ownTailSeconds);
    const row = this.#rowOf.get(service);
    if (row === undefined || !this.#isFollowed || this.#ownTails[row] === ownTailSeconds) return;
    this.#ownTails[row] = ownTailSeconds;
    this.#isCurrent = false;
  }

  /** Tail if a service's own tail were `ownTailSeconds`, everything else as it is. */
  tailIf(service: number, ownTailSeconds: number): number {
    const graphSeconds = this.#graph.tailIf(service, ownTailSeconds);
    const row = this.#rowOf.get(service);
    if (this.#residual === undefined || row === undefined || !this.#isFollowed) {
      return graphSeconds * Math.exp(this.logResidual);
    }
    this.#makeCurrent();
    return graphSeconds * Math.exp(this.#residual.evaluateIf(row, ownTailSeconds));
  }

  /** Adds `weight` × ∂tail/∂(own tail) of every service of the flow to `out`, by service number. */
  addGradient(weight: number, out: Float64Array): void {
    if (this.#residual === undefined || !this.#isFollowed) {
      this.#graph.addGradient(weight * Math.exp(this.logResidual), out);
      return;
    }
    const factor = Math.exp(this.logResidual);
    this.#graph.addGradient(weight * factor, out);
    this.#rowGradient.fill(0);
    this.#residual.addGradient(weight * this.#graph.tailSeconds * factor, this.#rowGradient);
    for (let row = 0; row < this.#rowGradient.length; row += 1) {
      const service = this.#serviceOf[row] ?? -1;
      if (service >= 0) out[service] = (out[service] ?? 0) + (this.#rowGradient[row] ?? 0);
    }
  }

  #makeCurrent(): void {
    if (this.#isCurrent) return;
    this.#logResidual = this.#residual?.evaluate(this.#ownTails) ?? 0;
    this.#isCurrent = true;
  }
}

/** The residual was trained with NaN where nothing was measured; for the call graph such a service takes no time. */
function measured(ownTailSeconds: number | undefined): number {
  return ownTailSeconds !== undefined && ownTailSeconds > 0 ? ownTailSeconds : Number.NaN;
}
