/** How much work this machine's CPU does in one millisecond when nothing disturbs it. Measured once, shared by all replicas. */
export interface Calibration {
  readonly spinsPerMilli: number;
  readonly touchesPerMilli: number;
}

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

/**
 * Iterations per millisecond of CPU time: the best of several rounds, because whatever else runs on the machine can only
 * make a round look slower.
 * @param cpuMillis CPU time of this process so far, ms
 */
export function calibrate(machine: Machine, cpuMillis: () => number, rounds = 7): Calibration {
  const best = (run: (iterations: number) => void, start: number): number => {
    let iterations = start;
    let fastest = 0;
    for (let round = 0; round < rounds;) {
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
  };
  return {
    spinsPerMilli: best((iterations) => machine.spin(iterations), 1e6),
    touchesPerMilli: best((iterations) => machine.touch(iterations), 1e5),
  };
}

/** CPU time of this process so far, ms. */
export function processCpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}
