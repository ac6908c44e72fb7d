import { derive } from "@tradewind/simulator/engine/random.ts";
import type { Composition } from "./composition.ts";
import { bandMean } from "./order.ts";
import { ownTimes, requestsOf } from "./truth.ts";
import type { TrueService, TrueState } from "./truth.ts";

/** The tail is the mean of the quantiles between these two, so that no single sampled request decides what a step buys. */
const TAIL_FROM = 0.94;
const TAIL_TO = 0.96;

/** An application in one state, with the times that all of its requests take in it. */
export interface Answered {
  readonly states: readonly TrueState[];
  readonly own: readonly Float64Array[];
  readonly responses: readonly Float64Array[];
  readonly tailSeconds: number;
}

/**
 * An application whose truth is known: end-to-end tails by simulation with common random numbers, so that two states
 * differ only by what was changed.
 */
export class TrueApplication {
  readonly services: readonly TrueService[];
  readonly composition: Composition;
  readonly #keys: readonly number[];

  constructor(services: readonly TrueService[], composition: Composition, key: number) {
    this.services = services;
    this.composition = composition;
    this.#keys = services.map((_, service) => derive(key, service));
  }

  /** All services in the states given. */
  answer(states: readonly TrueState[]): Answered {
    const own = states.map((state, service) => this.#own(service, state, state));
    const responses = this.composition.respond(own);
    return { states, own, responses, tailSeconds: tailOf(responses[0]) };
  }

  /** Tail if one service were in another state, under the same requests, seconds. */
  tailIf({ own, responses, states }: Answered, changed: number, state: TrueState): number {
    const before = states[changed] ?? state;
    return tailOf(this.composition.respondIf(responses, own, changed, this.#own(changed, state, before)));
  }

  #own(service: number, state: TrueState, before: TrueState): Float64Array {
    const truth = this.services[service];
    if (truth === undefined) throw new RangeError(`there is no service ${service}`);
    const options = { count: this.composition.samples, key: this.#keys[service] ?? 0 };
    return ownTimes(truth, state, { ...options, requests: requestsOf(before) }).seconds;
  }
}

const tailOf = (times: Float64Array = new Float64Array()): number =>
  bandMean(times.slice(), TAIL_FROM, TAIL_TO);
