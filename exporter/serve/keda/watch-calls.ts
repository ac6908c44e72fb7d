import { ServerInterceptingCall, status } from "@grpc/grpc-js";
import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";
import type { Connections } from "@tradewind/core/net/connection-limits.ts";
import type { CallGate } from "./call-gate.ts";

/** Hears of every finished call. `code` is the gRPC status, `CANCELLED` when the client left. */
export interface CallObserver {
  finished(rpc: string, code: status, seconds: number): void;
}

export interface CallLimits {
  /** Longest time from the headers of a call to its status, or to its request when it is answered by a stream. */
  readonly deadlineMs: number;
  /**
   * Such calls at once, over all connections. KEDA's operator asks for all its ScaledObjects at the same moment after a
   * restart, so this is far above their number.
   */
  readonly maxCalls: number;
  /** Their headers all together, bytes. */
  readonly maxHeldBytes: number;
}

/** How often calls are looked through for those that take too long; so much longer may they take. */
const SWEEP_MS = 250;
/** KEDA's headers have some 300 bytes; 8 KiB is what other gRPC servers take. */
const MAX_HEADER_BYTES = 8 * 1_024;

type Call = ServerInterceptingCallInterface;
type Listener = Parameters<Call["start"]>[0];

/**
 * Times every call, and ends those that take too long or are too many before they are answered: the handlers answer at once,
 * so it is the client that opened a call and never sent its message.
 */
export function watchCalls(limits: CallLimits, edges: CallEdges): ServerInterceptor {
  const open = new OpenCalls(limits, edges);
  const names = new Map<string, string>();
  return ({ path, responseStream }, call) => {
    let rpc = names.get(path);
    if (rpc === undefined) names.set(path, (rpc = path.slice(path.lastIndexOf("/") + 1)));
    return new WatchedCall(call, rpc, !responseStream, open);
  };
}

export interface CallEdges {
  readonly observer: CallObserver;
  readonly monotonicMs: () => number;
  readonly gate: CallGate;
  /** Absent before the port is bound. */
  readonly connections: () => Connections | undefined;
}

/**
 * The calls that are not answered yet, oldest first, and what ends them when they are too many or take too long. It is the
 * oldest that are ended: they wait for a message that does not come, while the new one may be KEDA's.
 */
class OpenCalls {
  readonly edges: CallEdges;
  readonly #limits: CallLimits;
  readonly #waiting = new Set<WatchedCall>();
  #heldBytes = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(limits: CallLimits, edges: CallEdges) {
    this.#limits = limits;
    this.edges = edges;
  }

  add(call: WatchedCall): void {
    this.#waiting.add(call);
    const { deadlineMs, maxCalls } = this.#limits;
    this.#sweep ??= setInterval(() => this.#endOverdue(), Math.min(SWEEP_MS, deadlineMs)).unref();
    if (this.#waiting.size > maxCalls) this.#endOldest(`more than ${maxCalls} calls are in progress`);
  }

  /** Notes how large the headers are that a call holds. */
  hold(call: WatchedCall, bytes: number): void {
    if (!this.#waiting.has(call)) return;
    call.heldBytes = bytes;
    this.#heldBytes += bytes;
    const { maxHeldBytes } = this.#limits;
    while (this.#heldBytes > maxHeldBytes && this.#waiting.size > 1) {
      this.#endOldest(`calls in progress hold more than ${maxHeldBytes} bytes`);
    }
  }

  remove(call: WatchedCall): void {
    if (this.#waiting.delete(call)) this.#heldBytes -= call.heldBytes;
  }

  #endOldest(why: string): void {
    const [oldest] = this.#waiting;
    oldest?.sendStatus({ code: status.RESOURCE_EXHAUSTED, details: `${why} on this scaler` });
  }

  #endOverdue(): void {
    const { deadlineMs } = this.#limits;
    const startedBeforeMs = this.edges.monotonicMs() - deadlineMs;
    for (const call of this.#waiting) {
      if (call.startedMs > startedBeforeMs) break;
      const details = `no complete request within ${deadlineMs} ms`;
      call.sendStatus({ code: status.DEADLINE_EXCEEDED, details });
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}

/**
 * Stands before a call and sees how it begins and ends; all else goes through. It passes steps on by itself, because
 * those of the library's class go through a chain of closures each, which take longer than the answer.
 */
class WatchedCall extends ServerInterceptingCall implements Listener {
  readonly startedMs: number;
  heldBytes = 0;
  readonly #call: Call;
  readonly #rpc: string;
  readonly #isUnary: boolean;
  readonly #open: OpenCalls;
  #listener: Listener | undefined;
  #isOver = false;
  /** Says that the connection has one call less at work; set once its request has come. */
  #releaseConnection: (() => void) | undefined;

  constructor(call: Call, rpc: string, isUnary: boolean, open: OpenCalls) {
    super(call);
    this.startedMs = open.edges.monotonicMs();
    this.#call = call;
    this.#rpc = rpc;
    this.#isUnary = isUnary;
    this.#open = open;
    open.add(this);
  }

  override start(listener: Listener): void {
    this.#listener = listener;
    this.#call.start(this);
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.#measure(metadata);
    this.#listener?.onReceiveMetadata(metadata);
  }

  onReceiveMessage(message: unknown): void {
    this.#listener?.onReceiveMessage(message);
  }

  onReceiveHalfClose(): void {
    // From here on a stream counts as one, see streams.ts.
    if (!this.#isUnary) this.#open.remove(this);
    this.#begin();
    this.#listener?.onReceiveHalfClose();
  }

  onCancel(): void {
    this.#finish(status.CANCELLED);
    this.#listener?.onCancel();
  }

  /** A connection is at work once a request has come, and not by a call that is only begun: that one may never come. */
  #begin(): void {
    if (this.#isOver) return;
    const { connections, gate } = this.#open.edges;
    const remote = this.#call.getConnectionInfo();
    this.#releaseConnection = connections()?.begin(remote) ?? (() => undefined);
    if (!this.#isUnary) gate.changeStreams(remote, 1);
  }

  #measure(metadata: Metadata): void {
    const bytes = sizeOf(metadata);
    if (bytes <= MAX_HEADER_BYTES) return this.#open.hold(this, bytes);
    const details = `the headers have ${bytes} bytes, more than ${MAX_HEADER_BYTES}`;
    this.sendStatus({ code: status.RESOURCE_EXHAUSTED, details });
  }

  override sendStatus(outgoing: Parameters<Call["sendStatus"]>[0]): void {
    this.#finish(outgoing.code ?? status.UNKNOWN);
    this.#call.sendStatus(outgoing);
  }

  #finish(code: status): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#open.remove(this);
    const { gate, monotonicMs, observer } = this.#open.edges;
    if (this.#releaseConnection !== undefined) {
      this.#releaseConnection();
      if (!this.#isUnary) gate.changeStreams(this.#call.getConnectionInfo(), -1);
    }
    observer.finished(this.#rpc, code, (monotonicMs() - this.startedMs) / 1e3);
  }

  override sendMetadata(metadata: Parameters<Call["sendMetadata"]>[0]): void {
    this.#call.sendMetadata(metadata);
  }

  override sendMessage(message: unknown, done: () => void): void {
    this.#call.sendMessage(message, done);
  }
}

/** Length of the headers, bytes. */
function sizeOf(metadata: Metadata): number {
  const values = metadata.getMap();
  let bytes = 0;
  for (const name of Object.keys(values)) bytes += name.length + (values[name]?.length ?? 0);
  return bytes;
}
