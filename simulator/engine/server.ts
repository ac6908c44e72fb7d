import { CallQueue } from "./call-queue.ts";
import type { Machine } from "./machine.ts";
import type { Processor } from "./processor.ts";
import type { CompiledService } from "./program.ts";
import type { ServiceModel } from "../model/application-model.ts";

/** Connections of one container to one callee or to one dependency. */
export class ConnectionPool {
  readonly size: number;
  readonly waiting = new CallQueue();
  busy = 0;

  constructor(size: number) {
    this.size = size;
  }
}

/** A node as requests see it. */
export interface Host {
  readonly machine: Machine;
  /** CPU demands are multiplied by this while other tenants disturb. */
  demandFactor: number;
}

/** The process in a pod: what requests need of it. */
export class Server {
  readonly index: number;
  readonly service: ServiceState;
  readonly host: Host;
  readonly main: Processor;
  readonly proxy: Processor | undefined;
  /** False while its container does not run: calls to it are refused. */
  alive = true;
  /** Requests that wait or are served. */
  inFlight = 0;
  /** Requests taken since the container started. */
  taken = 0;
  /** Memory above which the container is killed; Infinity without a limit. */
  memoryLimitBytes = Infinity;
  /** CPU demand of its version, as a multiple of the first version's. */
  versionFactor = 1;
  /** When the container became ready: its warm-up counts from here. */
  warmFromMs = -Infinity;
  readonly threadLimit: number;
  /** See `ServiceModel`. */
  readonly endsWithCaller: boolean;
  readonly begunFirst: boolean;
  /** Most requests at once; Infinity without a limit. */
  readonly queueLimit: number;
  busyThreads = 0;
  readonly waiting = new CallQueue();
  readonly pools: readonly ConnectionPool[];
  private readonly baseBytes: number;
  private readonly perRequestBytes: number;
  private readonly leakBytes: number;

  constructor(
    index: number,
    service: ServiceState,
    host: Host,
    main: Processor,
    proxy: Processor | undefined,
  ) {
    const { model, pools } = service.compiled;
    this.index = index;
    this.service = service;
    this.host = host;
    this.main = main;
    this.proxy = proxy;
    this.threadLimit =
      model.consumer?.concurrency ?? (model.blocking === true ? (model.threads ?? Infinity) : Infinity);
    this.endsWithCaller = model.endsWithCaller ?? false;
    this.begunFirst = model.begunFirst ?? false;
    this.queueLimit = model.queueLimit ?? Infinity;
    this.baseBytes = model.memory?.baseBytes ?? 0;
    this.perRequestBytes = model.memory?.perRequestBytes ?? 0;
    this.leakBytes = model.memory?.leakBytesPerRequest ?? 0;
    this.pools = pools.map((size) => new ConnectionPool(size));
  }

  /** Memory of the main container's process, bytes. */
  get memoryBytes(): number {
    if (!this.alive) return 0;
    return this.baseBytes + this.perRequestBytes * this.inFlight + this.leakBytes * this.taken;
  }

  /** What one millisecond of demand costs it now. */
  demandFactor(nowMs: number): number {
    const factor = this.versionFactor * this.host.demandFactor;
    const { warmUp } = this.service.compiled.model;
    if (warmUp === undefined) return factor;
    const leftShare = 1 - (nowMs - this.warmFromMs) / (1e3 * warmUp.seconds);
    if (leftShare <= 0) return factor;
    return factor * (1 + (warmUp.factor - 1) * (warmUp.shape === "step" ? 1 : leftShare));
  }

  /** Forgets all requests: the container was killed, or its pod is gone. */
  empty(nowMs: number): void {
    this.main.stop(nowMs);
    this.proxy?.stop(nowMs);
    this.waiting.clear();
    this.inFlight = 0;
    this.busyThreads = 0;
    for (const pool of this.pools) {
      pool.waiting.clear();
      pool.busy = 0;
    }
  }
}

/** A service as callers see it. */
export class ServiceState {
  readonly compiled: CompiledService;
  /** Pods that take requests. */
  readonly endpoints: Server[] = [];
  /** Messages that no consumer has taken yet. */
  readonly queue = new CallQueue();
  readonly isConsumer: boolean;
  private readonly balancing: NonNullable<ServiceModel["balancing"]>;
  /** Pods that each caller has free connections to, the one used last at the end. */
  private readonly kept = new Map<number, Server[]>();
  private turn = 0;

  constructor(compiled: CompiledService) {
    this.compiled = compiled;
    this.isConsumer = compiled.model.consumer !== undefined;
    this.balancing = compiled.model.balancing ?? "random";
  }

  add(server: Server): void {
    if (!this.endpoints.includes(server)) this.endpoints.push(server);
  }

  remove(server: Server): void {
    const at = this.endpoints.indexOf(server);
    if (at !== -1) this.endpoints.splice(at, 1);
  }

  /** The endpoint for a request, by the service's way of balancing; undefined when there is none. */
  choose(share: number, caller: number): Server | undefined {
    const { balancing, endpoints } = this;
    if (balancing === "least-connections") return this.leastBusy(share);
    const random = endpoints[Math.floor(share * endpoints.length)];
    if (balancing === "random") return random;
    if (balancing === "kept-connections") return this.connected(caller) ?? random;
    this.turn = (this.turn + 1) % Math.max(1, endpoints.length);
    return endpoints[this.turn];
  }

  /** The caller has its answer: the connection is free. */
  keep(caller: number, server: Server): void {
    if (this.balancing !== "kept-connections") return;
    const kept = this.kept.get(caller);
    if (kept === undefined) this.kept.set(caller, [server]);
    else kept.push(server);
  }

  /** A consumer that can take one more message; undefined when all are busy. */
  idleConsumer(): Server | undefined {
    const { endpoints } = this;
    for (let tried = 0; tried < endpoints.length; tried += 1) {
      this.turn = (this.turn + 1) % endpoints.length;
      const server = endpoints[this.turn];
      if (server !== undefined && server.alive && server.busyThreads < server.threadLimit) return server;
    }
    return undefined;
  }

  private connected(caller: number): Server | undefined {
    const kept = this.kept.get(caller) ?? [];
    for (let server = kept.pop(); server !== undefined; server = kept.pop()) {
      if (server.alive && this.endpoints.includes(server)) return server;
    }
    return undefined;
  }

  private leastBusy(share: number): Server | undefined {
    const { endpoints } = this;
    const first = Math.floor(share * endpoints.length);
    let least = endpoints[first];
    for (let at = 1; at < endpoints.length; at += 1) {
      const server = endpoints[(first + at) % endpoints.length];
      if (server !== undefined && least !== undefined && server.inFlight < least.inFlight) least = server;
    }
    return least;
  }
}
