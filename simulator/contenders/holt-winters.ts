import { mean } from "@tradewind/core/values/statistics.ts";
import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { numbersBrain } from "./numbers.ts";

export interface SmoothingFactors {
  readonly level: number;
  readonly trend: number;
  readonly season: number;
}

/**
 * Holt-Winters, additive trend and season, one value after the other. Without a season, and until two whole seasons have been
 * seen, it is Holt's linear method.
 */
export class HoltWinters {
  private readonly factors: SmoothingFactors;
  private readonly seasonLength: number;
  private readonly first: number[] = [];
  private seasons: number[] | undefined;
  private levelNow: number | undefined;
  private trendNow = 0;
  private at = 0;

  /** @param seasonLength values in a season; 0: none */
  constructor(seasonLength: number, factors: SmoothingFactors) {
    this.seasonLength = seasonLength;
    this.factors = factors;
  }

  add(value: number): void {
    const season = this.seasonOf(0);
    const { level, trend } = this.factors;
    const before = this.levelNow ?? value;
    const next = level * (value - season) + (1 - level) * (before + this.trendNow);
    this.trendNow = this.levelNow === undefined ? 0 : trend * (next - before) + (1 - trend) * this.trendNow;
    this.levelNow = next;
    if (this.seasons !== undefined) {
      const slot = this.at % this.seasonLength;
      this.seasons[slot] = this.factors.season * (value - next) + (1 - this.factors.season) * season;
    }
    this.at += 1;
    if (this.seasonLength > 0 && this.seasons === undefined) this.learnSeason(value);
  }

  /** @param steps ahead of the last value, at least 1 */
  forecast(steps: number): number {
    return (this.levelNow ?? 0) + steps * this.trendNow + this.seasonOf(steps - 1);
  }

  private seasonOf(ahead: number): number {
    return this.seasons?.[(this.at + ahead) % this.seasonLength] ?? 0;
  }

  /** After two seasons: the trend from one to the next, and how far each slot lies off it in the mean. */
  private learnSeason(value: number): void {
    const length = this.seasonLength;
    this.first.push(value);
    if (this.first.length < 2 * length) return;
    const [one, two] = [mean(this.first.slice(0, length)), mean(this.first.slice(length))];
    const trend = (two - one) / length;
    const offTrend = (slot: number): number => {
      const [early = 0, late = 0] = [this.first[slot], this.first[slot + length]];
      return (early - one + late - two) / 2 - trend * (slot - (length - 1) / 2);
    };
    this.seasons = Array.from({ length }, (_, slot) => offTrend(slot));
    this.trendNow = trend;
    this.levelNow = two + (trend * (length - 1)) / 2;
  }
}

/**
 * A predictive HPA: the replicas that CPU use asks for at its target, and those that the forecast load will ask for; the larger
 * number counts (`decisionType: maximum`).
 */
export const PREDICTIVE_HPA: Contender = {
  name: "predictive-hpa",
  about:
    "HPA on CPU use with a Holt-Winters forecast of requests a second; the larger of both numbers counts.",
  defaults: { targetPercent: 60, horizonSeconds: 90, seasonWindows: 0 },
  grid: combinations({ targetPercent: [50, 65], horizonSeconds: [60, 120], seasonWindows: [0, 20] }),
  start: (setting, parameters) => {
    const target = numberOf(parameters, "targetPercent") / 100;
    const steps = numberOf(parameters, "horizonSeconds") / setting.plant.windowSeconds;
    const factors = { level: 0.5, trend: 0.2, season: 0.3 };
    const forecasts = new Map(
      setting.world.services.map((name) => [
        name,
        new HoltWinters(numberOf(parameters, "seasonWindows"), factors),
      ]),
    );
    return numbersBrain(setting, (facts) => {
      const wanted = new Map<string, { replicas: number } | "unmeasured">();
      for (const { podCores, requestsPerSecond, service, usedCores } of facts) {
        const forecast = forecasts.get(service);
        if (usedCores === undefined) {
          wanted.set(service, "unmeasured");
          continue;
        }
        if (requestsPerSecond === undefined || forecast === undefined) continue;
        forecast.add(requestsPerSecond);
        const growth = requestsPerSecond > 0 ? forecast.forecast(Math.round(steps)) / requestsPerSecond : 1;
        // A trend out of a few windows can say anything: more than four times the load is not believed.
        const expected = Math.max(1, Math.min(4, growth));
        wanted.set(service, { replicas: Math.ceil((usedCores * expected) / (podCores * target)) });
      }
      return wanted;
    });
  },
};
