import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/main-containers.ts";
import { CPU_CORES, INPUT_COUNT, INTERFERENCE, LOAD_PER_CONTAINER, MEMORY_BYTES } from "./inputs.ts";
import { confidence } from "./latency-profile.ts";
import type { LatencyProfile } from "./latency-profile.ts";
import type { ServiceState } from "./service-state.ts";
import { writeInputs } from "./window-inputs.ts";

interface Answer {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** Requests per second to one container. */
  readonly load: number;
  readonly seconds: number;
  readonly confidence: number;
}

/**
 * Own tail of the worst container of a service when every container gets and bears the same, each under the interference
 * of its own node as last measured. Fits `OwnTailModel` of the plan.
 */
export class WorstContainer {
  /** Least confidence met since this was made, in [0, 1]. */
  leastConfidence = 1;
  /** Confidence in the last evaluation, in [0, 1]. */
  lastConfidence = 1;
  readonly #profile: LatencyProfile;
  readonly #containers: readonly Float64Array[];
  #worst: Float64Array | undefined;
  /** What {@link settle} found: a plan asks for the size as it is more than once. */
  #settled: Answer | undefined;
  readonly #gradient = new Float64Array(INPUT_COUNT);

  /**
   * @param window last window of the service; without containers one undisturbed container stands for all
   * @param state as measured over the last windows; undefined uses what the profile was made with
   */
  constructor(profile: LatencyProfile, window: Window, state: ServiceState | undefined) {
    this.#profile = profile;
    const known = mainContainers(window);
    const containers = known.length === 0 ? [undefined] : known;
    const inputs = distinct(
      containers.map((container) => {
        const input = new Float64Array(INPUT_COUNT);
        writeInputs(input, container, undefined, state);
        return input;
      }),
    );
    this.#containers = profile.isMonotone ? undominated(inputs) : inputs;
  }

  /**
   * Evaluates every container and lets the worst one stand for the service from now on: {@link ownTailSeconds} then costs
   * one evaluation however many nodes the service is on.
   * @returns seconds, finite and > 0
   */
  settle(cpuCores: number, memoryBytes: number, requestsPerSecondPerReplica: number): number {
    this.#worst = undefined;
    let worst: Float64Array | undefined;
    let most = 0;
    let confidenceInWorst = 1;
    for (const input of this.#containers) {
      const seconds = this.#evaluate(input, cpuCores, memoryBytes, requestsPerSecondPerReplica);
      if (worst !== undefined && seconds <= most) continue;
      worst = input;
      most = seconds;
      confidenceInWorst = this.lastConfidence;
    }
    this.lastConfidence = confidenceInWorst;
    this.#worst = worst;
    this.#settled = {
      cpuCores,
      memoryBytes,
      load: requestsPerSecondPerReplica,
      seconds: most,
      confidence: confidenceInWorst,
    };
    return most;
  }

  /** Seconds, finite and > 0; not increasing in the first two, not decreasing in the third when the profile is monotone. */
  ownTailSeconds(cpuCores: number, memoryBytes: number, requestsPerSecondPerReplica: number): number {
    const settled = this.#settled;
    if (
      settled?.cpuCores === cpuCores &&
      Object.is(settled.memoryBytes, memoryBytes) &&
      settled.load === requestsPerSecondPerReplica
    ) {
      this.lastConfidence = settled.confidence;
      return settled.seconds;
    }
    if (this.#worst !== undefined) {
      return this.#evaluate(this.#worst, cpuCores, memoryBytes, requestsPerSecondPerReplica);
    }
    let most = 0;
    for (let i = 0; i < this.#containers.length; i += 1) {
      const input = this.#containers[i] as Float64Array;
      most = Math.max(most, this.#evaluate(input, cpuCores, memoryBytes, requestsPerSecondPerReplica));
    }
    return most;
  }

  /** Like {@link ownTailSeconds}; leaves ∂latency/∂input of the worst container in `gradientOut`. */
  ownTailWithGradient(
    cpuCores: number,
    memoryBytes: number,
    requestsPerSecondPerReplica: number,
    gradientOut: Float64Array,
  ): number {
    let worst = -1;
    for (let i = 0; i < this.#containers.length; i += 1) {
      const input = this.#containers[i] as Float64Array;
      this.#set(input, cpuCores, memoryBytes, requestsPerSecondPerReplica);
      const seconds = this.#profile.evaluate(input, this.#gradient);
      if (seconds <= worst) continue;
      worst = seconds;
      gradientOut.set(this.#gradient);
    }
    return worst;
  }

  #evaluate(input: Float64Array, cpuCores: number, memoryBytes: number, load: number): number {
    this.#set(input, cpuCores, memoryBytes, load);
    const seconds = this.#profile.evaluate(input);
    this.lastConfidence = confidence(this.#profile.verdict);
    this.leastConfidence = Math.min(this.leastConfidence, this.lastConfidence);
    return seconds;
  }

  #set(input: Float64Array, cpuCores: number, memoryBytes: number, load: number): void {
    input[CPU_CORES] = cpuCores;
    input[MEMORY_BYTES] = memoryBytes;
    input[LOAD_PER_CONTAINER] = load;
  }
}

const COMPONENTS = INTERFERENCE_COMPONENTS.length;

/** Interference in hundredths, which is as much as an agent can tell; 101 where it is absent. */
const hundredths = (value: number | undefined): number =>
  value === undefined || Number.isNaN(value) ? 101 : Math.round(100 * value);

/** Containers that differ in nothing but size count once: hundreds on alike nodes cost no more than a few. */
function distinct(inputs: readonly Float64Array[]): Float64Array[] {
  const seen = new Map<number, Float64Array>();
  for (const input of inputs) {
    let key = 0;
    for (let i = 0; i < COMPONENTS; i += 1) key = 102 * key + hundredths(input[INTERFERENCE + i]);
    if (!seen.has(key)) seen.set(key, input);
  }
  return [...seen.values()];
}

/** Without those that another one is at least as disturbed as in every component: they cannot be the worst. */
function undominated(inputs: readonly Float64Array[]): Float64Array[] {
  if (inputs.length < 2) return [...inputs];
  const total = (input: Float64Array): number => {
    let sum = 0;
    for (let i = 0; i < COMPONENTS; i += 1) sum += input[INTERFERENCE + i] || 0;
    return sum;
  };
  const kept: Float64Array[] = [];
  // A container can only be dominated by one whose total is no less.
  for (const input of [...inputs].sort((a, b) => total(b) - total(a))) {
    if (!kept.some((other) => dominates(other, input))) kept.push(input);
  }
  return kept;
}

/** An absent component is compared with nothing but another absent one. */
function dominates(a: Float64Array, b: Float64Array): boolean {
  for (let i = INTERFERENCE; i < INTERFERENCE + COMPONENTS; i += 1) {
    const [more, less] = [a[i] ?? Number.NaN, b[i] ?? Number.NaN];
    if (!(more >= less || (Number.isNaN(more) && Number.isNaN(less)))) return false;
  }
  return true;
}
