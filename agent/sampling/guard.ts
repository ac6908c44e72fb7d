/** What a guard reads: see {@link GuardChannel}. */
export interface GuardOptions {
  /** `counter`: cumulative total, watched as its rate. `gauge`: watched as it is. */
  readonly kind: "counter" | "gauge";
  /** Smallest movement worth waking for: units per second of a counter, units of a gauge; > 0. */
  readonly floor: number;
}

/** CUSUM (Page 1954): the drift allowed in standard deviations of a reading, and how much more a fall must show. */
const SLACK = 0.5;
const FALL_LEVEL = 1;
/**
 * The alarm level in standard deviations adapts between these bounds so that alarms come no more often than one in 15
 * readings: false alarms cost a read of every signal that is woken.
 */
const LOWEST_LEVEL = 1;
const HIGHEST_LEVEL = 6;
const ALARM_SHARE = 1 / 15;
const LEVEL_STEP = 0.25;
/** Readings out of this range, or closer than this to the one before, tell nothing. */
const MOST_VALUE = 1e60;
const MOST_MS = 1e15;
const SHORTEST_SECONDS = 0.01;
/** Weight of a reading in the baseline and in the noise. */
const BASELINE_WEIGHT = 0.05;
const NOISE_WEIGHT = 0.05;
/** E|difference of two| = 2/sqrt(pi) standard deviations of normal readings. */
const MEAN_DIFFERENCE = 2 / Math.sqrt(Math.PI);
/** A difference counts for at most this many times the usual one, so that bursts do not raise the noise. */
const NOISE_CLIP = 4;

/**
 * Watches one cheap, always-read value (the total of /proc/pressure/cpu, the usage of the top cgroup) and tells when it
 * moved, up or down: a two-sided CUSUM around a slowly following baseline, scaled by the value's own noise. A movement
 * of at least `floor` + 1.5 standard deviations alarms on the first reading, a smaller lasting one after some.
 *
 * Read it at 1 to 4 Hz and call `Sampler.wake` when it moved. Steady state allocates nothing.
 */
export class GuardChannel {
  readonly #isCounter: boolean;
  readonly #floor: number;
  #lastValue = Number.NaN;
  #lastMs = Number.NaN;
  #lastRate = Number.NaN;
  #baseline = Number.NaN;
  #noise = 0;
  #readings = 0;
  #up = 0;
  #down = 0;
  #settling = false;
  #level = LOWEST_LEVEL;

  /** @throws RangeError when the floor is not a finite number above 0 */
  constructor(options: GuardOptions) {
    if (!(options.floor > 0 && Number.isFinite(options.floor))) {
      throw new RangeError(`floor of a guard must be a finite number above 0, not ${options.floor}`);
    }
    this.#isCounter = options.kind === "counter";
    this.#floor = options.floor;
  }

  /**
   * Takes one reading.
   * @returns whether the value moved. A reset, a repeated or earlier time or a value out of range is no movement.
   */
  observe(value: number, nowMs: number): boolean {
    if (!(Math.abs(value) <= MOST_VALUE) || !(Math.abs(nowMs) <= MOST_MS)) return false;
    const seconds = (nowMs - this.#lastMs) / 1e3;
    if (seconds >= 0 && seconds < SHORTEST_SECONDS) return false;
    const rate = this.#isCounter ? (value - this.#lastValue) / seconds : value;
    this.#lastValue = value;
    this.#lastMs = nowMs;
    if (Number.isNaN(rate) || !(seconds > 0)) return false;
    if (this.#isCounter && rate < 0) return false;
    return this.#judge(rate);
  }

  #judge(rate: number): boolean {
    this.#learnNoise(rate);
    if (this.#readings < 2 || this.#settling) {
      this.#settling = false;
      this.#readings += 1;
      this.#recentre(rate);
      return false;
    }
    const excess = rate - this.#baseline;
    const slack = SLACK * this.#noise + this.#floor / 2;
    this.#up = Math.max(0, this.#up + excess - slack);
    this.#down = Math.max(0, this.#down - excess - slack);
    if (this.#up > this.#alarmAt(this.#level) || this.#down > this.#alarmAt(this.#level + FALL_LEVEL)) {
      this.#alarm(rate);
      return true;
    }
    this.#level = Math.max(LOWEST_LEVEL, this.#level - LEVEL_STEP * ALARM_SHARE);
    this.#baseline += BASELINE_WEIGHT * excess;
    return false;
  }

  #alarmAt(level: number): number {
    return level * this.#noise + this.#floor / 2;
  }

  /** The next reading becomes the new baseline: this one may have caught the movement half-way. */
  #alarm(rate: number): void {
    this.#recentre(rate);
    this.#settling = true;
    this.#level = Math.min(HIGHEST_LEVEL, this.#level + LEVEL_STEP * (1 - ALARM_SHARE));
  }

  #recentre(rate: number): void {
    this.#baseline = rate;
    this.#up = this.#down = 0;
  }

  #learnNoise(rate: number): void {
    const difference = Math.abs(rate - this.#lastRate) / MEAN_DIFFERENCE;
    this.#lastRate = rate;
    if (!Number.isFinite(difference)) return;
    const weight = Math.max(NOISE_WEIGHT, 1 / (this.#readings + 1));
    const most = this.#readings < 5 ? Infinity : Math.max(this.#floor, NOISE_CLIP * this.#noise);
    this.#noise += weight * (Math.min(difference, most) - this.#noise);
  }
}
