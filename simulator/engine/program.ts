import type { ApplicationModel, CallModel, ServiceModel, StepModel } from "../model/application-model.ts";
import type { Count } from "../model/distribution.ts";
import { derive, textKey } from "./random.ts";
import { SamplerTable } from "./sampler.ts";

export const STEP = { cpu: 0, wait: 1, call: 2, send: 3 } as const;
/** There is no such pool, distribution or dependency. */
export const NO_INDEX = -1;

/** One step of an operation; fields that its kind does not use are empty. */
export interface Step {
  readonly kind: number;
  /** Row of the time to draw. */
  readonly sampler: number;
  readonly calls: readonly CallSpec[];
  readonly dependency: number;
  readonly pool: number;
  readonly traced: boolean;
}

/** A call as its caller makes it, or the request of a client outside. */
export interface CallSpec {
  readonly number: number;
  readonly operation: number;
  readonly count: Count | undefined;
  /** Infinity without one. */
  readonly timeoutMs: number;
  readonly retries: number;
  readonly backoffMs: number;
  readonly pool: number;
  readonly optional: boolean;
  readonly isMessage: boolean;
}

export interface Operation {
  readonly service: number;
  /** Name of its SERVER span. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** Steps before which its span begins and ends; Infinity: it ends after all of them. */
  readonly span: { readonly from: number; readonly to: number };
}

/** What each pod of a service does by the clock. */
export interface Periodic {
  readonly spec: CallSpec;
  /** `NO_INDEX`: nobody asked for it. */
  readonly route: number;
  readonly everyMs: number;
}

export interface CompiledRoute {
  readonly name: string;
  readonly share: number;
  readonly objectiveMs: number;
  readonly spec: CallSpec;
  /** Names the random numbers of its requests, whatever other routes there are. */
  readonly key: number;
}

export interface CompiledService {
  readonly model: ServiceModel;
  readonly key: number;
  readonly pools: readonly number[];
  /** Rows of the CPU time of the proxy; `NO_INDEX` without one. */
  readonly inbound: number;
  readonly outbound: number;
  readonly periodic: readonly Periodic[];
}

/** An application with numbers in place of names. */
export interface Program {
  readonly services: readonly CompiledService[];
  readonly operations: readonly Operation[];
  readonly specs: readonly CallSpec[];
  readonly routes: readonly CompiledRoute[];
  readonly dependencies: readonly string[];
  readonly samplers: SamplerTable;
  /** Row of the time on the network, each way. */
  readonly network: number;
}

/** @throws RangeError when the model names a service, operation, route or pool that does not exist, or has a span that is in pieces */
export function compile(model: ApplicationModel, defaultObjectiveMs: number): Program {
  return new Compiler(model).compile(defaultObjectiveMs);
}

class Compiler {
  private readonly samplers = new SamplerTable();
  private readonly specs: CallSpec[] = [];
  private readonly dependencies: string[] = [];
  /** Numbers of operations by service and name. */
  private readonly numbers = new Map<string, number>();
  private readonly model: ApplicationModel;

  constructor(model: ApplicationModel) {
    this.model = model;
    for (const { name, operations } of model.services) {
      for (const operation of Object.keys(operations)) {
        this.numbers.set(operationKey(name, operation), this.numbers.size);
      }
    }
  }

  compile(defaultObjectiveMs: number): Program {
    const { networkMs, routes, services } = this.model;
    const operations = services.flatMap((service, number) =>
      Object.entries(service.operations).map(([name, steps]) => ({
        service: number,
        name,
        steps: steps.map((step) => this.step(service, step)),
        span: spanOf(`${service.name} ${name}`, steps),
      })),
    );
    return {
      services: services.map((service) => this.service(service)),
      operations,
      routes: routes.map((route) => ({
        name: route.name,
        share: route.share,
        objectiveMs: route.objectiveMs ?? defaultObjectiveMs,
        spec: this.spec(undefined, route, false),
        key: textKey(route.name),
      })),
      specs: this.specs,
      dependencies: this.dependencies,
      samplers: this.samplers,
      network: networkMs === undefined ? NO_INDEX : this.samplers.add(networkMs),
    };
  }

