import { Engine } from "../../simulator/engine/engine.ts";
import { Machine } from "../../simulator/engine/machine.ts";
import { compile } from "../../simulator/engine/program.ts";
import type { SpanFacts } from "../../simulator/engine/recorder.ts";
import type { Server } from "../../simulator/engine/server.ts";
import type { ApplicationModel, ServiceModel, StepModel } from "../../simulator/model/application-model.ts";
import type { Distribution } from "../../simulator/model/distribution.ts";

/** One request of a client as it ended. */
export interface Ended {
  readonly route: number;
  readonly startMs: number;
  readonly latencyMs: number;
  readonly failed: boolean;
}

export interface RigOptions {
  readonly seed?: number;
  /** CPUs of the node of each pod; every pod has its own node. */
  readonly cores?: number;
  readonly auditEvery?: number;
  readonly traced?: boolean;
}

/** An engine without a cluster: each pod has a node to itself and serves from the start. */
export class Rig {
  readonly engine: Engine;
  readonly ended: Ended[] = [];
  readonly spans: SpanFacts[] = [];
  readonly servers: Server[] = [];
  readonly killed: Server[] = [];

  constructor(model: ApplicationModel, options: RigOptions = {}) {
    const { auditEvery, cores = 1, seed = 1, traced = false } = options;
    this.engine = new Engine({
      program: compile(model, 100),
      seed,
      ...(auditEvery !== undefined && { auditEvery }),
      onOutOfMemory: (server) => this.killed.push(server),
      recorder: {
        keeps: () => traced,
        requestEnded: (route, latencyMs, failed, nowMs) =>
          this.ended.push({ route, startMs: nowMs - latencyMs, latencyMs, failed }),
        span: (span) => this.spans.push({ ...span }),
      },
    });
    model.services.forEach(({ name, replicas }) => {
      for (let pod = 0; pod < replicas; pod += 1) this.addPod(name, cores);
    });
  }

  addPod(service: string, cores: number): Server {
    const { traffic } = this.engine;
    const number = traffic.services.findIndex(({ compiled }) => compiled.model.name === service);
    const server = this.engine.addServer(number, this.servers.length, {
      machine: new Machine(cores),
      demandFactor: 1,
    });
    this.servers.push(server);
    traffic.join(server);
    return server;
  }

  /** Runs the given load and gives the latencies of the requests that began after `warmUpSeconds`, ms, in order of their end. */
  run(requestsPerSecond: number, seconds: number, warmUpSeconds = 0): number[] {
    this.engine.load(new Float64Array(seconds).fill(requestsPerSecond));
    this.engine.runUntil(seconds * 1e3);
    this.engine.audit();
    return this.ended
      .filter(({ startMs }) => startMs >= warmUpSeconds * 1e3)
      .map(({ latencyMs }) => latencyMs);
  }
}

const MEMORY = { memoryRequestBytes: 1e8 };

/** A service with one operation, `serve`. */
export function service(
  name: string,
  steps: readonly StepModel[],
  rest: Partial<ServiceModel> = {},
): ServiceModel {
  return {
    name,
    replicas: 1,
    container: { cpuRequestCores: 1, ...MEMORY },
    ...rest,
    operations: { serve: steps },
  };
}

export const cpu = (time: Distribution): StepModel => ({ kind: "cpu", time });

export const call = (...services: string[]): StepModel => ({
  kind: "call",
  calls: services.map((each) => ({ service: each, operation: "serve" })),
});

/** Users call the first service. */
export function application(...services: ServiceModel[]): ApplicationModel {
  const entry = services[0]?.name ?? "";
  return {
    name: "test",
    entry,
    services,
    routes: [{ name: "GET /", service: entry, operation: "serve", share: 1 }],
  };
}

/** Student's t, 99.5 %, 19 degrees of freedom: half of a 99 % interval from 20 batches. */
const T_19 = 2.861;
const BATCHES = 20;

/** 99 % interval of the mean of a correlated series by batch means. */
export function interval99(values: readonly number[]): { mean: number; low: number; high: number } {
  const size = Math.floor(values.length / BATCHES);
  const means = Array.from({ length: BATCHES }, (_, batch) => {
    const part = values.slice(batch * size, (batch + 1) * size);
    return part.reduce((sum, value) => sum + value, 0) / size;
  });
  const mean = means.reduce((sum, value) => sum + value, 0) / BATCHES;
  const variance = means.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (BATCHES - 1);
  const half = T_19 * Math.sqrt(variance / BATCHES);
  return { mean, low: mean - half, high: mean + half };
}

/** The share `quantile` of values does not exceed it (nearest rank). */
export function quantileOf(values: readonly number[], quantile: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1] ?? NaN;
}
