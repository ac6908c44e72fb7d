import { Application } from "@tradewind/core/contract/application.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { INPUTS_SCHEMA } from "@tradewind/predictor/decide/inputs.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import type { PolicyState } from "@tradewind/predictor/decide/state.ts";
import { summary as latency } from "../measurements.ts";

/** One service of the fluid model: requests flow in, wait, and leave at the pace its pods' CPU allows. */
export interface ModelService {
  readonly name: string;
  /** Services it calls, one after the other, once per request. */
  readonly calls: readonly string[];
  readonly cpuSeconds: number;
  readonly podCores: number;
}

export interface Conditions {
  readonly requestsPerSecond: number;
  /** Factor on the CPU time of a request, from neighbours on the same machine. */
  readonly slowdown?: number;
  /** Requests that take longer are given up by the caller and leave no trace. */
  readonly timeoutSeconds?: number;
  readonly agentsSilent?: boolean;
  readonly tracesLost?: boolean;
}

export interface SimulationOptions {
  readonly services: readonly ModelService[];
  readonly application: Application;
  readonly conditions: (atSeconds: number) => Conditions;
  readonly seconds: number;
  readonly windowSeconds: number;
  readonly podStartSeconds: number;
  readonly seed: number;
  readonly choice?: PolicyChoice;
  /** The platform lowers replicas only to the highest wish of so many past seconds, as the HPA does. */
  readonly stabilisationSeconds?: number;
  /** The platform never runs more pods of a service. */
  readonly platformLimit?: number;
  readonly noise?: number;
}

export interface SimulatedWindow {
  readonly endSeconds: number;
  readonly windowSet: WindowSet;
  readonly outcome: PolicyOutcome;
  /** Tail over objective as it really was, measured or not. */
  readonly severity: number;
  readonly replicas: ReadonlyMap<string, number>;
  /** What the decision was made from. */
  readonly inputs: PolicyInputs;
}

interface ServiceState {
  readonly spec: ModelService;
  cores: number;
  ready: number;
  wanted: number;
  starting: number[];
  lastStartedSeconds: number;
  backlog: number;
  window: { completions: number; usage: number; ownWeighted: number; throttled: number; ticks: number };
}

const TICK_SECONDS = 0.1;
/** A Monday in 2025; only differences matter. */
const EPOCH_MS = 1_750_000_000_000;

export function total(replicas: ReadonlyMap<string, number>): number {
  return [...replicas.values()].reduce((sum, count) => sum + count, 0);
}

/** Runs the policies in a closed loop with the model; deterministic for a seed. */
export function simulate(options: SimulationOptions): readonly SimulatedWindow[] {
  const simulation = new Simulation(options);
  return simulation.run();
}

class Simulation {
  private readonly options: SimulationOptions;
  private readonly rng: Rng;
  private readonly services: readonly ServiceState[];
  private state: PolicyState;
  private tails: { seconds: number; weight: number }[] = [];
  private wishes: { atSeconds: number; replicas: ReadonlyMap<string, number> }[] = [];

  constructor(options: SimulationOptions) {
    this.options = options;
    this.rng = seededRng(options.seed);
    this.state = emptyState(options.application.name, options.application.namespace);
    this.services = options.services.map((spec) => ({
      spec,
      cores: spec.podCores,
      ready: 1,
      wanted: 1,
      starting: [],
      lastStartedSeconds: -1_000,
      backlog: 0,
      window: emptyWindow(),
    }));
  }

  run(): readonly SimulatedWindow[] {
    const { seconds, windowSeconds } = this.options;
    const windows: SimulatedWindow[] = [];
    const ticks = Math.round(seconds / TICK_SECONDS);
    const perWindow = Math.round(windowSeconds / TICK_SECONDS);
    for (let tick = 0; tick < ticks; tick += 1) {
      this.advance(tick * TICK_SECONDS);
      if ((tick + 1) % perWindow === 0) windows.push(this.closeWindow((tick + 1) * TICK_SECONDS));
    }
    return windows;
  }

