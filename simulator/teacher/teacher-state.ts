import { mean } from "@tradewind/core/values/statistics.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { ServiceFacts } from "../contenders/numbers.ts";

/** Numbers of each deployment: the student's five, its share of the tail, its slowest route, interference. */
export const LOCALS = 8;
/** Numbers of the whole application: load, load ahead, mean CPU and memory use, SLO ratio. */
export const GLOBALS = 5;
export const ACTIONS = 3;

/** What a teacher sees: `locals` by deployment, {@link LOCALS} each, then {@link GLOBALS}; every number in [0, 4]. */
export interface TeacherState {
  readonly services: readonly string[];
  readonly locals: Float32Array;
  readonly globals: Float32Array;
}

const MOST = 4;
/** How far ahead load is looked at, s, and over how many windows a line is drawn. */
const AHEAD_SECONDS = 75;
const TREND_WINDOWS = 4;

const within = (value: number): number => Math.max(0, Math.min(MOST, value));

export interface StateOptions {
  readonly objectiveSeconds: number;
  readonly entry: string;
}

/** Forms the teacher's state of each window. Loads are relative to those of the first; what is missing stays as it was. */
export class TeacherStates {
  private readonly options: StateOptions;
  private readonly loads = new Map<string, number[]>();
  private readonly firstLoads = new Map<string, number>();
  private readonly last = new Map<string, number>();

  constructor(options: StateOptions) {
    this.options = options;
  }

  next(facts: readonly ServiceFacts[], { endMs, flows, startMs, windows }: WindowSet): TeacherState {
    const { entry, objectiveSeconds } = this.options;
    const seconds = (endMs - startMs) / 1e3;
    const routes = flows.filter(({ entryService }) => entryService === entry);
    const tail = Math.max(0, ...routes.map(({ latency }) => latency.p95Seconds));
    const cpu = facts.map(({ service, utilisation }) => this.known(`${service} cpu`, utilisation));
    const memory = facts.map(({ memoryBytes, podBytes, service }) =>
      this.known(`${service} memory`, memoryBytes === undefined ? undefined : memoryBytes / podBytes),
    );
    const locals = new Float32Array(LOCALS * facts.length);
    for (const [i, { replicas, requestsPerSecond, selfTime, service, spec }] of facts.entries()) {
      const own = routes.filter(({ services }) => services.includes(service));
      const slowest = Math.max(0, ...own.map(({ latency }) => latency.p95Seconds));
      const self = this.known(`${service} self`, selfTime?.p95Seconds);
      const calls = callsPerRequest(windows, routes, service);
      const others = windows.find((each) => each.service === service)?.containers[0]?.interference?.cpu.value;
      const [load, ahead] = this.load(service, requestsPerSecond, seconds);
      const numbers = [
        cpu[i] ?? 0,
        memory[i] ?? 0,
        replicas / spec.maxReplicas,
        load,
        ahead,
        slowest > 0 ? Math.min(1, (self * calls) / slowest) : 0,
        slowest / objectiveSeconds,
        others ?? 0,
      ];
      locals.set(
        numbers.map((value) => within(value)),
        LOCALS * i,
      );
    }
    const rate = routes.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
    const [load, ahead] = this.load("", routes.length === 0 ? undefined : rate, seconds);
    const ratio = this.known("tail", routes.length === 0 ? undefined : tail / objectiveSeconds);
    const globals = [load, ahead, mean(cpu, 0), mean(memory, 0), ratio].map((value) => within(value));
    return {
      services: facts.map(({ service }) => service),
      locals,
      globals: Float32Array.from(globals),
    };
  }

  /** Load now and ahead, over that of the first window. */
  private load(name: string, measured: number | undefined, windowSeconds: number): [number, number] {
    const now = this.known(`${name} load`, measured);
    if (now > 0 && !this.firstLoads.has(name)) this.firstLoads.set(name, now);
    const reference = this.firstLoads.get(name);
    if (reference === undefined) return [0, 0];
    const series = [...(this.loads.get(name) ?? []), now].slice(-TREND_WINDOWS);
    this.loads.set(name, series);
    const rise = series.length < 2 ? 0 : (now - (series[0] ?? now)) / ((series.length - 1) * windowSeconds);
    return [now / reference, (now + Math.max(0, rise) * AHEAD_SECONDS) / reference];
  }

  /** The last value that was a number; 0 before the first. */
  private known(name: string, value: number | undefined): number {
    if (value !== undefined && Number.isFinite(value)) this.last.set(name, value);
    return this.last.get(name) ?? 0;
  }
}

function callsPerRequest(windows: WindowSet["windows"], routes: WindowSet["flows"], service: string): number {
  const calls = windows.find((each) => each.service === service)?.requestsPerSecond ?? 0;
  const requests = routes
    .filter(({ services }) => services.includes(service))
    .reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
  return requests > 0 ? calls / requests : 0;
}
