import { z } from "zod";

/** How much work this machine's CPU does in one millisecond when nothing disturbs it. Measured once, shared by all replicas. */
export const Calibration = z.strictObject({
  spinsPerMilli: z.number().positive(),
  touchesPerMilli: z.number().positive(),
});
export type Calibration = z.infer<typeof Calibration>;

/** Words of the walked array: 4 MiB, more than the private caches of a core. */
const ARENA_WORDS = 2 ** 20;
/** Odd and far from any power of two: every word is visited once, neighbours are never on one page. */
const ARENA_STRIDE = 40_503;

export interface Machine {
  /** Integer arithmetic in registers. */
  spin(iterations: number): void;
  /** Reads and writes that miss the private caches. */
  touch(iterations: number): void;
}

export function createMachine(): Machine {
  const arena = new Uint32Array(ARENA_WORDS);
  let state = 0x12345678;
  let position = 0;
  return {
    spin(iterations) {
      let x = state;
      for (let index = 0; index < iterations; index += 1) {
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
      }
      state = x | 1;
    },
    touch(iterations) {
      let at = position;
      for (let index = 0; index < iterations; index += 1) {
        at = (at + ARENA_STRIDE) & (ARENA_WORDS - 1);
        arena[at] = (arena[at] ?? 0) + index;
      }
      position = at;
    },
  };
}

/** Machines that are measured: where an arena lies in memory may make it twice as fast as the next one. */
const MACHINES = 5;
const ROUNDS = 5;

/**
 * Iterations per millisecond of CPU time: of each machine the best of several rounds, because whatever else runs beside it
 * can only make a round look slower, and of several machines the median.
 * @param cpuMillis CPU time of this process so far, ms
 */
export function calibrate(machineOf: () => Machine, cpuMillis: () => number): Calibration {
  const machines = Array.from({ length: MACHINES }, machineOf);
  return {
    spinsPerMilli: median(
      machines.map((machine) => best((iterations) => machine.spin(iterations), 1e6, cpuMillis)),
    ),
    touchesPerMilli: median(
      machines.map((machine) => best((iterations) => machine.touch(iterations), 1e5, cpuMillis)),
    ),
  };
}

function best(run: (iterations: number) => void, start: number, cpuMillis: () => number): number {
  let iterations = start;
  let fastest = 0;
  for (let round = 0; round < ROUNDS;) {
    const before = cpuMillis();
    run(iterations);
    const spent = cpuMillis() - before;
    if (spent < 5) {
      iterations *= 2;
      continue;
    }
    fastest = Math.max(fastest, iterations / spent);
    round += 1;
  }
  return fastest;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** CPU time of this process so far, ms. */
export function processCpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}
