/** A slot in a {@link Sampler}; reused after `remove`, so forget it when you remove it. */
export type SignalId = number;

/** "No signal": what `nextDue` returns when nothing is due. */
export const NONE: SignalId = -1;

/**
 * What a guard watches, as bits: a guard alarm on `cpu` wakes every signal that has the bit `CHANNEL.cpu`.
 * A signal without bits is never woken.
 */
export const CHANNEL = { cpu: 1, memory: 2, io: 4, network: 8 } as const;

/** One thing that is read again and again. Times in seconds, CPU cost in CPU seconds. */
export interface SignalOptions {
  /** `counter`: cumulative, tolerance is in units per second. `gauge`: a level, tolerance is in its own unit. */
  readonly kind: "counter" | "gauge";
  /** Largest error (eps) of the held rate or level that does not matter; > 0. For CPU 0.05 means 0.05 cores. */
  readonly tolerance: number;
  /** Shortest time between two reads; > 0. Default 1. */
  readonly minSeconds?: number;
  /** Longest time between two reads; at least `minSeconds`. Default 60. */
  readonly maxSeconds?: number;
  /** Guards that wake it: bits of {@link CHANNEL}. Default 0. */
  readonly channels?: number;
  /** Importance beside the others when the cost budget binds; > 0. Default 1. */
  readonly weight?: number;
  /** First guess of the CPU seconds of one read; >= 0. Default 3e-6 (a small held-open file). */
  readonly costSeconds?: number;
}

/** Options with every default filled in. */
export type ResolvedSignal = Required<SignalOptions>;

const DEFAULTS = {
  minSeconds: 1,
  maxSeconds: 60,
  channels: 0,
  weight: 1,
  costSeconds: 3e-6,
} as const;

/** Widest range of the numbers of a signal: their squares and ratios stay finite. */
const LEAST = 1e-30;
const MOST = 1e30;
const MOST_SECONDS = 1e9;

/** Whether a number can be a signal's tolerance or weight. */
export function isSignalNumber(value: number, most = MOST): boolean {
  return value >= LEAST && value <= most;
}

function requirePositive(name: string, value: number, most = MOST): void {
  if (!isSignalNumber(value, most)) {
    throw new RangeError(`${name} of a signal must be a number from ${LEAST} to ${most}, not ${value}`);
  }
}

/**
 * Fills in the defaults.
 * @throws RangeError naming the option that is out of range
 */
export function resolveSignal(options: SignalOptions): ResolvedSignal {
  const signal: ResolvedSignal = { ...DEFAULTS, ...options };
  requirePositive("tolerance", signal.tolerance);
  requirePositive("minSeconds", signal.minSeconds, MOST_SECONDS);
  requirePositive("maxSeconds", signal.maxSeconds, MOST_SECONDS);
  requirePositive("weight", signal.weight);
  if (signal.maxSeconds < signal.minSeconds) {
    throw new RangeError(`maxSeconds ${signal.maxSeconds} is below minSeconds ${signal.minSeconds}`);
  }
  if (!(signal.costSeconds >= 0 && Number.isFinite(signal.costSeconds))) {
    throw new RangeError(`costSeconds must be finite and not negative, not ${signal.costSeconds}`);
  }
  return signal;
}
