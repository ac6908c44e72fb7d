import { ResponderBuilder, ServerInterceptingCall, status } from "@grpc/grpc-js";
import type { ServerInterceptor } from "@grpc/grpc-js";

/** Hears of every finished call. `code` is the gRPC status name, `CANCELLED` when the client left. */
export interface CallObserver {
  rpcFinished(rpc: string, code: string, seconds: number): void;
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

/**
 * Times every call, and ends unary ones that take too long: the handlers answer at once, so it is the client that
 * opened a call and never sent its message.
 */
export function watchCalls(
  observer: CallObserver,
  limits: CallLimits,
  monotonicMs: () => number,
): ServerInterceptor {
  let callsInProgress = 0;
  return (method, call) => {
    const rpc = method.path.slice(method.path.lastIndexOf("/") + 1);
    const startedMs = monotonicMs();
    const isUnary = !method.responseStream;
    let isOver = false;
    const finish = (code: status): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(deadline);
      if (isUnary) callsInProgress -= 1;
      observer.rpcFinished(rpc, status[code] ?? "UNKNOWN", (monotonicMs() - startedMs) / 1e3);
    };
    if (isUnary) callsInProgress += 1;
    const deadline = isUnary
      ? setTimeout(() => {
          watched.sendStatus({
            code: status.DEADLINE_EXCEEDED,
            details: `no complete request within ${limits.deadlineMs} ms`,
          });
        }, limits.deadlineMs)
      : undefined;
    const responder = new ResponderBuilder()
      .withStart((next) => {
        next({ onCancel: () => finish(status.CANCELLED) });
        if (!isUnary || rpc === ALWAYS_ANSWERED || callsInProgress <= limits.maxCalls) return;
        const details = `more than ${limits.maxCalls} calls are in progress on this exporter`;
        watched.sendStatus({ code: status.RESOURCE_EXHAUSTED, details });
      })
      .withSendStatus((outgoing, next) => {
        finish(outgoing.code ?? status.UNKNOWN);
        next(outgoing);
      })
      .build();
    const watched = new ServerInterceptingCall(call, responder);
    return watched;
  };
}
