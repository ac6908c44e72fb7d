import { Counter } from "prom-client";
import type { Registry } from "prom-client";

/** What a receiver tells of its work. */
export interface ReceiverMetrics {
  /** One request answered. `code` is the HTTP status, over gRPC the number of its status. */
  request(transport: "http" | "grpc", code: string): void;
  /** Spans of one request after they were offered to `onSpans`. */
  spans(accepted: number, rejected: number): void;
  /** Bytes of one accepted body after decompression. */
  bytes(transport: "http" | "grpc", count: number): void;
}

/** Counts into Prometheus metrics of `registry`. */
export function receiverMetrics(registry: Registry): ReceiverMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: "tradewind_otlp_requests_total",
    help: "OTLP requests answered, by transport and status code.",
    labelNames: ["transport", "code"],
    registers,
  });
  const bytes = new Counter({
    name: "tradewind_otlp_received_bytes_total",
    help: "Bytes of accepted OTLP requests after decompression.",
    labelNames: ["transport"],
    registers,
  });
  const spans = new Counter({
    name: "tradewind_otlp_spans_total",
    help: "Spans received over OTLP, by whether they were taken.",
    labelNames: ["outcome"],
    registers,
  });
  return {
    request: (transport, code) => {
      requests.inc({ transport, code });
    },
    bytes: (transport, count) => {
      bytes.inc({ transport }, count);
    },
    spans: (accepted, rejected) => {
      spans.inc({ outcome: "accepted" }, accepted);
      spans.inc({ outcome: "rejected" }, rejected);
    },
  };
}