  private service(model: ServiceModel): CompiledService {
    const { name, periodic = [], pools, sidecar } = model;
    const outbound = sidecar?.outboundMs;
    return {
      model,
      key: derive(textKey(name), 1),
      pools: Object.values(pools ?? {}),
      inbound: sidecar === undefined ? NO_INDEX : this.samplers.add(sidecar.inboundMs),
      outbound: outbound === undefined ? NO_INDEX : this.samplers.add(outbound),
      periodic: periodic.map(({ everySeconds, operation, route }) => ({
        spec: this.spec(undefined, { service: name, operation }, route === undefined),
        route: route === undefined ? NO_INDEX : this.route(route),
        everyMs: 1e3 * everySeconds,
      })),
    };
  }

  private route(name: string): number {
    const index = this.model.routes.findIndex((route) => route.name === name);
    if (index === -1) throw new RangeError(`there is no route '${name}'`);
    return index;
  }

  private step(caller: ServiceModel, step: StepModel): Step {
    const none = { sampler: NO_INDEX, calls: [], dependency: NO_INDEX, pool: NO_INDEX, traced: false };
    switch (step.kind) {
      case "cpu":
        return { ...none, kind: STEP.cpu, sampler: this.samplers.add(step.time) };
      case "wait":
        return {
          ...none,
          kind: STEP.wait,
          sampler: this.samplers.add(step.time),
          dependency: this.dependency(step.dependency),
          pool: poolOf(caller, step.pool),
          traced: step.traced ?? true,
        };
      case "call":
        return { ...none, kind: STEP.call, calls: step.calls.map((call) => this.spec(caller, call, false)) };
      case "send":
      default:
        return { ...none, kind: STEP.send, calls: [this.spec(caller, step.call, true)] };
    }
  }

  private spec(caller: ServiceModel | undefined, call: CallModel, isMessage: boolean): CallSpec {
    const operation = this.numbers.get(operationKey(call.service, call.operation));
    if (operation === undefined) {
      throw new RangeError(`service '${call.service}' has no operation '${call.operation}'`);
    }
    const spec: CallSpec = {
      number: this.specs.length,
      operation,
      count: call.count,
      timeoutMs: isMessage ? Infinity : (call.timeoutMs ?? Infinity),
      retries: isMessage ? 0 : (call.retries ?? 0),
      backoffMs: call.backoffMs ?? 0,
      pool: caller === undefined ? NO_INDEX : poolOf(caller, call.pool),
      optional: call.optional ?? false,
      isMessage,
    };
    this.specs.push(spec);
    return spec;
  }

  private dependency(name: string): number {
    const known = this.dependencies.indexOf(name);
    return known === -1 ? this.dependencies.push(name) - 1 : known;
  }
}

function poolOf({ name, pools }: ServiceModel, pool: string | undefined): number {
  if (pool === undefined) return NO_INDEX;
  const index = Object.keys(pools ?? {}).indexOf(pool);
  if (index === -1) throw new RangeError(`service '${name}' has no pool '${pool}'`);
  return index;
}

function spanOf(operation: string, steps: readonly StepModel[]): Operation["span"] {
  const places = steps.map((step) => (step.kind === "cpu" ? step.span : undefined));
  const from = places.findLastIndex((place) => place === "before") + 1;
  const first = places.indexOf("after");
  const to = first === -1 ? Infinity : first;
  if (places.some((place, at) => (at < from && place !== "before") || (at >= to && place !== "after"))) {
    throw new RangeError(`steps before and after the span of '${operation}' are not its first and last`);
  }
  return { from, to };
}

const operationKey = (service: string, operation: string): string => `${service}\n${operation}`;
