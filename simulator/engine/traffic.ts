import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { NOBODY, PHASE } from "./call-pool.ts";
import { ATTEMPTS, CallerSide, PURPOSE, SLOT, slotOf } from "./caller-side.ts";
import type { CallSpec, Operation, Program, Step } from "./program.ts";
import { NO_INDEX, STEP } from "./program.ts";
import { derive, uniformOf } from "./random.ts";
import type { Recorder } from "./recorder.ts";
import { drawCount } from "./sampler.ts";
import type { Server, ServiceState } from "./server.ts";

const INBOUND = 0x0800_0000;

/** The callees' half of every call: threads, steps, messages, refusals; and what a call does after each event. */
export class Traffic extends CallerSide {
  readonly dependencies: readonly string[];
  /** By number of the dependency: factor on its times. */
  readonly dependencyFactors: Float64Array;
  /** Containers that hold more memory than they may; they are killed before the next event. */
  readonly overLimit: Server[] = [];

  constructor(program: Program, recorder: Recorder) {
    super(program, recorder);
    this.dependencies = program.dependencies;
    this.dependencyFactors = new Float64Array(program.dependencies.length).fill(1);
  }

  /** Lets every call go on that the last event woke. */
  settle(): void {
    while (this.calls.someAwake) this.resume(this.calls.nextAwake());
  }

  /** Takes a pod in or out of what callers and messages reach. */
  join(server: Server): void {
    server.service.add(server);
    this.feed(server);
  }

  leave(server: Server): void {
    server.service.remove(server);
  }

  /** The container is gone at once: its requests fail, messages go back to the queue, what it waited for goes on for nobody. */
  kill(server: Server): void {
    const { calls } = this;
    for (let call = 0; call < calls.reached; call += 1) {
      const phase = calls.phase[call] ?? 0;
      if (phase === PHASE.free) continue;
      if (calls.caller[call] === server.index) this.orphan(call, phase);
      if (calls.server[call] === server.index && phase >= PHASE.inbound && phase < PHASE.answering) {
        this.interrupt(call);
      }
    }
    server.empty(this.nowMs);
    server.alive = false;
    server.taken = 0;
  }

  protected override arrive(call: number): void {
    const { calls } = this;
    const service = this.serviceOf(call);
    if (service.isConsumer) {
      calls.phase[call] = PHASE.queued;
      service.queue.append(call, calls.next);
      const consumer = service.idleConsumer();
      if (consumer !== undefined) this.feed(consumer);
      return;
    }
    const share = uniformOf(derive(this.key(call), PURPOSE.balance + (calls.attempt[call] ?? 0)));
    const { caller, server: chosen } = calls;
    const server = this.servers[chosen[call] ?? NOBODY] ?? service.choose(share, caller[call] ?? NOBODY);
    if (server === undefined || !server.alive || server.inFlight >= server.queueLimit) {
      calls.failed[call] = 1;
      this.sendBack(call);
      return;
    }
    this.take(call, server);
  }

  private take(call: number, server: Server): void {
    const { calls } = this;
    calls.server[call] = server.index;
    calls.servedMs[call] = this.nowMs;
    server.inFlight += 1;
    server.taken += 1;
    if (server.memoryBytes > server.memoryLimitBytes) this.overLimit.push(server);
    const { inbound } = server.service.compiled;
    if (server.proxy === undefined || inbound === NO_INDEX) {
      this.admit(call, server);
      return;
    }
    calls.phase[call] = PHASE.inbound;
    const demandMs = this.program.samplers.draw(inbound, derive(this.key(call), INBOUND));
    calls.demandMs[call] = demandMs * server.host.demandFactor;
    server.proxy.submit(call, this.nowMs);
  }

  /** Through the proxy, if any: a request that holds its thread may have to wait for one. */
  private admit(call: number, server: Server): void {
    if (server.busyThreads >= server.threadLimit) {
      this.calls.phase[call] = PHASE.waiting;
      server.waiting.append(call, this.calls.next);
      return;
    }
    server.busyThreads += 1;
    this.begin(call, server);
  }

  /** A thread has taken the request. */
  private begin(call: number, server: Server): void {
    if (server.endsWithCaller) this.calls.servedMs[call] = this.nowMs;
    this.run(call, server);
  }

