/** Where a call is on its way. */
export const PHASE = {
  free: 0,
  /** Waits in the caller for a connection. */
  connecting: 1,
  /** On the CPU of the caller's proxy. */
  outbound: 2,
  /** On the way to the callee. */
  travelling: 3,
  /** In the queue of a consumer service. */
  queued: 4,
  /** On the CPU of the callee's proxy. */
  inbound: 5,
  /** Waits for a thread of the callee that it will hold. */
  waiting: 6,
  /** On the CPU of the callee, or next for it. */
  running: 7,
  /** Waits for a connection to what lies outside. */
  reaching: 8,
  /** Waits for what lies outside. */
  outside: 9,
  /** Waits for its own calls. */
  calling: 10,
  /** Its answer is on the way back, or it was refused. */
  answering: 11,
  /** Waits before the next attempt. */
  pausing: 12,
} as const;

/** The call has nobody who waits for it: a root, a message, or one that its caller gave up. */
export const NOBODY = -1;

const INITIAL = 1_024;

/**
 * All calls under way, as columns of numbers indexed by the number of the call; freed ones are used again. One call is one
 * attempt: what the caller waits for (from `startMs`) and what the callee does (from `servedMs`).
 */
export class CallPool {
  /** Calls under way. */
  used = 0;
  /** Numbers given out so far: columns beyond it were never used. */
  reached = 0;
  phase = new Uint8Array(INITIAL);
  operation = new Int32Array(INITIAL);
  /** Number of the `CallSpec`. */
  spec = new Int32Array(INITIAL);
  /** The call that waits for this one, or `NOBODY`. */
  parent = new Int32Array(INITIAL);
  /** Pod that made the call; `NOBODY` for a client outside, and once the caller does not wait any more. */
  caller = new Int32Array(INITIAL);
  /** Pod that serves it. */
  server = new Int32Array(INITIAL);
  /** Step of the operation that it is at. */
  step = new Int32Array(INITIAL);
  /** Own calls that have not ended. */
  pending = new Int32Array(INITIAL);
  /** Names the random numbers of this call. */
  key = new Int32Array(INITIAL);
  /** CPU time of the step that it is at, ms. */
  demandMs = new Float64Array(INITIAL);
  attempt = new Uint8Array(INITIAL);
  failed = new Uint8Array(INITIAL);
  /** 1 while it holds a connection of its caller. */
  connected = new Uint8Array(INITIAL);
  /** First attempt, this attempt, and arrival at the callee, ms. */
  firstMs = new Float64Array(INITIAL);
  startMs = new Float64Array(INITIAL);
  servedMs = new Float64Array(INITIAL);
  /** Start of the present step, for spans of what lies outside. */
  stepMs = new Float64Array(INITIAL);
  route = new Int32Array(INITIAL);
  /** Number of the request of its route plus 1 where its trace is kept, else 0. */
  trace = new Int32Array(INITIAL);
  /** Number of its span, and of the caller's; 0 for none. */
  span = new Int32Array(INITIAL);
  parentSpan = new Int32Array(INITIAL);
  /** Link of the queue that it waits in, or to the next free one. */
  next = new Int32Array(INITIAL);
  private isAwake = new Uint8Array(INITIAL);
  private firstFree = NOBODY;
  private ring = new Int32Array(INITIAL);
  private ringAt = 0;
  private ringEnd = 0;

  /** A call with all its columns at 0 except those set here. */
  take(): number {
    let call = this.firstFree;
    if (call === NOBODY) {
      call = this.reached;
      if (call === this.phase.length) this.grow();
      this.reached = call + 1;
    } else {
      this.firstFree = this.next[call] ?? NOBODY;
    }
    this.used += 1;
    this.parent[call] = NOBODY;
    this.caller[call] = NOBODY;
    this.server[call] = NOBODY;
    this.step[call] = 0;
    this.pending[call] = 0;
    this.attempt[call] = 0;
    this.failed[call] = 0;
    this.connected[call] = 0;
    this.trace[call] = 0;
    this.span[call] = 0;
    this.parentSpan[call] = 0;
    return call;
  }

  release(call: number): void {
    this.phase[call] = PHASE.free;
    this.next[call] = this.firstFree;
    this.firstFree = call;
    this.used -= 1;
  }

  /** The call goes on with its next phase as soon as the present event is dealt with. */
  wake(call: number): void {
    if (this.isAwake[call] === 1) return;
    this.isAwake[call] = 1;
    this.ring[this.ringEnd & (this.ring.length - 1)] = call;
    this.ringEnd += 1;
  }

  get someAwake(): boolean {
    return this.ringAt < this.ringEnd;
  }

  /** The call that was woken first; only called when there is one. */
  nextAwake(): number {
    const call = this.ring[this.ringAt & (this.ring.length - 1)] ?? 0;
    this.ringAt += 1;
    if (this.ringAt === this.ringEnd) {
      this.ringAt = 0;
      this.ringEnd = 0;
    }
    this.isAwake[call] = 0;
    return call;
  }

  private grow(): void {
    const size = 2 * this.phase.length;
    this.phase = larger(this.phase, new Uint8Array(size));
    this.operation = larger(this.operation, new Int32Array(size));
    this.spec = larger(this.spec, new Int32Array(size));
    this.parent = larger(this.parent, new Int32Array(size));
    this.caller = larger(this.caller, new Int32Array(size));
    this.server = larger(this.server, new Int32Array(size));
    this.step = larger(this.step, new Int32Array(size));
    this.pending = larger(this.pending, new Int32Array(size));
    this.key = larger(this.key, new Int32Array(size));
    this.demandMs = larger(this.demandMs, new Float64Array(size));
    this.attempt = larger(this.attempt, new Uint8Array(size));
    this.failed = larger(this.failed, new Uint8Array(size));
    this.connected = larger(this.connected, new Uint8Array(size));
    this.firstMs = larger(this.firstMs, new Float64Array(size));
    this.startMs = larger(this.startMs, new Float64Array(size));
    this.servedMs = larger(this.servedMs, new Float64Array(size));
    this.stepMs = larger(this.stepMs, new Float64Array(size));
    this.route = larger(this.route, new Int32Array(size));
    this.trace = larger(this.trace, new Int32Array(size));
    this.span = larger(this.span, new Int32Array(size));
    this.parentSpan = larger(this.parentSpan, new Int32Array(size));
    this.next = larger(this.next, new Int32Array(size));
    this.isAwake = larger(this.isAwake, new Uint8Array(size));
    // A call is in the ring at most once, so the ring never holds more than there are calls.
    const ring = new Int32Array(size);
    const length = this.ringEnd - this.ringAt;
    for (let index = 0; index < length; index += 1) {
      ring[index] = this.ring[(this.ringAt + index) & (this.ring.length - 1)] ?? 0;
    }
    this.ring = ring;
    this.ringAt = 0;
    this.ringEnd = length;
  }
}

function larger<Column extends Uint8Array | Int32Array | Float64Array>(column: Column, into: Column): Column {
  into.set(column);
  return into;
}
