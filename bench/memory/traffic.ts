import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { randomScenario } from "../pick/application.ts";
import type { Scenario } from "../pick/application.ts";
import { simulatedWindow } from "../pick/windows.ts";
import type { TrueState } from "../pick/truth.ts";
import { WINDOW_MS } from "./stack.ts";

/** Windows from one deploy of a service to the next, and of one wave of load. */
const DEPLOY_WINDOWS = 400;
const WAVE_WINDOWS = 240;

/** Windows of an application whose load goes in waves, whose sizes change and whose services are deployed in turn. */
export class Traffic {
  private readonly scenario: Scenario;
  private readonly rng: Rng;
  private sizes: readonly number[];

  constructor(services: number, rng: Rng) {
    this.rng = rng;
    this.scenario = randomScenario("memory", services, 100, rng);
    this.sizes = this.scenario.calm.map(() => 1);
  }

  window(number: number, startMs: number): WindowSet {
    const { calm } = this.scenario;
    if (number % 20 === 0) this.sizes = calm.map(() => 0.7 + 0.8 * this.rng());
    const wave = 0.8 + 0.6 * Math.sin((2 * Math.PI * number) / WAVE_WINDOWS) + 0.2 * this.rng();
    const disturbed = Math.floor(number / 50) % 3 === 2;
    const states = calm.map((state, i): TrueState => ({
      ...state,
      cpuCores: Math.max(0.1, Math.round(10 * state.cpuCores * (this.sizes[i] ?? 1)) / 10),
      requestsPerSecond: state.requestsPerSecond * wave,
      cpuInterference: disturbed ? 0.6 * this.rng() : state.cpuInterference,
    }));
    const set = simulatedWindow(this.scenario, states, startMs, this.rng);
    for (const [i, window] of set.windows.entries()) {
      const life = Math.floor((number + (i * DEPLOY_WINDOWS) / calm.length) / DEPLOY_WINDOWS);
      for (const container of window.containers) container.id = `${container.id}-${life}`;
    }
    return { ...set, endMs: startMs + WINDOW_MS };
  }
}