  /** Goes on with the operation until it has to wait. */
  private run(call: number, server: Server): void {
    const { span, steps } = this.operationOf(call);
    for (;;) {
      const place = this.calls.step[call] ?? 0;
      const step = steps[place];
      if (place === span.from && place > 0) this.calls.servedMs[call] = this.nowMs;
      const isInVain = server.endsWithCaller && this.isGivenUp(call);
      if (isInVain) this.calls.failed[call] = 1;
      if (step === undefined || isInVain) {
        this.answer(call, server);
        return;
      }
      if (place === span.to) this.recordServed(call);
      if (this.waits(call, server, step)) return;
      this.calls.step[call] = place + 1;
    }
  }

  /** Begins a step. @returns whether the call has to wait for its end */
  private waits(call: number, server: Server, step: Step): boolean {
    switch (step.kind) {
      case STEP.cpu:
        return this.compute(call, server, step);
      case STEP.wait:
        this.reach(call, server, step);
        return true;
      default:
        return this.callOthers(call, step);
    }
  }

  private compute(call: number, server: Server, step: Step): boolean {
    const { calls } = this;
    const hash = derive(this.key(call), calls.step[call] ?? 0);
    const demandMs = this.program.samplers.draw(step.sampler, hash) * server.demandFactor(this.nowMs);
    if (!(demandMs > 0)) return false;
    calls.phase[call] = PHASE.running;
    calls.demandMs[call] = demandMs;
    server.main.submit(call, this.nowMs, server.begunFirst && (calls.step[call] ?? 0) > 0);
    return true;
  }

  private reach(call: number, server: Server, step: Step): void {
    const { calls } = this;
    calls.stepMs[call] = this.nowMs;
    const pool = server.pools[step.pool];
    if (pool !== undefined) {
      if (pool.busy >= pool.size) {
        calls.phase[call] = PHASE.reaching;
        pool.waiting.append(call, calls.next);
        return;
      }
      pool.busy += 1;
    }
    this.goOutside(call, step);
  }

  private goOutside(call: number, step: Step): void {
    const { calls } = this;
    calls.phase[call] = PHASE.outside;
    const purpose = (calls.step[call] ?? 0) + ATTEMPTS * (calls.attempt[call] ?? 0);
    const drawnMs = this.program.samplers.draw(step.sampler, derive(this.key(call), purpose));
    this.timer(call, drawnMs * (this.dependencyFactors[step.dependency] ?? 1));
  }

  private comeBack(call: number, server: Server, step: Step): void {
    const { calls, facts } = this;
    if (step.traced && (calls.trace[call] ?? 0) !== 0) {
      facts.kind = SPAN_KIND.client;
      facts.span = this.newSpan();
      facts.parent = calls.span[call] ?? 0;
      facts.service = this.operationOf(call).service;
      facts.startMs = calls.stepMs[call] ?? 0;
      this.recordSpan(call, false);
    }
    const pool = server.pools[step.pool];
    if (pool !== undefined) this.freeConnection(pool);
  }

  private callOthers(call: number, step: Step): boolean {
    let made = 0;
    for (const spec of step.calls) made = this.callTimes(call, spec, made);
    if (made === 0 || step.kind === STEP.send) return false;
    this.calls.pending[call] = made;
    this.calls.phase[call] = PHASE.calling;
    return true;
  }

  private callTimes(call: number, spec: CallSpec, madeBefore: number): number {
    const times =
      spec.count === undefined
        ? 1
        : drawCount(spec.count, derive(this.key(call), PURPOSE.count + spec.number));
    for (let index = 0; index < times; index += 1) this.child(call, spec, madeBefore + index);
    return madeBefore + times;
  }

  /** The callee is done with it. */
  private answer(call: number, server: Server): void {
    const { calls } = this;
    server.inFlight -= 1;
    if (server.waiting.length > 0) calls.wake(server.waiting.shift(calls.next));
    else server.busyThreads -= 1;
    const { span } = this.operationOf(call);
    const place = calls.step[call] ?? 0;
    if (place >= span.from && place <= span.to) this.recordServed(call);
    this.sendBack(call);
    this.feed(server);
  }

