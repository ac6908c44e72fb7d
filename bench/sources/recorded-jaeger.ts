import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { JaegerOptions } from "@tradewind/predictor/sources/jaeger/options.ts";
import { JaegerSource } from "@tradewind/predictor/sources/jaeger/jaeger-source.ts";
import { intervalAt } from "@tradewind/predictor/window/interval.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { SPAN_KIND, SpanBatch } from "@tradewind/predictor/window/span.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";

interface RecordedSpan {
  readonly spanID: string;
  readonly operationName: string;
  readonly startTime: number;
  readonly duration: number;
  readonly processID: string;
  readonly references: readonly { readonly spanID: string }[];
}

interface RecordedTrace {
  readonly traceID: string;
  readonly spans: readonly RecordedSpan[];
  readonly processes: Readonly<Record<string, { readonly serviceName: string }>>;
}

/** The recording lasts two seconds: one window holds it whole. */
const WINDOW_SECONDS = 3_600;

/** @returns what came through, and whether both ways gave the same windows */
export async function jaegerFigures(path: string): Promise<Record<string, unknown>> {
  const text = gunzipSync(readFileSync(path)).toString("utf8");
  const { data: traces } = JSON.parse(text) as { data: RecordedTrace[] };
  const startMs = Math.min(...traces.flatMap(({ spans }) => spans.map(({ startTime }) => startTime))) / 1_000;
  const interval = intervalAt(startMs, WINDOW_SECONDS);
  const pulled = await throughSource(text, interval);
  const pushed = straight(traces, interval);
  const edges = pulled.set.windows.flatMap(({ callees }) => callees);
  return {
    traces: pulled.traces,
    spans: pulled.spans,
    leftOut: pulled.leftOut,
    edges: edges.length,
    callsPerEdge: [
      ...new Set(edges.map(({ callsPerSecond }) => Math.round(callsPerSecond * WINDOW_SECONDS))),
    ],
    sameWindowsAsPushed: isDeepStrictEqual(ordered(pulled.set), ordered(pushed)),
    pullMs: pulled.millis,
  };
}

async function throughSource(
  text: string,
  interval: { startMs: number; endMs: number },
): Promise<{ set: WindowSet; traces: number; spans: number; leftOut: number; millis: number }> {
  const server = createServer((_request, response) => response.end(text));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const source = new JaegerSource(JaegerOptions.parse({ url, services: ["nginx-web-server"] }), () => []);
  try {
    const builder = makeBuilder();
    const beganMs = performance.now();
    const result = await source.pull(interval, (batch) => builder.add(batch, interval.endMs));
    const millis = performance.now() - beganMs;
    return { ...result, set: built(builder, interval), millis };
  } finally {
    await source.close();
    server.close();
  }
}

function straight(traces: readonly RecordedTrace[], interval: { startMs: number; endMs: number }): WindowSet {
  const builder = makeBuilder();
  const batch = new SpanBatch();
  batch.clear(interval.startMs);
  for (const { traceID, spans, processes } of traces) {
    for (const span of spans) {
      batch.add({
        traceId: traceID.padStart(32, "0"),
        spanId: span.spanID.padStart(16, "0"),
        parentId: span.references[0]?.spanID.padStart(16, "0"),
        resource: { service: processes[span.processID]?.serviceName ?? "" },
        name: span.operationName,
        kind: SPAN_KIND.unspecified,
        startMs: span.startTime / 1_000,
        durationMs: span.duration / 1_000,
      });
    }
  }
  builder.add(batch, interval.endMs);
  return built(builder, interval);
}

const makeBuilder = (): WindowBuilder =>
  new WindowBuilder({
    windowSeconds: WINDOW_SECONDS,
    namespace: "default",
    maxPastSeconds: 2 * WINDOW_SECONDS,
  });

function built(builder: WindowBuilder, { startMs, endMs }: { startMs: number; endMs: number }): WindowSet {
  return builder.build(startMs, endMs, NO_RESOURCES, endMs + 60_000);
}

/** Windows in an order that does not depend on the order of arrival. */
function ordered(set: WindowSet): unknown {
  for (const { callees } of set.windows) callees.sort((a, b) => (a.callee < b.callee ? -1 : 1));
  return [...set.windows].sort((a, b) => (a.service < b.service ? -1 : 1));
}
