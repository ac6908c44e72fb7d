import type { FlowCall } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import { standardNormal } from "@tradewind/core/rng.ts";
import { bandMean } from "./order.ts";

/** What a simulated service really is; the models under test see only noisy windows of it. */
export interface TrueService {
  readonly name: string;
  readonly cpuSecondsPerRequest: number;
  /** Time spent waiting for something outside (disk, remote), seconds: no resource shortens it. */
  readonly outsideSeconds: number;
  readonly memoryNeedBytes: number;
  /** Slow-down at full CPU interference, and at full memory-bandwidth interference. */
  readonly cpuSensitivity: number;
  readonly bandwidthSensitivity: number;
  /** Standard deviation of the log of one request's own time. */
  readonly logSpread: number;
}

/** What a container of a service gets and bears. */
export interface TrueState {
  readonly replicas: number;
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** Load of the whole service. */
  readonly requestsPerSecond: number;
  readonly cpuInterference: number;
  readonly bandwidthInterference: number;
}

/** Past this utilisation the queue no longer settles within a window and grows in proportion to the overload. */
const KNEE = 0.95;

/** CPU seconds of one request under the interference it bears. */
export function workSeconds(service: TrueService, state: TrueState): number {
  return (
    service.cpuSecondsPerRequest *
    (1 + service.cpuSensitivity * state.cpuInterference ** 1.5) *
    (1 + service.bandwidthSensitivity * state.bandwidthInterference ** 2)
  );
}

/**
 * Mean own time of a request, seconds: processor sharing with interference and a memory cliff, carried on linearly past
 * the knee. Deliberately another form than the prior of the profiles: work that cannot use more than one core, memory
 * pressure as a power law, waiting that no resource shortens, and interference that acts on the work.
 */
export function meanOwnSeconds(service: TrueService, state: TrueState): number {
  const work = workSeconds(service, state);
  const utilisation = ((state.requestsPerSecond / state.replicas) * work) / state.cpuCores;
  const stretch =
    utilisation < KNEE ? 1 / (1 - utilisation) : 1 / (1 - KNEE) + (utilisation - KNEE) / (1 - KNEE) ** 2;
  const pressure = 1 + (service.memoryNeedBytes / state.memoryBytes) ** 4;
  return service.outsideSeconds + (work / Math.min(1, state.cpuCores)) * stretch * pressure;
}

interface TrueCall {
  readonly callee: number;
  readonly parallel: boolean;
  /** How often each sampled request makes the call; undefined where it is always once. */
  readonly times: Float64Array | undefined;
}

/** The tail is the mean of the quantiles between these two, so that no single sampled request decides what a step buys. */
const TAIL_FROM = 0.94;
const TAIL_TO = 0.96;

/**
 * An application whose truth is known: end-to-end tails by simulation with common random numbers, so that two states
 * differ only by what was changed. Callers come before their callees; requests enter at service 0.
 */
export class TrueApplication {
  readonly services: readonly TrueService[];
  readonly calls: readonly FlowCall[];
  readonly samples: number;
  /** Own time over its mean, `[service][sample]`; a service called twice in a request is as slow both times. */
  readonly #factors: readonly Float64Array[];
  readonly #callees: readonly (readonly TrueCall[])[];
  readonly #responses: readonly Float64Array[];
  readonly #changed: readonly Float64Array[];
  readonly #group: Float64Array;

  constructor(services: readonly TrueService[], calls: readonly FlowCall[], samples: number, rng: Rng) {
    this.services = services;
    this.calls = calls;
    this.samples = samples;
    this.#factors = services.map(({ logSpread }) =>
      Float64Array.from({ length: samples }, () =>
        Math.exp(logSpread * standardNormal(rng) - (logSpread * logSpread) / 2),
      ),
    );
    const numberOf = new Map(services.map(({ name }, service) => [name, service]));
    this.#callees = services.map(({ name }) =>
      calls
        .filter(({ caller }) => caller === name)
        .map(({ callee, callsPerRequest, parallelRatio }) => ({
          callee: numberOf.get(callee) ?? 0,
          parallel: parallelRatio >= 0.5,
          times: callsPerRequest === 1 ? undefined : timesCalled(callsPerRequest, samples, rng),
        })),
    );
    this.#responses = services.map(() => new Float64Array(samples));
    this.#changed = services.map(() => new Float64Array(samples));
    this.#group = new Float64Array(samples);
  }

  /** Own times over their mean, one a sampled request. */
  factorsOf(service: number): Float64Array {
    return this.#factors[service] ?? new Float64Array();
  }

  /** Tail with every service in the state given, seconds; {@link tailIf} starts from here. */
  tailSeconds(states: readonly TrueState[]): number {
    return tailOf(this.respond(states).slice());
  }

  /**
   * End-to-end times of all sampled requests, seconds; overwritten by the next call.
   * @param weather factor on each service's own time; 1 where absent
   */
  respond(states: readonly TrueState[], weather: readonly number[] = []): Float64Array {
    for (let service = this.services.length - 1; service >= 0; service -= 1) {
      const ownMean = this.#ownMean(service, states) * (weather[service] ?? 1);
      this.#evaluate(service, ownMean, this.#responses, this.#responses);
    }
    return this.#responses[0] ?? new Float64Array();
  }

  /** Tail if one service were in another state than in the last {@link respond}, seconds. */
  tailIf(changed: number, states: readonly TrueState[]): number {
    const responses = [...this.#responses];
    for (let service = changed; service >= 0; service -= 1) {
      const isTouched =
        service === changed ||
        (this.#callees[service] ?? []).some(({ callee }) => responses[callee] !== this.#responses[callee]);
      if (!isTouched) continue;
      this.#evaluate(service, this.#ownMean(service, states), responses, this.#changed);
      responses[service] = this.#changed[service] ?? new Float64Array();
    }
    return tailOf((responses[0] ?? new Float64Array()).slice());
  }

  #ownMean(service: number, states: readonly TrueState[]): number {
    const truth = this.services[service];
    const state = states[service];
    return truth === undefined || state === undefined ? 0 : meanOwnSeconds(truth, state);
  }

  #evaluate(
    service: number,
    ownMean: number,
    from: readonly Float64Array[],
    into: readonly Float64Array[],
  ): void {
    const out = into[service];
    const factors = this.#factors[service];
    if (out === undefined || factors === undefined) return;
    for (let i = 0; i < out.length; i += 1) out[i] = ownMean * (factors[i] ?? 0);
    const group = this.#group.fill(0);
    for (const { callee, parallel, times } of this.#callees[service] ?? []) {
      const response = from[callee] ?? group;
      for (let i = 0; i < out.length; i += 1) {
        const time = (times === undefined ? 1 : (times[i] ?? 0)) * (response[i] ?? 0);
        if (parallel) group[i] = Math.max(group[i] ?? 0, time);
        else out[i] = (out[i] ?? 0) + time;
      }
    }
    for (let i = 0; i < out.length; i += 1) out[i] = (out[i] ?? 0) + (group[i] ?? 0);
  }
}

/** Whole calls always, the fraction of one by the toss of a coin. */
function timesCalled(callsPerRequest: number, samples: number, rng: Rng): Float64Array {
  const whole = Math.floor(callsPerRequest);
  return Float64Array.from({ length: samples }, () => whole + (rng() < callsPerRequest - whole ? 1 : 0));
}

const tailOf = (times: Float64Array): number => bandMean(times, TAIL_FROM, TAIL_TO);
