/** How much is asked for at once, and how long to wait before the next question. */
export interface PaceLimits {
  readonly maxSamplesPerQuery: number;
  readonly slowSeconds: number;
}

const MIN_WINDOWS = 5;
/** Prometheus refuses more than 11,000 points per series. */
const MAX_WINDOWS = 10_000;
const FIRST_WINDOWS = 60;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/**
 * Politeness towards the server: questions grow while they are answered quickly, shrink when they are slow, and after a
 * refusal there is a pause that doubles with each further one. Never more than the allowed samples per question.
 */
export class Pace {
  private readonly limits: PaceLimits;
  private windowsPerChunk = FIRST_WINDOWS;
  private samplesPerWindow = 1;
  private refusals = 0;

  constructor(limits: PaceLimits) {
    this.limits = limits;
  }

  get windows(): number {
    const bySamples = Math.floor(this.limits.maxSamplesPerQuery / this.samplesPerWindow);
    return Math.max(1, Math.min(this.windowsPerChunk, bySamples, MAX_WINDOWS));
  }

  /** An answer of `samples` over `windows` windows after `seconds`. */
  answered(windows: number, samples: number, seconds: number): void {
    this.refusals = 0;
    this.samplesPerWindow = Math.max(1, samples / Math.max(1, windows));
    if (seconds > this.limits.slowSeconds) this.shrink();
    else if (seconds < this.limits.slowSeconds / 3) {
      this.windowsPerChunk = Math.min(MAX_WINDOWS, Math.ceil(this.windowsPerChunk * 1.6));
    }
  }

  /** The server refused or did not answer. @returns how long to leave it alone, ms */
  refused(retryAfterMs: number | undefined): number {
    this.shrink();
    this.refusals += 1;
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(10, this.refusals - 1));
    return Math.max(pauseMs, Math.min(retryAfterMs ?? 0, 5 * MAX_PAUSE_MS));
  }

  get refusalsInARow(): number {
    return this.refusals;
  }

  private shrink(): void {
    this.windowsPerChunk = Math.max(MIN_WINDOWS, Math.floor(this.windows / 2));
  }
}
