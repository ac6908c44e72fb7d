import { z } from "zod";

/** How much work counts as one millisecond of CPU when nothing disturbs it. Shared by all replicas. */
export const Calibration = z.strictObject({
  spinsPerMilli: z.number().positive(),
  touchesPerMilli: z.number().positive(),
});
export type Calibration = z.infer<typeof Calibration>;

/**
 * Touches that count as a millisecond: 50 ns each. What misses the private caches takes 15 to 100 ns, by what the neighbours on
 * the machine do to the shared one at that moment: measured, one moment would set the work of all requests, three times as
 * much at times.
 */
const TOUCHES_PER_MILLI = 20_000;

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

/** Measurements of which the median counts, and rounds of each. */
const MEASUREMENTS = 5;
const ROUNDS = 5;

/**
 * Loop turns per millisecond of CPU time: of each measurement the best of several rounds, because whatever else runs beside
 * it can only make a round look slower, and of several measurements the median.
 * @param cpuMillis CPU time of this process so far, ms
 */
export function calibrate(machine: Machine, cpuMillis: () => number): Calibration {
  const measured = Array.from({ length: MEASUREMENTS }, () => bestSpinsPerMilli(machine, cpuMillis));
  const spinsPerMilli = measured.sort((a, b) => a - b)[Math.floor(MEASUREMENTS / 2)] ?? Number.NaN;
  return { spinsPerMilli, touchesPerMilli: TOUCHES_PER_MILLI };
}

function bestSpinsPerMilli(machine: Machine, cpuMillis: () => number): number {
  let iterations = 1e6;
  let fastest = 0;
  for (let round = 0; round < ROUNDS;) {
    const before = cpuMillis();
    machine.spin(iterations);
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

/** CPU time of this process so far, ms. */
export function processCpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}
