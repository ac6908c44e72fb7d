import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Context, Span, TextMapGetter, TextMapSetter } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { IncomingHttpHeaders } from "node:http";
import { VERSION } from "@tradewind/core/process/version.ts";
import type { ReplicaConfig } from "./protocol.ts";

/** Server and client spans of one replica, by OpenTelemetry's HTTP conventions. */
export interface Tracing {
  /** Starts the span of an incoming request, as a child of the caller's when `traceparent` names one. */
  startServerSpan(route: string, headers: IncomingHttpHeaders): ActiveSpan;
  /** Starts the span of an outgoing call and adds `traceparent` to its headers. */
  startClientSpan(route: string, parent: ActiveSpan, headers: Record<string, string>): ActiveSpan;
  /** Sends what is left; gives up silently after a moment, because a dead receiver must not hold up a stop. */
  shutdown(): Promise<void>;
}

export interface ActiveSpan {
  readonly context: Context;
  /** @param status HTTP status, or the reason why there is none */
  end(status: number | "aborted" | "unreachable"): void;
}

const SHUTDOWN_MILLIS = 1_000;

const getter: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, key) => headers[key],
};
const setter: TextMapSetter<Record<string, string>> = {
  set: (headers, key, value) => {
    headers[key] = value;
  },
};

function activate(span: Span, parent: Context): ActiveSpan {
  return {
    context: trace.setSpan(parent, span),
    end(status) {
      if (typeof status === "number") span.setAttribute("http.response.status_code", status);
      else span.setAttribute("error.type", status);
      if (typeof status !== "number" || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** @param config the namespace is that of the pods, `local` on the local platform */
export function startTracing(
  config: Pick<ReplicaConfig, "service" | "podName" | "podUid" | "tracesUrl"> & { namespace?: string },
): Tracing {
  const processors =
    config.tracesUrl === undefined
      ? []
      : [
          new BatchSpanProcessor(new OTLPTraceExporter({ url: config.tracesUrl, timeoutMillis: 2_000 }), {
            scheduledDelayMillis: 1_000,
            exportTimeoutMillis: 2_000,
            maxQueueSize: 4_096,
          }),
        ];
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": config.service,
      "service.instance.id": config.podName,
      "service.version": VERSION,
      "k8s.namespace.name": config.namespace ?? "local",
      "k8s.pod.name": config.podName,
      "k8s.pod.uid": config.podUid,
    }),
    spanProcessors: processors,
  });
  const tracer = provider.getTracer("tradewind-local");
  const propagator = new W3CTraceContextPropagator();
  const attributesOf = (route: string): Record<string, string> => {
    const [method = "", path = ""] = route.split(" ");
    return { "http.request.method": method, "http.route": path };
  };
  return {
    startServerSpan(route, headers) {
      const parent = propagator.extract(ROOT_CONTEXT, headers, getter);
      const options = { kind: SpanKind.SERVER, attributes: attributesOf(route) };
      return activate(tracer.startSpan(route, options, parent), parent);
    },
    startClientSpan(route, parent, headers) {
      const options = { kind: SpanKind.CLIENT, attributes: attributesOf(route) };
      const span = activate(tracer.startSpan(route, options, parent.context), parent.context);
      propagator.inject(span.context, headers, setter);
      return span;
    },
    async shutdown() {
      const deadline = new Promise<void>((resolve) => {
        setTimeout(resolve, SHUTDOWN_MILLIS).unref();
      });
      await Promise.race([provider.shutdown().catch(() => undefined), deadline]);
    },
  };
}