  private advance(atSeconds: number): void {
    const { requestsPerSecond, slowdown = 1 } = this.options.conditions(atSeconds);
    const arrivals = new Map([[this.options.application.entry, requestsPerSecond * TICK_SECONDS]]);
    let tailSeconds = 0;
    for (const service of this.services) {
      service.ready += service.starting.filter((readyAt) => readyAt <= atSeconds).length;
      service.starting = service.starting.filter((readyAt) => readyAt > atSeconds);
      const cpuSeconds = service.spec.cpuSeconds * slowdown;
      const capacity = (Math.max(service.ready, 0.001) * service.cores) / cpuSeconds;
      const offered = service.backlog + (arrivals.get(service.spec.name) ?? 0);
      const done = Math.min(offered, capacity * TICK_SECONDS);
      service.backlog = offered - done;
      for (const callee of service.spec.calls) arrivals.set(callee, (arrivals.get(callee) ?? 0) + done);
      const utilisation = Math.min(0.95, done / (capacity * TICK_SECONDS));
      const serving = cpuSeconds / (1 - utilisation);
      const waiting = service.backlog / capacity;
      tailSeconds += 2 * serving + waiting;
      const { window } = service;
      window.completions += done;
      window.usage += done * service.spec.cpuSeconds;
      window.ownWeighted += done * (serving + waiting);
      window.throttled += service.backlog > 0.01 ? 1 : Math.max(0, (utilisation - 0.8) / 0.2);
      window.ticks += 1;
    }
    this.tails.push({ seconds: tailSeconds, weight: this.services[0]!.window.completions });
  }

  private closeWindow(endSeconds: number): SimulatedWindow {
    const { application, choice = "auto", windowSeconds } = this.options;
    const tailSeconds = this.tails.map(({ seconds }) => seconds).sort((a, b) => a - b)[
      Math.floor(this.tails.length * 0.95)
    ]!;
    const windowSet = this.measure(endSeconds, tailSeconds);
    const replicas = new Map(this.services.map(({ spec, ready }) => [spec.name, ready]));
    const inputs: PolicyInputs = {
      schema: INPUTS_SCHEMA,
      choice,
      application,
      settings: PolicySettings.parse({}),
      state: this.state,
      windowSet,
      nowMs: EPOCH_MS + endSeconds * 1e3 + 1e3 * Math.min(5, windowSeconds / 3),
    };
    const outcome = decide(inputs);
    this.state = outcome.state;
    this.act(endSeconds, outcome);
    this.tails = [];
    for (const service of this.services) service.window = emptyWindow();
    const severity = (tailSeconds * 1e3) / application.objective.milliseconds;
    return { endSeconds, windowSet, outcome, severity, replicas, inputs };
  }

