import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { CallPool, NOBODY, PHASE } from "./call-pool.ts";
import { EventHeap } from "./event-heap.ts";
import { NO_INDEX } from "./program.ts";
import type { CallSpec, Periodic, Program } from "./program.ts";
import { derive, uniformOf } from "./random.ts";
import type { Recorder, SpanFacts } from "./recorder.ts";
import { ServiceState } from "./server.ts";
import type { ConnectionPool, Server } from "./server.ts";

/** The call is waited for by a client outside. */
export const CLIENT = -2;
/** Caller of what pods do by the clock. */
const PLATFORM = -3;

/** Kinds of events by the low bits of a slot; the rest is the number of the processor, call or route. */
export const SLOT = { processor: 0, timer: 1, timeout: 2, arrival: 3 } as const;
export const slotOf = (kind: number, index: number): number => 4 * index + kind;

/** What random numbers of a call are for; steps of an operation come first. */
export const PURPOSE = {
  child: 0x1000,
  count: 0x0100_0000,
  balance: 0x0200_0000,
  backoff: 0x0300_0000,
} as const;
const NETWORK_OUT = 0x0400_0000;
const NETWORK_BACK = 0x0500_0000;
const OUTBOUND = 0x0600_0000;
/** A request to what lies outside may be faster when it is tried again; the work of an attempt stays the same. */
export const ATTEMPTS = 0x0700_0000;

/** The callers' half of every call: connections, proxy, network, time limit, attempts, and who is told of the end. */
export abstract class CallerSide {
  nowMs = 0;
  readonly calls = new CallPool();
  readonly events = new EventHeap();
  readonly services: readonly ServiceState[];
  /** Every pod that ever ran, by its number. */
  readonly servers: Server[] = [];
  protected readonly program: Program;
  protected readonly recorder: Recorder;
  private spans = 0;
  /** The span that is recorded next: kind, numbers, service and start are set before `recordSpan`. */
  protected readonly facts: SpanFacts = {
    route: 0,
    trace: 0,
    span: 0,
    parent: 0,
    service: 0,
    kind: 0,
    startMs: 0,
    endMs: 0,
    failed: false,
    name: undefined,
  };

  constructor(program: Program, recorder: Recorder) {
    this.program = program;
    this.recorder = recorder;
    this.services = program.services.map((service) => new ServiceState(service));
  }

  /** A request of a client outside. @param number of the request among those of its route */
  request(route: number, number: number, key: number): void {
    const compiled = this.program.routes[route];
    if (compiled === undefined) return;
    const call = this.newCall(compiled.spec, key);
    this.ofRoute(call, route, number);
    this.attempt(call);
  }

  /** What the pod does now by the clock. @param number of times that it has done so before */
  periodic(server: Server, { route, spec }: Periodic, number: number, key: number): void {
    const call = this.newCall(spec, key);
    this.calls.caller[call] = PLATFORM;
    this.calls.server[call] = server.index;
    if (route !== NO_INDEX) this.ofRoute(call, route, derive(server.index, number) & 0x7fff_ffff);
    this.attempt(call);
  }

  private ofRoute(call: number, route: number, number: number): void {
    const { calls } = this;
    calls.parent[call] = CLIENT;
    calls.route[call] = route;
    const isKept = this.recorder.keeps(derive(this.key(call), PURPOSE.balance - 1));
    if (isKept) calls.trace[call] = (number % 0x7fff_ffff) + 1;
  }

  /** The call reached the callee's side. */
  protected abstract arrive(call: number): void;

  /** @param index of the call among those of the step */
  protected child(parent: number, spec: CallSpec, index: number): void {
    const { calls } = this;
    const key = derive(calls.key[parent] ?? 0, PURPOSE.child + ((calls.step[parent] ?? 0) << 10) + index);
    const call = this.newCall(spec, key);
    this.calls.parent[call] = spec.isMessage ? NOBODY : parent;
    this.calls.caller[call] = this.calls.server[parent] ?? NOBODY;
    this.inherit(call, parent);
    this.calls.parentSpan[call] = this.calls.span[parent] ?? 0;
    if (spec.isMessage) this.recordMessage(call, parent);
    this.attempt(call);
  }

  protected newCall(spec: CallSpec, key: number): number {
    const call = this.calls.take();
    this.calls.operation[call] = spec.operation;
    this.calls.spec[call] = spec.number;
    this.calls.key[call] = key;
    this.calls.firstMs[call] = this.nowMs;
    return call;
  }

