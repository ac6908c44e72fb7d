import {
  ResponderBuilder,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  ServerListenerBuilder,
  status,
} from "@grpc/grpc-js";
import type {
  ServerInterceptor,
  UntypedHandleCall,
  handleUnaryCall,
  sendUnaryData,
  ServiceDefinition,
} from "@grpc/grpc-js";
import { systemClock } from "@tradewind/core/clock.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import type { ReceiverLimits } from "./limits.ts";
import { formatListen, parseListen } from "./listen-address.ts";
import type { OtlpReceiver, OtlpReceiverOptions } from "./receiver.ts";
import { Refusal } from "./refusal.ts";
import { PROTOBUF, exportResponse, rejectionMessage } from "./responses.ts";
import { SpanIntake } from "./span-intake.ts";

type Bytes = Uint8Array;

const asBuffer = (bytes: Bytes): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** `TraceService` of trace_service.proto. Messages stay bytes: the span intake decodes and the responses encode. */
const TRACE_SERVICE = {
  Export: {
    path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    requestStream: false,
    responseStream: false,
    requestSerialize: asBuffer,
    requestDeserialize: (bytes: Buffer): Bytes => bytes,
    responseSerialize: asBuffer,
    responseDeserialize: (bytes: Buffer): Bytes => bytes,
  },
} satisfies ServiceDefinition<Record<"Export", UntypedHandleCall>>;

const IDLE_MS = 300_000;
const STOP_GRACE_MS = 1_000;

/** Starts OTLP/gRPC: `TraceService/Export`, without TLS. @throws TradewindError `cannot-listen` when the address cannot be had */
export async function startOtlpGrpcReceiver(options: OtlpReceiverOptions): Promise<OtlpReceiver> {
  const limits: ReceiverLimits = { ...DEFAULT_RECEIVER_LIMITS, ...options.limits };
  const server = new Server({
    interceptors: [boundedCalls(limits, options)],
    "grpc.max_receive_message_length": limits.maxMessageBytes,
    "grpc.max_concurrent_streams": concurrentCalls(limits),
    "grpc.max_connection_idle_ms": IDLE_MS,
    "grpc.enable_channelz": 0,
  });
  server.addService(TRACE_SERVICE, { Export: exportHandler(options) });
  const { host } = parseListen(options.listen);
  const port = await bind(server, options.listen);
  return {
    address: formatListen({ host, port }),
    stop: async () => {
      await stop(server);
    },
  };
}

async function bind(server: Server, listen: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(listen, ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else
        reject(
          new TradewindError("cannot-listen", `cannot listen for OTLP/gRPC on ${listen}`, { cause: error }),
        );
    });
  });
}

async function stop(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    const force = setTimeout(() => {
      server.forceShutdown();
    }, STOP_GRACE_MS);
    server.tryShutdown(() => {
      clearTimeout(force);
      resolve();
    });
  });
}

function exportHandler(options: OtlpReceiverOptions): handleUnaryCall<Bytes, Bytes> {
  const intake = new SpanIntake(options.clock ?? systemClock, options.onSpans);
  return ({ request }, answer: sendUnaryData<Bytes>) => {
    try {
      const { accepted, rejected, reasons } = intake.take(request, PROTOBUF);
      options.metrics?.bytes("grpc", request.length);
      options.metrics?.spans(accepted, rejected);
      options.exchange?.forward({ body: request, contentType: PROTOBUF });
      answer(null, exportResponse(PROTOBUF, rejected, rejectionMessage(reasons)));
    } catch (error) {
      if (!(error instanceof Refusal)) options.onError?.(error);
      const refusal = error instanceof Refusal ? error : undefined;
      answer({
        code: refusal?.rpcCode ?? status.INTERNAL,
        details: refusal?.message ?? "the receiver failed; see its log",
      });
    }
  };
}

/** As many calls as may be received at once without going over the bytes that may be held. */
function concurrentCalls(limits: ReceiverLimits): number {
  const fitting = Math.floor(limits.maxBufferedBytes / limits.maxMessageBytes);
  return Math.max(1, Math.min(limits.maxConcurrentRequests, fitting));
}

/** Turns calls away beyond the limit, over all connections, and ends calls whose message takes too long to arrive. */
function boundedCalls(limits: ReceiverLimits, { metrics }: OtlpReceiverOptions): ServerInterceptor {
  const most = concurrentCalls(limits);
  let active = 0;
  return (_method, call) => {
    active += 1;
    const refused = active > most;
    let ended = false;
    const end = (code: number): void => {
      if (ended) return;
      ended = true;
      active -= 1;
      clearTimeout(timer);
      metrics?.request("grpc", String(code));
    };
    const timer = setTimeout(() => {
      call.sendStatus({ code: status.DEADLINE_EXCEEDED, details: "the message took too long to arrive" });
      end(status.DEADLINE_EXCEEDED);
    }, limits.requestTimeoutMs);
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        if (!refused) {
          next(metadata);
          return;
        }
        call.sendStatus({ code: status.UNAVAILABLE, details: "too many requests at once; come back later" });
        end(status.UNAVAILABLE);
      })
      .withOnCancel(() => {
        end(status.CANCELLED);
      })
      .build();
    const responder = new ResponderBuilder()
      .withStart((next) => {
        next(listener);
      })
      .withSendStatus((outcome, next) => {
        end(outcome.code ?? status.UNKNOWN);
        next(outcome);
      })
      .build();
    return new ServerInterceptingCall(call, responder);
  };
}