  private measure(endSeconds: number, tailSeconds: number): WindowSet {
    const { application, conditions, windowSeconds } = this.options;
    const {
      timeoutSeconds = Infinity,
      agentsSilent = false,
      tracesLost = false,
    } = conditions(endSeconds - 0.1);
    const startMs = EPOCH_MS + (endSeconds - windowSeconds) * 1e3;
    const endMs = EPOCH_MS + endSeconds * 1e3;
    const traced = !tracesLost && tailSeconds < timeoutSeconds;
    const windows = this.services.map((service): Window => {
      const { spec, ready, wanted, lastStartedSeconds, window } = service;
      const rate = window.completions / windowSeconds;
      const own = (window.completions > 0 ? window.ownWeighted / window.completions : 0) * this.noise();
      const summary = latency(own, Math.max(1, Math.round(window.completions)));
      return {
        namespace: application.namespace,
        service: spec.name,
        startMs,
        endMs,
        replicasReady: ready,
        replicasWanted: wanted,
        lastStartedAtMs: EPOCH_MS + lastStartedSeconds * 1e3,
        ...(traced && {
          requestsPerSecond: rate,
          errorRatio: 0,
          ownLatency: summary,
          responseLatency: summary,
          inFlight: rate * own,
          ownInFlight: rate * own,
        }),
        callees: traced
          ? spec.calls.map((callee) => ({ callee, callsPerSecond: rate, parallelRatio: 0 }))
          : [],
        containers: Array.from({ length: ready }, (_, pod) => ({
          id: `${spec.name}-${pod}`,
          podName: `${spec.name}-${pod}`,
          cpuLimitCores: service.cores,
          ...(!agentsSilent && {
            cpuUsageCores: (window.usage / windowSeconds / ready) * this.noise(),
            cpuThrottledRatio: Math.min(1, window.throttled / window.ticks),
          }),
        })),
      };
    });
    const count = Math.round(Math.min(...this.services.map(({ window }) => window.completions)));
    const tail = tailSeconds * this.noise();
    const flow = {
      flow: "GET /",
      entryService: application.entry,
      requestsPerSecond: count / windowSeconds,
      errorRatio: 0,
      latency: {
        count,
        meanSeconds: tail / 3,
        p50Seconds: tail / 4,
        p95Seconds: tail,
        p99Seconds: 1.3 * tail,
      },
      services: this.services.map(({ spec }) => spec.name),
      calls: this.services.flatMap(({ spec }) =>
        spec.calls.map((callee) => ({ caller: spec.name, callee, callsPerRequest: 1, parallelRatio: 0 })),
      ),
    };
    return { startMs, endMs, windows, flows: traced && count > 0 ? [flow] : [] };
  }

  /** The platform follows the wishes: pods start late and stop at once, containers change their size at once. */
  private act(atSeconds: number, { plan }: PolicyOutcome): void {
    const { podStartSeconds, platformLimit = Infinity, stabilisationSeconds = 0 } = this.options;
    const now = new Map(plan.wishes.map(({ service, allocation }) => [service, allocation.replicas]));
    this.wishes = [...this.wishes, { atSeconds, replicas: now }].filter(
      (wish) => wish.atSeconds >= atSeconds - stabilisationSeconds,
    );
    for (const service of this.services) {
      const highest = Math.max(...this.wishes.map(({ replicas }) => replicas.get(service.spec.name) ?? 0));
      const wish = now.get(service.spec.name) ?? service.wanted;
      const wanted = Math.min(
        platformLimit,
        wish > service.wanted ? wish : Math.min(service.wanted, highest),
      );
      const running = service.ready + service.starting.length;
      for (let pod = running; pod < wanted; pod += 1) service.starting.push(atSeconds + podStartSeconds);
      if (wanted > running) service.lastStartedSeconds = atSeconds;
      if (wanted < running) {
        const fromStarting = Math.min(service.starting.length, running - wanted);
        service.starting.length -= fromStarting;
        service.ready -= running - wanted - fromStarting;
      }
      service.wanted = wanted;
      const allocation = plan.wishes.find((one) => one.service === service.spec.name)?.allocation;
      service.cores = allocation?.cpuCores ?? service.cores;
    }
  }

  private noise(): number {
    return Math.max(0.5, 1 + (this.options.noise ?? 0.05) * standardNormal(this.rng));
  }
}

function emptyWindow(): ServiceState["window"] {
  return { completions: 0, usage: 0, ownWeighted: 0, throttled: 0, ticks: 0 };
}

/** A small shop: a front, a search over two stores, and profiles. One pod each serves 40 requests a second with ease. */
export const SHOP: readonly ModelService[] = [
  { name: "frontend", calls: ["search", "profile"], cpuSeconds: 0.002, podCores: 0.4 },
  { name: "search", calls: ["geo", "rate"], cpuSeconds: 0.004, podCores: 0.4 },
  { name: "profile", calls: [], cpuSeconds: 0.003, podCores: 0.4 },
  { name: "geo", calls: [], cpuSeconds: 0.002, podCores: 0.4 },
  { name: "rate", calls: [], cpuSeconds: 0.005, podCores: 0.4 },
];

export function shop(overrides: object = {}): Application {
  return Application.parse({
    entry: "frontend",
    objective: { milliseconds: 120, windowSeconds: 15 },
    mode: "act",
    ...overrides,
  });
}