  protected attempt(call: number): void {
    const { calls } = this;
    const spec = this.specOf(call);
    calls.startMs[call] = this.nowMs;
    if ((calls.trace[call] ?? 0) !== 0) {
      // Two numbers: of the caller's span and of the callee's.
      calls.span[call] = this.spans + 2;
      this.spans += 2;
    }
    if (spec.timeoutMs !== Infinity) this.events.set(slotOf(SLOT.timeout, call), this.nowMs + spec.timeoutMs);
    const pool = this.poolOf(call, spec);
    if (pool !== undefined) {
      if (pool.busy >= pool.size) {
        calls.phase[call] = PHASE.connecting;
        pool.waiting.append(call, calls.next);
        return;
      }
      pool.busy += 1;
    }
    this.connected(call);
  }

  /** It has its connection, or needs none. */
  protected connected(call: number): void {
    const { calls } = this;
    const spec = this.specOf(call);
    calls.connected[call] = spec.pool === NO_INDEX ? 0 : 1;
    const caller = this.servers[calls.caller[call] ?? NOBODY];
    const outbound = caller?.service.compiled.outbound ?? NO_INDEX;
    if (caller?.proxy === undefined || outbound === NO_INDEX) {
      this.travel(call);
      return;
    }
    calls.phase[call] = PHASE.outbound;
    calls.demandMs[call] =
      this.program.samplers.draw(outbound, derive(calls.key[call] ?? 0, OUTBOUND)) * caller.host.demandFactor;
    caller.proxy.submit(call, this.nowMs);
  }

  protected travel(call: number): void {
    this.calls.phase[call] = PHASE.travelling;
    const { network } = this.program;
    if (network === NO_INDEX) this.arrive(call);
    else this.timer(call, this.program.samplers.draw(network, derive(this.key(call), NETWORK_OUT)));
  }

  /** The callee has answered, or nobody took the request. */
  protected sendBack(call: number): void {
    this.calls.phase[call] = PHASE.answering;
    const { network } = this.program;
    if (network === NO_INDEX || this.calls.parent[call] === NOBODY) this.calls.wake(call);
    else this.timer(call, this.program.samplers.draw(network, derive(this.key(call), NETWORK_BACK)));
  }

  /** The answer is back at the caller. */
  protected end(call: number): void {
    const { calls } = this;
    const parent = calls.parent[call] ?? NOBODY;
    if (parent === NOBODY) {
      calls.release(call);
      return;
    }
    const spec = this.specOf(call);
    if (spec.timeoutMs !== Infinity) this.events.remove(slotOf(SLOT.timeout, call));
    this.disconnect(call, spec);
    const caller = calls.caller[call] ?? NOBODY;
    const server = this.servers[calls.server[call] ?? NOBODY];
    if (caller !== PLATFORM) server?.service.keep(caller, server);
    const failed = calls.failed[call] === 1;
    this.recordCall(call, parent, failed);
    if (failed && (calls.attempt[call] ?? 0) < spec.retries) {
      this.pause(call, spec);
    } else {
      this.tell(call, parent, spec, failed);
      calls.release(call);
    }
  }

  /** The caller waits no longer. What the callee has begun it finishes for nobody. */
  giveUp(call: number): void {
    const { calls } = this;
    const parent = calls.parent[call] ?? NOBODY;
    const spec = this.specOf(call);
    const attempt = calls.attempt[call] ?? 0;
    this.recordCall(call, parent, true);
    this.disconnect(call, spec);
    if (attempt < spec.retries) {
      const next = this.newCall(spec, this.key(call));
      calls.parent[next] = parent;
      calls.caller[next] = calls.caller[call] ?? NOBODY;
      calls.attempt[next] = attempt;
      calls.firstMs[next] = calls.firstMs[call] ?? 0;
      calls.parentSpan[next] = calls.parentSpan[call] ?? 0;
      this.inherit(next, call);
      this.pause(next, spec);
    } else {
      this.tell(call, parent, spec, true);
    }
    calls.parent[call] = NOBODY;
  }

  /** Whether nobody waits for it and it was not sent as a message. */
  protected isGivenUp(call: number): boolean {
    return this.calls.parent[call] === NOBODY && !this.specOf(call).isMessage;
  }

  protected freeConnection(pool: ConnectionPool): void {
    const { calls } = this;
    while (pool.waiting.length > 0) {
      const next = pool.waiting.shift(calls.next);
      if (calls.phase[next] === PHASE.connecting && this.isGivenUp(next)) {
        calls.release(next);
        continue;
      }
      calls.wake(next);
      return;
    }
    pool.busy -= 1;
  }

