import type { FlowCall } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

interface TrueCall {
  readonly callee: number;
  readonly parallel: boolean;
  /** How often each sampled request makes the call; undefined where it is always once. */
  readonly times: Float64Array | undefined;
}

/**
 * End-to-end times from own times over a call graph, request by request: what follows adds, of what runs beside the longest
 * counts. Callers come before their callees; requests enter at service 0.
 */
export class Composition {
  readonly services: readonly string[];
  readonly calls: readonly FlowCall[];
  /** Requests that it composes. */
  readonly samples: number;
  readonly #callees: readonly (readonly TrueCall[])[];

  constructor(services: readonly string[], calls: readonly FlowCall[], samples: number, rng: Rng) {
    this.services = services;
    this.calls = calls;
    this.samples = samples;
    const numberOf = new Map(services.map((name, number) => [name, number]));
    this.#callees = services.map((name) =>
      calls
        .filter(({ caller }) => caller === name)
        .map(({ callee, callsPerRequest, parallelRatio }) => ({
          callee: numberOf.get(callee) ?? 0,
          parallel: parallelRatio >= 0.5,
          times: callsPerRequest === 1 ? undefined : timesCalled(callsPerRequest, samples, rng),
        })),
    );
  }

  /** Response times of every service, `[service][request]`, those of service 0 end to end. */
  respond(own: readonly Float64Array[]): Float64Array[] {
    const responses: Float64Array[] = own.map(() => new Float64Array());
    for (let service = own.length - 1; service >= 0; service -= 1) {
      responses[service] = this.#response(service, own[service], responses);
    }
    return responses;
  }

  /** End-to-end times if one service had other own times than in `responses`. */
  respondIf(
    responses: readonly Float64Array[],
    own: readonly Float64Array[],
    changed: number,
    ownOfChanged: Float64Array,
  ): Float64Array {
    const after = [...responses];
    for (let service = changed; service >= 0; service -= 1) {
      const isTouched = (this.#callees[service] ?? []).some(
        ({ callee }) => after[callee] !== responses[callee],
      );
      if (service === changed) after[service] = this.#response(service, ownOfChanged, after);
      else if (isTouched) after[service] = this.#response(service, own[service], after);
    }
    return after[0] ?? new Float64Array();
  }

  #response(
    service: number,
    own: Float64Array | undefined,
    responses: readonly Float64Array[],
  ): Float64Array {
    const out = Float64Array.from(own ?? []);
    const group = new Float64Array(out.length);
    for (const { callee, parallel, times } of this.#callees[service] ?? []) {
      const response = responses[callee];
      for (let i = 0; i < out.length; i += 1) {
        const time = (times === undefined ? 1 : (times[i] ?? 0)) * (response?.[i] ?? 0);
        if (parallel) group[i] = Math.max(group[i] ?? 0, time);
        else out[i] = (out[i] ?? 0) + time;
      }
    }
    for (let i = 0; i < out.length; i += 1) out[i] = (out[i] ?? 0) + (group[i] ?? 0);
    return out;
  }
}

/** Whole calls always, the fraction of one by the toss of a coin. A service called twice in a request is as slow both times. */
function timesCalled(callsPerRequest: number, samples: number, rng: Rng): Float64Array {
  const whole = Math.floor(callsPerRequest);
  return Float64Array.from({ length: samples }, () => whole + (rng() < callsPerRequest - whole ? 1 : 0));
}
