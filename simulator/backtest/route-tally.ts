import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";
import type { MinuteAccount, RouteAccount } from "../world.ts";
import { normalQuantile } from "../engine/random.ts";
import { overRatio } from "./route-model.ts";

export interface RouteTallyOptions {
  readonly route: string;
  readonly objectiveSeconds: number;
  readonly percentile: number;
  /** Standard deviation of the logarithm of one request's latency, > 0. */
  readonly requestSpread: number;
}

const MINUTE_MS = 60_000;
/** Points that stand for the requests of a stretch of time, at equal shares of them. */
const POINTS = 20;
const Z95 = 1.6448536269514722;

/** Requests of one route counted by share instead of one by one: what a p95 and a spread say of them. */
export class RouteTally {
  private readonly options: RouteTallyOptions;
  private readonly latency = new LatencyHistogram();
  private readonly minutes = new Map<number, { requests: number; over: number; worstSeconds: number }>();
  private requests = 0;
  private over = 0;
  private sumSeconds = 0;

  constructor(options: RouteTallyOptions) {
    this.options = options;
  }

  /** @param startMs of the stretch, which lies within one minute or a little over it */
  add(startMs: number, seconds: number, rate: number, p95Seconds: number): void {
    const requests = rate * seconds;
    if (!(requests > 0)) return;
    const { objectiveSeconds, requestSpread } = this.options;
    const over = requests * overRatio(p95Seconds, objectiveSeconds, requestSpread);
    this.requests += requests;
    this.over += over;
    this.sumSeconds += requests * p95Seconds * Math.exp(requestSpread ** 2 / 2 - Z95 * requestSpread);
    const at = Math.floor(startMs / MINUTE_MS) * MINUTE_MS;
    const minute = this.minutes.get(at) ?? { requests: 0, over: 0, worstSeconds: 0 };
    minute.requests += requests;
    minute.over += over;
    minute.worstSeconds = Math.max(minute.worstSeconds, p95Seconds);
    this.minutes.set(at, minute);
    for (let point = 0; point < POINTS; point += 1) {
      const z = normalQuantile((point + 0.5) / POINTS);
      this.latency.add(1e3 * p95Seconds * Math.exp(requestSpread * (z - Z95)));
    }
  }

  account(): RouteAccount {
    const { objectiveSeconds, percentile, route } = this.options;
    const minutes = [...this.minutes].map(([startMs, { over, requests, worstSeconds }]): MinuteAccount => ({
      startMs,
      requests,
      failed: 0,
      over,
      percentileSeconds: worstSeconds,
    }));
    return {
      route,
      objectiveSeconds,
      percentile,
      requests: this.requests,
      failed: 0,
      over: this.over,
      sumSeconds: this.sumSeconds,
      latency: this.latency.copy(),
      minutes,
      minutesOver: this.minutesMissed().length,
    };
  }

  /** Starts of the minutes in which more than the allowed share of the requests was over the objective. */
  minutesMissed(): readonly number[] {
    const allowed = 1 - this.options.percentile;
    return [...this.minutes].flatMap(([startMs, { over, requests }]) =>
      over > allowed * requests ? [startMs] : [],
    );
  }
}