  protected timer(call: number, delayMs: number): void {
    this.events.set(slotOf(SLOT.timer, call), this.nowMs + delayMs);
  }

  protected key(call: number): number {
    return this.calls.key[call] ?? 0;
  }

  protected specOf(call: number): CallSpec {
    const spec = this.program.specs[this.calls.spec[call] ?? 0];
    if (spec === undefined) throw new Error(`call ${call} has no specification`);
    return spec;
  }

  /** Hands over the span that `facts` says the most of: it ends now and is of the call's trace. */
  protected recordSpan(call: number, failed: boolean, name?: string): void {
    const { calls, facts } = this;
    facts.route = calls.route[call] ?? 0;
    facts.trace = calls.trace[call] ?? 0;
    facts.endMs = this.nowMs;
    facts.failed = failed;
    facts.name = name;
    this.recorder.span(facts);
  }

  protected newSpan(): number {
    this.spans += 2;
    return this.spans;
  }

  private inherit(call: number, from: number): void {
    this.calls.route[call] = this.calls.route[from] ?? 0;
    this.calls.trace[call] = this.calls.trace[from] ?? 0;
  }

  private pause(call: number, spec: CallSpec): void {
    const { calls } = this;
    const attempt = (calls.attempt[call] ?? 0) + 1;
    calls.attempt[call] = attempt;
    calls.failed[call] = 0;
    calls.step[call] = 0;
    calls.server[call] = NOBODY;
    calls.phase[call] = PHASE.pausing;
    if (calls.parent[call] === CLIENT) this.newTrace(call, attempt);
    if (spec.backoffMs === 0) {
      calls.wake(call);
      return;
    }
    const spread = 0.5 + uniformOf(derive(this.key(call), PURPOSE.backoff + attempt));
    this.timer(call, spec.backoffMs * 2 ** (attempt - 1) * spread);
  }

  /** A client outside sends no spans: each of its attempts begins a trace. */
  private newTrace(call: number, attempt: number): void {
    const trace = this.calls.trace[call] ?? 0;
    if (trace !== 0) this.calls.trace[call] = (derive(trace, attempt) & 0x7fff_fffe) + 1;
  }

  private tell(call: number, parent: number, spec: CallSpec, failed: boolean): void {
    const { calls } = this;
    if (parent === CLIENT) {
      const latencyMs = this.nowMs - (calls.firstMs[call] ?? 0);
      this.recorder.requestEnded(calls.route[call] ?? 0, latencyMs, failed, this.nowMs);
      return;
    }
    if (failed && !spec.optional) calls.failed[parent] = 1;
    const pending = (calls.pending[parent] ?? 0) - 1;
    calls.pending[parent] = pending;
    if (pending === 0) calls.wake(parent);
  }

  private poolOf(call: number, spec: CallSpec): ConnectionPool | undefined {
    if (spec.pool === NO_INDEX) return undefined;
    return this.servers[this.calls.caller[call] ?? NOBODY]?.pools[spec.pool];
  }

  private disconnect(call: number, spec: CallSpec): void {
    if (this.calls.connected[call] !== 1) return;
    this.calls.connected[call] = 0;
    const pool = this.poolOf(call, spec);
    if (pool !== undefined) this.freeConnection(pool);
  }

  private recordCall(call: number, parent: number, failed: boolean): void {
    const { calls, facts } = this;
    if (parent < 0 || (calls.trace[call] ?? 0) === 0) return;
    facts.kind = SPAN_KIND.client;
    facts.span = (calls.span[call] ?? 0) - 1;
    facts.parent = calls.parentSpan[call] ?? 0;
    facts.service = this.program.operations[calls.operation[parent] ?? 0]?.service ?? 0;
    facts.startMs = calls.startMs[call] ?? 0;
    this.recordSpan(call, failed);
  }

  /** The span of sending a message, which takes no time; the consumer's span is below it. */
  private recordMessage(call: number, sender: number): void {
    const { calls, facts } = this;
    if ((calls.trace[call] ?? 0) === 0) return;
    facts.kind = SPAN_KIND.producer;
    facts.span = this.newSpan();
    facts.parent = calls.span[sender] ?? 0;
    facts.service = this.program.operations[calls.operation[sender] ?? 0]?.service ?? 0;
    facts.startMs = this.nowMs;
    calls.parentSpan[call] = facts.span;
    this.recordSpan(call, false);
  }
}
