import { Metadata, status } from "@grpc/grpc-js";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServiceDefinition,
  ServiceError,
} from "@grpc/grpc-js";
import {
  decodeGetMetricsRequest,
  decodeScaledObjectRef,
  encodeIsActive,
  encodeMetricSpec,
  encodeMetricValue,
} from "./codec.ts";
import type { ScalerRequest } from "./codec.ts";
import { answer } from "./answer.ts";
import type { Answer, AnswerSource } from "./answer.ts";
import type { ActivityStreams } from "./streams.ts";

/** Part of the name of the metric in the HPA; KEDA puts `s<trigger index>-` before it. */
export const METRIC_NAME = "recommended-replicas";
/** The value is the replica count itself, so one replica per unit. */
const TARGET = 1;

const METRIC_SPEC = encodeMetricSpec(METRIC_NAME, TARGET);
const ACTIVE = encodeIsActive(true);
const INACTIVE = encodeIsActive(false);
/** Stands for any request to GetMetricSpec: its bytes are not even looked at, so nothing in them can make it fail. */
const UNREAD: ScalerRequest = { name: "", namespace: "", metricName: "", metadata: new Map() };

const unary = <Request>(name: string, decode: (bytes: Buffer) => Request) =>
  ({
    path: `/externalscaler.ExternalScaler/${name}`,
    requestStream: false,
    responseStream: false,
    requestDeserialize: decode,
    requestSerialize: refuseToSerialize,
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
  }) as const;

/** The five RPCs. Responses are handed over as bytes. */
export const EXTERNAL_SCALER: ServiceDefinition = {
  IsActive: unary("IsActive", decodeScaledObjectRef),
  StreamIsActive: { ...unary("StreamIsActive", decodeScaledObjectRef), responseStream: true },
  GetMetricSpec: unary("GetMetricSpec", () => UNREAD),
  GetMetrics: unary("GetMetrics", decodeGetMetricsRequest),
  StreamMetricSpec: { ...unary("StreamMetricSpec", () => UNREAD), responseStream: true },
};

function refuseToSerialize(): Buffer {
  throw new TypeError("the server sends no requests");
}

/** What the handlers need. */
export interface ScalerSurroundings {
  readonly source: AnswerSource;
  readonly streams: ActivityStreams;
  readonly monotonicMs: () => number;
}

/** The handlers. All of them answer at once and from memory: no disk, no network, no waiting. */
export function scalerHandlers({ source, streams, monotonicMs }: ScalerSurroundings) {
  const getMetricSpec: handleUnaryCall<ScalerRequest, Buffer> = (_call, done) => done(null, METRIC_SPEC);
  const getMetrics: handleUnaryCall<ScalerRequest, Buffer> = ({ request }, done) => {
    const found = answer(request, source, monotonicMs());
    if (found.problem !== undefined) done(errorOf(found));
    else done(null, encodeMetricValue(echoedName(request.metricName), found.replicas));
  };
  const isActive: handleUnaryCall<ScalerRequest, Buffer> = ({ request }, done) => {
    const found = answer(request, source, monotonicMs());
    if (found.problem !== undefined) done(errorOf(found));
    else done(null, found.replicas > 0 ? ACTIVE : INACTIVE);
  };
  const streamIsActive: handleServerStreamingCall<ScalerRequest, Buffer> = (call) => {
    const read = (): boolean | undefined => {
      const found = answer(call.request, source, monotonicMs());
      return found.problem === undefined ? found.replicas > 0 : undefined;
    };
    const first = answer(call.request, source, monotonicMs());
    if (first.problem === "invalid-argument") call.emit("error", errorOf(first));
    else streams.open(call, { read, encode: (active) => (active ? ACTIVE : INACTIVE) });
  };
  const streamMetricSpec: handleServerStreamingCall<ScalerRequest, Buffer> = (call) => {
    if (streams.open(call)) call.write(METRIC_SPEC);
  };
  return {
    IsActive: isActive,
    StreamIsActive: streamIsActive,
    GetMetricSpec: getMetricSpec,
    GetMetrics: getMetrics,
    StreamMetricSpec: streamMetricSpec,
  };
}

/** KEDA asks by the name it made and ignores the one it gets; a client that compares gets its own back. */
const echoedName = (asked: string): string => (asked === "" ? METRIC_NAME : asked.toWellFormed());

function errorOf({ problem, message }: Exclude<Answer, { replicas: number }>): ServiceError {
  const code = problem === "invalid-argument" ? status.INVALID_ARGUMENT : status.UNAVAILABLE;
  return Object.assign(new Error(message), { code, details: message, metadata: new Metadata() });
}
