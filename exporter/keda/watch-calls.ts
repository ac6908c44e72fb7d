import { ServerInterceptingCall, status } from "@grpc/grpc-js";
import type { ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";

/** Hears of every finished call. `code` is the gRPC status, `CANCELLED` when the client left. */
export interface CallObserver {
  finished(rpc: string, code: status, seconds: number): void;
}

export interface CallLimits {
  /** Longest time a unary call may take, from its headers to its status. */
  readonly deadlineMs: number;
  /**
   * Unary calls in progress at once, over all connections. KEDA's operator asks for all its ScaledObjects at the same
   * moment after a restart, so this is far above their number.
   */
  readonly maxCalls: number;
}

/** Never refused: without a spec KEDA builds no HPA and its fallback does not fire. It costs next to nothing. */
const ALWAYS_ANSWERED = "GetMetricSpec";
/** How often calls are looked through for those that take too long; so much longer may they take. */
const SWEEP_MS = 250;

type Call = ServerInterceptingCallInterface;
type Listener = Parameters<Call["start"]>[0];

/**
 * Times every call, and ends unary ones that take too long: the handlers answer at once, so it is the client that
 * opened a call and never sent its message.
 */
export function watchCalls(
  observer: CallObserver,
  limits: CallLimits,
  monotonicMs: () => number,
): ServerInterceptor {
  const open = new OpenCalls(observer, limits, monotonicMs);
  const names = new Map<string, string>();
  return ({ path, responseStream }, call) => {
    let rpc = names.get(path);
    if (rpc === undefined) names.set(path, (rpc = path.slice(path.lastIndexOf("/") + 1)));
    return new WatchedCall(call, rpc, !responseStream, open);
  };
}

/** The unary calls in progress, oldest first, and what ends them when they are too many or take too long. */
class OpenCalls {
  readonly observer: CallObserver;
  readonly limits: CallLimits;
  readonly monotonicMs: () => number;
  readonly #unary = new Set<WatchedCall>();
  #sweep: NodeJS.Timeout | undefined;

  constructor(observer: CallObserver, limits: CallLimits, monotonicMs: () => number) {
    this.observer = observer;
    this.limits = limits;
    this.monotonicMs = monotonicMs;
  }

  add(call: WatchedCall): void {
    this.#unary.add(call);
    this.#sweep ??= setInterval(() => this.#endOverdue(), Math.min(SWEEP_MS, this.limits.deadlineMs)).unref();
  }

  remove(call: WatchedCall): void {
    this.#unary.delete(call);
  }

  get areTooMany(): boolean {
    return this.#unary.size > this.limits.maxCalls;
  }

  #endOverdue(): void {
    const { deadlineMs } = this.limits;
    const startedBeforeMs = this.monotonicMs() - deadlineMs;
    for (const call of this.#unary) {
      if (call.startedMs > startedBeforeMs) break;
      const details = `no complete request within ${deadlineMs} ms`;
      call.sendStatus({ code: status.DEADLINE_EXCEEDED, details });
    }
    if (this.#unary.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}

/**
 * Stands before a call and sees how it begins and ends; all else goes through. It passes steps on by itself, because
 * those of the library's class go through a chain of closures each, which take longer than the answer.
 */
class WatchedCall extends ServerInterceptingCall {
  readonly startedMs: number;
  readonly #call: Call;
  readonly #rpc: string;
  readonly #isUnary: boolean;
  readonly #open: OpenCalls;
  #isOver = false;

  constructor(call: Call, rpc: string, isUnary: boolean, open: OpenCalls) {
    super(call);
    this.startedMs = open.monotonicMs();
    this.#call = call;
    this.#rpc = rpc;
    this.#isUnary = isUnary;
    this.#open = open;
    if (isUnary) open.add(this);
  }

  override start(listener: Listener): void {
    this.#call.start({
      onReceiveMetadata: (metadata) => listener.onReceiveMetadata(metadata),
      onReceiveMessage: (message: unknown) => listener.onReceiveMessage(message),
      onReceiveHalfClose: () => listener.onReceiveHalfClose(),
      onCancel: () => {
        this.#finish(status.CANCELLED);
        listener.onCancel();
      },
    });
    if (!this.#isUnary || this.#rpc === ALWAYS_ANSWERED || !this.#open.areTooMany) return;
    const details = `more than ${this.#open.limits.maxCalls} calls are in progress on this exporter`;
    this.sendStatus({ code: status.RESOURCE_EXHAUSTED, details });
  }

  override sendStatus(outgoing: Parameters<Call["sendStatus"]>[0]): void {
    this.#finish(outgoing.code ?? status.UNKNOWN);
    this.#call.sendStatus(outgoing);
  }

  #finish(code: status): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#isUnary) this.#open.remove(this);
    this.#open.observer.finished(this.#rpc, code, (this.#open.monotonicMs() - this.startedMs) / 1e3);
  }

  override sendMetadata(metadata: Parameters<Call["sendMetadata"]>[0]): void {
    this.#call.sendMetadata(metadata);
  }

  override sendMessage(message: unknown, done: () => void): void {
    this.#call.sendMessage(message, done);
  }
}
