import type { Direction } from "./shape.ts";

/**
 * Inputs of a profile in their one order; a vector of them is a `Float64Array` of {@link INPUT_COUNT}, NaN where a value
 * is absent. The first seven are the features of Grad (§IV-A: u, ρ, I), the last two are what was last measured of the
 * service, see {@link "./service-state.ts"}.
 *
 * | input | unit | own tail latency |
 * | --- | --- | --- |
 * | `cpuCores` | cores allocated to one container | never rises |
 * | `memoryBytes` | bytes allocated to one container | never rises |
 * | `loadPerContainer` | requests per second to one container | never falls |
 * | `interferenceCpu` … `interferenceNetwork` | ratio in [0, 1] | never falls |
 * | `cpuSecondsPerRequest` | CPU seconds that one request takes | never falls |
 * | `baseSeconds` | own tail latency without load, seconds | never falls |
 */
export const INPUTS = [
  "cpuCores",
  "memoryBytes",
  "loadPerContainer",
  "interferenceCpu",
  "interferenceMemoryCapacity",
  "interferenceMemoryBandwidth",
  "interferenceNetwork",
  "cpuSecondsPerRequest",
  "baseSeconds",
] as const;
export type InputName = (typeof INPUTS)[number];

export const INPUT_COUNT = INPUTS.length;

export const CPU_CORES = 0;
export const MEMORY_BYTES = 1;
export const LOAD_PER_CONTAINER = 2;
/** First of four, in the order of `INTERFERENCE_COMPONENTS`. */
export const INTERFERENCE = 3;
export const CPU_SECONDS_PER_REQUEST = 7;
export const BASE_SECONDS = 8;

/** The direction each input may move the latency in. */
export const INPUT_DIRECTIONS: readonly Direction[] = [-1, -1, 1, 1, 1, 1, 1, 1, 1];

/**
 * What the network sees: the seven features, then utilisation = load · CPU seconds per request / cores, then the logarithm
 * of the base latency. Without the prior it sees the seven features alone.
 */
export const NETWORK_INPUT_COUNT = 9;
export const FEATURE_COUNT = 7;
export const UTILISATION_SLOT = 7;
export const LOG_BASE_SLOT = 8;
export const NETWORK_DIRECTIONS: readonly Direction[] = [-1, -1, 1, 1, 1, 1, 1, 1, 1];
