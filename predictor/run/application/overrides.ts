import { MOST_OVERRIDE_MS, MOST_OVERRIDES } from "@tradewind/core/contract/override.ts";
import type { FixedService, Override, OverrideExchange } from "@tradewind/core/contract/override.ts";

/** Scalers say every few seconds what counts: without a word for this long nothing is planned around any more. ms */
const FRESH_MS = 30_000;

/** What scalers say that people ordered: plans are made around it, and each scaler hears what the others were told. */
export class KnownOverrides {
  private known: readonly Override[] = [];
  private services: readonly FixedService[] = [];
  private heardMs = Number.NEGATIVE_INFINITY;

  /** Takes what one scaler says. @returns what all of them have said; one that is over stays over */
  exchange({ overrides, services }: OverrideExchange, monotonicMs: number): readonly Override[] {
    this.heardMs = monotonicMs;
    this.services = services;
    const byId = new Map(this.known.map((each) => [each.id, each]));
    for (const each of overrides) if (byId.get(each.id)?.ended === undefined) byId.set(each.id, each);
    const newestMs = Math.max(...[...byId.values()].map(({ untilMs }) => untilMs));
    this.known = [...byId.values()]
      .filter(({ untilMs }) => newestMs - untilMs <= 2 * MOST_OVERRIDE_MS)
      .toSorted((a, b) => b.startedAtMs - a.startedAtMs)
      .slice(0, 2 * MOST_OVERRIDES);
    return this.known;
  }

  /** What counts now, by service. */
  fixed(monotonicMs: number): readonly FixedService[] {
    return monotonicMs - this.heardMs <= FRESH_MS ? this.services : [];
  }
}
