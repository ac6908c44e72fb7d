import type { FlowAccumulator, ServiceAccumulator } from "./accumulator.ts";
import { NameTable } from "./name-table.ts";
import type { PendingIntervals } from "./pending-intervals.ts";
import { apart } from "./request-model.ts";
import { NONE } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import type { TraceTable } from "./trace-table.ts";

/** What refers to services and flows by name or number. */
export interface NameHolders {
  readonly arena: SpanArena;
  readonly traces: TraceTable;
  readonly intervals: PendingIntervals;
}

export interface NameRoomOptions {
  readonly maxServices: number;
  readonly maxFlows: number;
  /** Services that are known by other means than spans: whoever invents names must not take their places. */
  readonly known: () => Iterable<string>;
  /** Hears of services that were forgotten, by number. */
  readonly onForgotten: (service: number) => void;
}

/** Pods of all services. */
const MOST_PODS = 20_000;

/** When a table is full, it is looked through at most so often. ms */
const LOOK_MS = 1_000;

/**
 * The services and flows that a builder knows. Services that have a workload always find a place. The others, and flows,
 * share a bounded number: where it is used up, names make room that no open trace and no window still to be built refers to,
 * so that invented names are gone when their windows are.
 */
export class NameRoom {
  readonly services: NameTable;
  readonly flows: NameTable;
  /** What spans name their pods by; one beyond the limit is not told apart until others were idle for long. */
  readonly pods = new NameTable(MOST_PODS);
  private readonly options: NameRoomOptions;
  private readonly holders: NameHolders;
  private withWorkload: ReadonlySet<string> = new Set();
  private servicesLookedMs = -Infinity;
  private flowsLookedMs = -Infinity;

  constructor(options: NameRoomOptions, holders: NameHolders) {
    this.options = options;
    this.holders = holders;
    this.services = new NameTable(options.maxServices);
    this.flows = new NameTable(options.maxFlows);
  }

  /** The number of a service, or -1 when there is no place for one more. */
  service(name: string, nowMs: number): number {
    const id = this.services.intern(name, nowMs);
    if (id !== NONE || nowMs - this.servicesLookedMs < LOOK_MS) return id;
    this.servicesLookedMs = nowMs;
    this.reserve();
    const held = this.heldServices();
    const forgotten = this.services.makeRoom(nowMs, (service) => held.has(service));
    for (const service of forgotten) this.options.onForgotten(service);
    return this.services.intern(name, nowMs);
  }

  /** Whether there is a place for a flow that enters at this service. */
  hasFlow(service: number, name: string, nowMs: number): boolean {
    const key = flowKey(service, name);
    if (this.flows.intern(key, nowMs) !== NONE) return true;
    if (nowMs - this.flowsLookedMs < LOOK_MS) return false;
    this.flowsLookedMs = nowMs;
    const held = this.heldFlows();
    this.flows.makeRoom(nowMs, (_, flow) => held.has(flow));
    return this.flows.intern(key, nowMs) !== NONE;
  }

  /** Takes note of the services that have a workload. */
  reserveFor(services: Iterable<string>): void {
    this.withWorkload = new Set(services);
    this.reserve();
  }

  /** Forgets names not used since `beforeMs`, long enough that nothing can refer to them. */
  expire(beforeMs: number): void {
    for (const service of this.services.expire(beforeMs)) this.options.onForgotten(service);
    this.flows.expire(beforeMs);
    this.pods.expire(beforeMs);
  }

  private reserve(): void {
    this.services.reserve(new Set([...this.options.known(), ...this.withWorkload]));
  }

  private heldServices(): ReadonlySet<number> {
    const { arena, intervals, traces } = this.holders;
    const held = new Set<number>();
    for (const { head } of traces.values()) {
      for (let slot = head; slot !== NONE; slot = arena.next(slot)) held.add(arena.service(slot));
    }
    for (const counts of intervals.began.values())
      for (const service of counts.keys()) held.add(service < 0 ? apart(service) : service);
    for (const { services } of intervals.measured.values()) {
      for (const [service, sums] of services) {
        held.add(service);
        for (const callee of sums.callees.keys()) held.add(callee);
        for (const flow of flowsOf(sums)) {
          for (const each of flow.services) held.add(each);
          for (const { callee, caller } of flow.calls) held.add(caller).add(callee);
        }
      }
    }
    return held;
  }

  private heldFlows(): ReadonlySet<string> {
    const held = new Set<string>();
    for (const { services } of this.holders.intervals.measured.values()) {
      for (const [service, sums] of services) {
        for (const name of sums.flows.keys()) held.add(flowKey(service, name));
        if (sums.hasApart) for (const name of sums.apart.flows.keys()) held.add(flowKey(service, name));
      }
    }
    return held;
  }
}

function flowsOf(sums: ServiceAccumulator): FlowAccumulator[] {
  return [...sums.flows.values(), ...(sums.hasApart ? sums.apart.flows.values() : [])];
}

const flowKey = (service: number, name: string): string => `${service} ${name}`;
