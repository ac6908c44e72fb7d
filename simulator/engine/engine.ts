import type { ContainerModel } from "../model/application-model.ts";
import { Agenda } from "./agenda.ts";
import { findProblem } from "./audit.ts";
import { ArrivalStream } from "./arrivals.ts";
import { SLOT, slotOf } from "./caller-side.ts";
import { Processor } from "./processor.ts";
import type { ProcessorSize } from "./processor.ts";
import type { Program, Periodic } from "./program.ts";
import { derive, uniformOf } from "./random.ts";
import type { Recorder } from "./recorder.ts";
import { Server } from "./server.ts";
import type { Host } from "./server.ts";
import { Traffic } from "./traffic.ts";

const DEFAULT_PERIOD_MS = 100;

export interface EngineOptions {
  readonly program: Program;
  readonly recorder: Recorder;
  readonly seed: number;
  /** Called when a container holds more memory than its limit; it is killed already. */
  readonly onOutOfMemory: (server: Server) => void;
  /** Checks what must hold after every so many events, which is slow; absent: never. */
  readonly auditEvery?: number;
}

/** Requests, containers and time: takes the earliest event, deals with it, and so on. Times are ms from the start. */
export class Engine {
  readonly traffic: Traffic;
  readonly agenda = new Agenda();
  /** Events dealt with. */
  eventCount = 0;
  private readonly options: EngineOptions;
  private nextAudit: number;
  private readonly streams: ArrivalStream[] = [];
  private readonly keys: number[] = [];
  private readonly processors: (Processor | undefined)[] = [];
  private readonly freeSlots: number[] = [];

  constructor(options: EngineOptions) {
    this.options = options;
    this.nextAudit = options.auditEvery ?? Infinity;
    this.traffic = new Traffic(options.program, options.recorder);
  }

  get nowMs(): number {
    return this.traffic.nowMs;
  }

  /** Starts the arrivals of all routes. @param requestsPerSecond of all routes together, by second of the run */
  load(requestsPerSecond: Float64Array, arrivals: "poisson" | "even" = "poisson"): void {
    this.options.program.routes.forEach(({ key, share }, route) => {
      const stream = new ArrivalStream(
        requestsPerSecond.map((rate) => rate * share),
        derive(key, this.options.seed),
        arrivals === "even",
      );
      this.streams[route] = stream;
      this.keys[route] = derive(derive(key, 1), this.options.seed);
      this.expect(route, stream);
    });
  }

  /** A process that takes no requests until `traffic.join`. @param ordinal of the pod among those of its service */
  addServer(service: number, ordinal: number, host: Host): Server {
    const { traffic } = this;
    const state = traffic.services[service];
    if (state === undefined) throw new RangeError(`there is no service ${service}`);
    const { model } = state.compiled;
    const key = derive(derive(state.compiled.key, this.options.seed), ordinal);
    const held = model.blocking === true && model.consumer === undefined;
    const main = this.processor(model.container, host, held ? Infinity : (model.threads ?? Infinity), key);
    const { sidecar } = model;
    const proxy =
      sidecar === undefined ? undefined : this.processor(sidecar, host, sidecar.threads, derive(key, 1));
    const server = new Server(traffic.servers.length, state, host, main, proxy);
    traffic.servers.push(server);
    state.compiled.periodic.forEach((periodic, index) => {
      const own = derive(key, 2 + index);
      this.repeat(server, periodic, own, 0, this.nowMs + periodic.everyMs * uniformOf(own));
    });
    return server;
  }

  /** The process is gone for good. */
  removeServer(server: Server): void {
    this.traffic.leave(server);
    this.traffic.kill(server);
    this.traffic.settle();
    this.freeProcessor(server.main);
    if (server.proxy !== undefined) this.freeProcessor(server.proxy);
  }

  /** Runs all events up to and including `untilMs`. */
  runUntil(untilMs: number): void {
    const { agenda, traffic } = this;
    const { events } = traffic;
    // What was done from outside since the last event may have let calls go on.
    traffic.settle();
    for (;;) {
      const eventMs = events.nextMs;
      const dueMs = agenda.nextMs;
      if (dueMs <= eventMs) {
        if (dueMs > untilMs) break;
        traffic.nowMs = dueMs;
        agenda.run();
      } else {
        if (eventMs > untilMs) break;
        traffic.nowMs = eventMs;
        this.deal(events.pop());
      }
      this.eventCount += 1;
      if (traffic.calls.someAwake) traffic.settle();
      if (traffic.overLimit.length > 0) this.killOverLimit();
      if (this.eventCount >= this.nextAudit) this.audit();
    }
    traffic.nowMs = untilMs;
  }

  /** @throws Error when something does not hold that must hold at any moment, see audit.ts */
  audit(): void {
    this.nextAudit = this.eventCount + (this.options.auditEvery ?? Infinity);
    const problem = findProblem(this.traffic, this.processors);
    if (problem !== undefined) throw new Error(`at ${this.nowMs} ms ${problem}`);
  }

  private repeat(server: Server, periodic: Periodic, key: number, number: number, atMs: number): void {
    this.agenda.at(atMs, () => {
      if (this.processors[server.main.slot >> 2] !== server.main) return;
      this.traffic.periodic(server, periodic, number, derive(key, number));
      this.repeat(server, periodic, key, number + 1, atMs + periodic.everyMs);
    });
  }

  private deal(slot: number): void {
    const index = slot >> 2;
    switch (slot & 3) {
      case SLOT.processor:
        this.processors[index]?.event(this.traffic.nowMs);
        break;
      case SLOT.timer:
        this.traffic.resume(index);
        break;
      case SLOT.timeout:
        this.traffic.giveUp(index);
        break;
      default:
        this.arrival(index);
    }
  }

  private arrival(route: number): void {
    const stream = this.streams[route];
    if (stream === undefined) return;
    const number = stream.count;
    stream.count += 1;
    this.expect(route, stream);
    this.traffic.request(route, number, derive(this.keys[route] ?? 0, number));
  }

  private expect(route: number, stream: ArrivalStream): void {
    const atMs = stream.nextAfter(this.traffic.nowMs);
    if (atMs !== Infinity) this.traffic.events.set(slotOf(SLOT.arrival, route), atMs);
  }

  private killOverLimit(): void {
    for (const server of this.traffic.overLimit.splice(0)) {
      if (!server.alive) continue;
      this.traffic.kill(server);
      this.options.onOutOfMemory(server);
    }
    this.traffic.settle();
  }

  private processor(container: ContainerModel, { machine }: Host, threads: number, key: number): Processor {
    const index = this.freeSlots.pop() ?? this.processors.length;
    const size = processorSize(container);
    const processor = new Processor(
      {
        ...size,
        slot: slotOf(SLOT.processor, index),
        machine,
        events: this.traffic.events,
        calls: this.traffic.calls,
        threads,
        phaseMs: size.periodMs * uniformOf(key),
      },
      this.nowMs,
    );
    this.processors[index] = processor;
    return processor;
  }

  private freeProcessor({ slot }: Processor): void {
    const index = slot >> 2;
    this.processors[index] = undefined;
    this.freeSlots.push(index);
  }
}

/** A container's CPU as its processor takes it. */
export function processorSize({ cpuLimitCores, cpuRequestCores, periodMs }: ContainerModel): ProcessorSize {
  return {
    requestCores: cpuRequestCores,
    limitCores: cpuLimitCores ?? Infinity,
    periodMs: periodMs ?? DEFAULT_PERIOD_MS,
  };
}