  private recordServed(call: number): void {
    const { calls, facts } = this;
    if ((calls.trace[call] ?? 0) === 0) return;
    const { name, service } = this.operationOf(call);
    const { isMessage } = this.specOf(call);
    const above = calls.parentSpan[call] ?? 0;
    const span = calls.span[call] ?? 0;
    facts.kind = isMessage ? SPAN_KIND.consumer : SPAN_KIND.server;
    facts.span = span;
    facts.parent = isMessage || above === 0 ? above : span - 1;
    facts.service = service;
    facts.startMs = calls.servedMs[call] ?? 0;
    const route = this.program.routes[calls.route[call] ?? 0];
    this.recordSpan(call, calls.failed[call] === 1, above === 0 ? (route?.name ?? name) : name);
  }

  /** Gives a consumer messages that wait, as many as it takes at once. */
  private feed(server: Server): void {
    const { queue } = server.service;
    while (queue.length > 0 && server.busyThreads < server.threadLimit && server.alive) {
      if (!server.service.endpoints.includes(server)) return;
      this.take(queue.shift(this.calls.next), server);
    }
  }

  /** The pod that made the call is gone. */
  private orphan(call: number, phase: number): void {
    const { calls } = this;
    calls.caller[call] = NOBODY;
    calls.connected[call] = 0;
    if (this.specOf(call).isMessage && phase !== PHASE.outbound) return;
    calls.parent[call] = NOBODY;
    this.events.remove(slotOf(SLOT.timeout, call));
    if (phase === PHASE.connecting || phase === PHASE.outbound || phase === PHASE.pausing) {
      this.events.remove(slotOf(SLOT.timer, call));
      calls.release(call);
    }
  }

  /** The pod that served the call is gone. */
  private interrupt(call: number): void {
    const { calls } = this;
    this.events.remove(slotOf(SLOT.timer, call));
    calls.server[call] = NOBODY;
    const service = this.serviceOf(call);
    if (service.isConsumer) {
      calls.step[call] = 0;
      calls.pending[call] = 0;
      calls.failed[call] = 0;
      calls.phase[call] = PHASE.queued;
      service.queue.append(call, calls.next);
      return;
    }
    calls.failed[call] = 1;
    calls.phase[call] = PHASE.answering;
    calls.wake(call);
  }

  /** The call goes on: its timer is due, its work is done, or what it waited for is there. */
  resume(call: number): void {
    const { calls } = this;
    const server = this.servers[calls.server[call] ?? NOBODY];
    const phase = calls.phase[call] ?? PHASE.free;
    switch (phase) {
      case PHASE.connecting:
        this.connected(call);
        return;
      case PHASE.outbound:
        if (this.isGivenUp(call)) calls.release(call);
        else this.travel(call);
        return;
      case PHASE.travelling:
        this.arrive(call);
        return;
      case PHASE.answering:
        this.end(call);
        return;
      case PHASE.pausing:
        this.attempt(call);
        return;
      default:
        if (server !== undefined) this.resumeServed(call, server);
    }
  }

  private resumeServed(call: number, server: Server): void {
    const { calls } = this;
    const step = this.operationOf(call).steps[calls.step[call] ?? 0];
    const phase = calls.phase[call] ?? PHASE.free;
    switch (phase) {
      case PHASE.inbound:
        this.admit(call, server);
        return;
      case PHASE.waiting:
        this.begin(call, server);
        return;
      case PHASE.reaching:
        if (step !== undefined) this.goOutside(call, step);
        return;
      case PHASE.outside:
        if (step !== undefined) this.comeBack(call, server, step);
        break;
      case PHASE.calling:
        if (calls.failed[call] === 1) {
          this.answer(call, server);
          return;
        }
        break;
      default:
    }
    calls.step[call] = (calls.step[call] ?? 0) + 1;
    this.run(call, server);
  }

  private operationOf(call: number): Operation {
    const operation = this.program.operations[this.calls.operation[call] ?? 0];
    if (operation === undefined) throw new Error(`call ${call} has no operation`);
    return operation;
  }

  private serviceOf(call: number): ServiceState {
    const service = this.services[this.operationOf(call).service];
    if (service === undefined) throw new Error(`call ${call} has no service`);
    return service;
  }
}
