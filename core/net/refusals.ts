import type { Registry } from "prom-client";
import type { Logger } from "../process/log.ts";
import { registerReadMetrics } from "../process/read-series.ts";
import type { Prometheus } from "../process/read-series.ts";

/** Longest that a door is quiet about those it turns away. ms */
const LOG_EVERY_MS = 60_000;

/** Counts whom a door turns away and why, and says so once a minute at most. */
export class Refusals<Reason extends string> {
  readonly counts: Record<Reason, number>;
  readonly #says: Readonly<Record<Reason, string>>;
  readonly #log: Logger;
  readonly #monotonicMs: () => number;
  #saidMs = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  /** @param says for each reason which limit it is and how to raise it */
  constructor(says: Readonly<Record<Reason, string>>, log: Logger, monotonicMs: () => number) {
    this.#says = says;
    this.#log = log;
    this.#monotonicMs = monotonicMs;
    this.counts = Object.fromEntries(Object.keys(says).map((reason) => [reason, 0])) as Record<
      Reason,
      number
    >;
  }

  add(reason: Reason, sender: string): void {
    this.counts[reason] += 1;
    this.#unsaid += 1;
    const nowMs = this.#monotonicMs();
    if (nowMs - this.#saidMs < LOG_EVERY_MS) return;
    this.#saidMs = nowMs;
    const refused = this.#unsaid;
    this.#unsaid = 0;
    this.#log.warn({ sender, reason, refused }, this.#says[reason]);
  }
}

/** Names of doors, and what each refused by reason; undefined before it is open. */
export type RefusedByDoor = Readonly<Record<string, () => Readonly<Record<string, number>> | undefined>>;

/** Registers what doors refused for what its senders cost; they count, and are read at each scrape. @param name of the series */
export function registerRefused(
  registry: Registry,
  prometheus: Prometheus,
  name: string,
  doors: RefusedByDoor,
): void {
  registerReadMetrics(registry, prometheus, [
    {
      kind: "counter",
      name,
      help: "Refused for what its sender costs: work beyond its share of a core, or too many calls on a connection.",
      labelNames: ["door", "reason"],
      *read() {
        for (const [door, counts] of Object.entries(doors))
          for (const [reason, count] of Object.entries(counts() ?? {})) yield [{ door, reason }, count];
      },
    },
  ]);
}
