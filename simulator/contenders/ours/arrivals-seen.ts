import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { Arrivals } from "@tradewind/predictor/window/arrival-counter.ts";
import type { CountedArrivals } from "@tradewind/predictor/window/surge.ts";
import type { World } from "../../world.ts";

export interface ArrivalsSeenOptions {
  readonly slotMs: number;
  /** Names of the routes of the application's entry. */
  readonly routes: readonly string[];
  /** Share of the traces that are kept. */
  readonly sampledRatio: number;
  /** From the end of a request until its span is there. */
  readonly spanDelayMs: number;
  readonly seed: number;
}

interface Slot {
  readonly endMs: number;
  readonly spans: number;
}

/**
 * What the spans of a simulated application tell of requests while a window is still open. The world hands out spans only as
 * windows, so requests that ended are counted instead, thinned out by chance as sampling does, and shown a span's delay later.
 */
export class ArrivalsSeen implements CountedArrivals {
  readonly slotMs: number;
  private readonly options: ArrivalsSeenOptions;
  private readonly rng: Rng;
  private readonly slots: Slot[] = [];
  private counted = 0;
  private nowMs = 0;

  constructor(options: ArrivalsSeenOptions) {
    this.options = options;
    this.slotMs = options.slotMs;
    this.rng = seededRng(options.seed);
  }

  /** Counts what ended since the last time; to be called at the end of every slot. */
  observe(world: World, areSpansLost: boolean): void {
    this.nowMs = world.nowMs;
    const { routes, sampledRatio } = this.options;
    const ended = world
      .account()
      .routes.reduce((sum, { requests, route }) => sum + (routes.includes(route) ? requests : 0), 0);
    const [mean, requests] = [(ended - this.counted) * sampledRatio, ended - this.counted];
    const spans = mean + Math.sqrt(mean * (1 - sampledRatio)) * standardNormal(this.rng);
    this.counted = ended;
    this.slots.push({
      endMs: this.nowMs,
      spans: areSpansLost ? 0 : Math.min(requests, Math.max(0, Math.round(spans))),
    });
    if (this.slots.length > 200) this.slots.shift();
  }

  between(fromMs: number, toMs: number): Arrivals {
    const { sampledRatio, spanDelayMs } = this.options;
    const spans = this.slots.reduce((sum, { endMs, spans: each }) => {
      const isWithin = endMs - this.slotMs >= fromMs - 1 && endMs <= toMs + 1;
      return isWithin && endMs + spanDelayMs <= this.nowMs ? sum + each : sum;
    }, 0);
    return { spans, requests: sampledRatio > 0 ? spans / sampledRatio : 0 };
  }
}
