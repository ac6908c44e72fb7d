import type { ApplicationMode, Wish } from "@tradewind/core/contract/plan.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { between, oneIn } from "../../test/fuzz/engine/draw.ts";
import { planOf, wishOf } from "../../test/exporter/wish.ts";
import type { PlanTruth } from "./laws.ts";
import type { MachineClock, VirtualTime } from "./virtual-time.ts";

export const SERVICES = ["search", "rate"] as const;
export const MOST_REPLICAS = 20;

/** A predictor as the network shows it: it makes plans that name what is needed, and is restarted or stands still now and then. */
export class SimulatedPredictor {
  isFrozen = false;
  readonly #rng: Rng;
  readonly #time: VirtualTime;
  readonly #clock: MachineClock;
  readonly #isPushing: boolean;
  readonly #mode: ApplicationMode;
  /** Every plan that was ever made, by its start and its time. */
  readonly #truths = new Map<string, PlanTruth>();
  readonly #needs = new Map<string, number>();
  #startedAtMs: number;
  #sequence = 0;
  #plannedAtMs = 0;
  #body: Buffer | undefined;

  /** @param isPushing it asks for far more than is needed, over and over */
  constructor(parts: {
    readonly rng: Rng;
    readonly time: VirtualTime;
    readonly clock: MachineClock;
    readonly isPushing: boolean;
    readonly mode: ApplicationMode;
  }) {
    this.#rng = parts.rng;
    this.#time = parts.time;
    this.#clock = parts.clock;
    this.#isPushing = parts.isPushing;
    this.#mode = parts.mode;
    this.#startedAtMs = Math.round(parts.clock.nowMs());
  }

  get body(): Buffer | undefined {
    return this.#body;
  }

  truthOf(startedAtMs: number | undefined, plannedAtMs: number): PlanTruth | undefined {
    return this.#truths.get(`${startedAtMs} ${plannedAtMs}`);
  }

  restart(): void {
    this.#startedAtMs = Math.round(this.#clock.nowMs());
    this.#sequence = 0;
    this.#body = undefined;
  }

  /** @param running replicas of each service now */
  plan(running: ReadonlyMap<string, number>): void {
    if (this.isFrozen) return;
    this.#sequence += 1;
    // No two plans of a predictor are of one moment.
    const plannedAtMs = Math.max(this.#plannedAtMs + 1, Math.round(this.#clock.nowMs()));
    this.#plannedAtMs = plannedAtMs;
    const needs: Record<string, number> = {};
    const wishes = SERVICES.map((service): Wish => {
      const need = this.#need(service);
      needs[service] = need;
      const now = running.get(service) ?? 1;
      const asked = this.#isPushing
        ? MOST_REPLICAS
        : Math.min(MOST_REPLICAS, need + between(this.#rng, 0, 2));
      return wishOf({
        service,
        allocation: { replicas: asked },
        evidence: this.#isPushing ? {} : { needReplicas: need },
        inputs: { windowHash: "0123456789abcdef", windowEndMs: plannedAtMs },
        observed: { replicasReady: now, replicasWanted: now, complete: true },
        bounds: { minReplicas: 1, maxReplicas: MOST_REPLICAS, ...NO_SIZES },
      });
    });
    const { wishes: _, ...header } = planOf([], { mode: this.#mode });
    const times = { sequence: this.#sequence, predictorStartedAtMs: this.#startedAtMs, plannedAtMs };
    this.#body = Buffer.from(JSON.stringify({ ...header, ...times, wishes }));
    const truth = { madeMs: this.#time.nowMs, needs, running: Object.fromEntries(running) };
    this.#truths.set(`${this.#startedAtMs} ${plannedAtMs}`, truth);
  }

  #need(service: string): number {
    const before = this.#needs.get(service) ?? 3;
    const after = oneIn(this.#rng, 5) ? between(this.#rng, 1, 14) : before + between(this.#rng, -1, 1);
    const need = this.#isPushing ? 1 : Math.min(MOST_REPLICAS, Math.max(1, after));
    this.#needs.set(service, need);
    return need;
  }
}

const NO_SIZES = {
  cpuMinCores: 0.1,
  cpuMaxCores: 4,
  memoryMinBytes: 64e6,
  memoryMaxBytes: 4e9,
};
