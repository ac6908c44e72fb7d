import type { MinuteAccount, RouteAccount } from "../world.ts";
import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";

const MINUTE_MS = 60_000;

/** What the users of one route got. Times are ms from the start of the run. */
export class RouteRecord {
  readonly minutes: MinuteAccount[] = [];
  private readonly route: string;
  private readonly objectiveMs: number;
  private readonly percentile: number;
  private readonly startMs: number;
  private readonly latency = new LatencyHistogram();
  private requests = 0;
  private failed = 0;
  private over = 0;
  private minutesOver = 0;
  private minute = 0;
  private minuteRequests = 0;
  private minuteFailed = 0;
  private minuteOver = 0;
  private readonly minuteLatency = new LatencyHistogram();

  /** @param startMs of the run, since the Unix epoch */
  constructor(route: string, objectiveMs: number, percentile: number, startMs: number) {
    this.route = route;
    this.objectiveMs = objectiveMs;
    this.percentile = percentile;
    this.startMs = startMs;
  }

  add(latencyMs: number, failed: boolean, nowMs: number): void {
    this.closeUntil(nowMs);
    this.latency.add(latencyMs);
    this.requests += 1;
    this.minuteRequests += 1;
    if (failed) {
      this.failed += 1;
      this.minuteFailed += 1;
    } else {
      this.minuteLatency.add(latencyMs);
    }
    if (failed || latencyMs > this.objectiveMs) {
      this.over += 1;
      this.minuteOver += 1;
    }
  }

  account(nowMs: number): RouteAccount {
    this.closeUntil(nowMs);
    return {
      route: this.route,
      objectiveSeconds: this.objectiveMs / 1e3,
      percentile: this.percentile,
      requests: this.requests,
      failed: this.failed,
      over: this.over,
      sumSeconds: this.latency.sumSeconds,
      latency: this.latency.copy(),
      minutes: this.minutes.slice(),
      minutesOver: this.minutesOver,
    };
  }

  /** Whether more than the allowed share of a minute's requests was over the objective. */
  missed({ over, requests }: Pick<MinuteAccount, "over" | "requests">): boolean {
    return over > requests - Math.ceil(this.percentile * requests - 1e-9);
  }

  private closeUntil(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.minute) return;
    if (this.minuteRequests > 0) this.close();
    this.minute = minute;
  }

  private close(): void {
    const account: MinuteAccount = {
      startMs: this.startMs + this.minute * MINUTE_MS,
      requests: this.minuteRequests,
      failed: this.minuteFailed,
      over: this.minuteOver,
      percentileSeconds: this.minutePercentile(),
    };
    this.minutes.push(account);
    if (this.missed(account)) this.minutesOver += 1;
    this.minuteRequests = 0;
    this.minuteFailed = 0;
    this.minuteOver = 0;
    this.minuteLatency.clear();
  }

  /** Failed requests stand behind all others. */
  private minutePercentile(): number {
    const rank = Math.max(1, Math.ceil(this.percentile * this.minuteRequests - 1e-9));
    return rank > this.minuteLatency.count ? Infinity : this.minuteLatency.rankSeconds(rank);
  }
}
