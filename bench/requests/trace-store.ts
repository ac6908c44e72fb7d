import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { z } from "zod";
import { FakeServer, json } from "../../test/core/net/endpoint/fake-server.ts";

/** How a store of traces answers. */
export const StoreLook = z.object({
  /** Both sides of a call have one id. */
  shared: z.boolean().default(false),
  /** Trace state of all spans. */
  state: z.string().optional(),
  /** What Jaeger's API v3 answers with. */
  v3: z.enum(["object", "list", "lines"]).default("object"),
  /** Of each trace the spans of `search` are missing, and the answer says so. */
  partial: z.boolean().default(false),
});
type StoreLook = z.infer<typeof StoreLook>;

/** Traces that end a second. */
const PER_SECOND = 10;

interface StoredSpan {
  readonly service: string;
  readonly name: string;
  readonly kind: "client" | "server";
  readonly traceId: string;
  readonly id: string;
  readonly parent?: string;
  readonly endMs: number;
  readonly ms: number;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
const nanos = (ms: number): string => `${Math.round(1e3 * ms)}000`;

/** A Jaeger or a Tempo in which `frontend` asks `search`, ten times a second. */
export async function startTraceStore(look: StoreLook, fromMs: number, toMs: number): Promise<FakeServer> {
  const count = ((toMs - fromMs) / 1e3) * PER_SECOND;
  const trace = (number: number): readonly StoredSpan[] => {
    const endMs = fromMs + (1e3 * number) / PER_SECOND;
    const traceId = hex(7_919 * (number + 1), 32);
    const [root, call, served] = [1, 2, 3].map((index) => hex(31 * (number + 1) + index, 16)) as [
      string,
      string,
      string,
    ];
    return [
      { service: "frontend", name: "GET /", kind: "server", traceId, id: root, endMs, ms: 50 },
      {
        service: "frontend",
        name: "GET search",
        kind: "client",
        traceId,
        id: call,
        parent: root,
        endMs: endMs - 5,
        ms: 30,
      },
      {
        service: "search",
        name: "GET /search",
        kind: "server",
        traceId,
        id: look.shared ? call : served,
        parent: look.shared ? root : call,
        endMs: endMs - 7,
        ms: 25,
      },
    ];
  };
  /** Traces that ended within a time. */
  const within = (beginMs: number, endMs: number): number[] =>
    Array.from({ length: count }, (_, number) => number).filter((number) => {
      const at = fromMs + (1e3 * number) / PER_SECOND;
      return at > beginMs && at <= endMs;
    });
  const otlp = (numbers: readonly number[], toId: (id: string) => string) => ({
    resourceSpans: numbers
      .flatMap((number) => trace(number))
      .filter(({ service }) => !look.partial || service !== "search")
      .map((span) => ({
        resource: { attributes: [{ key: "service.name", value: { stringValue: span.service } }] },
        scopeSpans: [
          {
            spans: [
              {
                traceId: toId(span.traceId),
                spanId: toId(span.id),
                ...(span.parent !== undefined && { parentSpanId: toId(span.parent) }),
                ...(look.state !== undefined && { traceState: look.state }),
                name: span.name,
                kind: SPAN_KIND[span.kind],
                startTimeUnixNano: nanos(span.endMs - span.ms),
                endTimeUnixNano: nanos(span.endMs),
              },
            ],
          },
        ],
      })),
  });
  const base64 = (id: string): string => Buffer.from(id, "hex").toString("base64");
  const same = (id: string): string => id;
  const jaeger = (span: StoredSpan) => ({
    traceID: span.traceId,
    spanID: span.id,
    operationName: span.name,
    references:
      span.parent === undefined ? [] : [{ refType: "CHILD_OF", traceID: span.traceId, spanID: span.parent }],
    startTime: Math.round(1e3 * (span.endMs - span.ms)),
    duration: 1e3 * span.ms,
    tags: [
      { key: "span.kind", type: "string", value: span.kind },
      ...(look.state === undefined ? [] : [{ key: "w3c.tracestate", type: "string", value: look.state }]),
    ],
    processID: span.service,
  });
  return FakeServer.start((request, response) => {
    const { pathname, searchParams: asked } = new URL(request.url ?? "", "http://x");
    const id = pathname.split("/").at(-1) ?? "";
    if (pathname === "/api/services") return json(response, { data: ["frontend", "search"] });
    if (pathname === "/api/v3/services") return json(response, { services: ["frontend", "search"] });
    if (pathname === "/api/search") {
      const found = within(1e3 * Number(asked.get("start")), 1e3 * Number(asked.get("end")));
      const traces = found
        .slice(0, Number(asked.get("limit")))
        .map((number) => ({ traceID: trace(number)[0]?.traceId }));
      return json(response, { traces });
    }
    if (pathname === "/api/traces") {
      const found = within(Number(asked.get("start")) / 1e3, Number(asked.get("end")) / 1e3);
      const processes = { frontend: { serviceName: "frontend" }, search: { serviceName: "search" } };
      const data = found.slice(0, Number(asked.get("limit"))).map((number) => {
        const spans = trace(number).map((span) => jaeger(span));
        return { traceID: spans[0]?.traceID, spans, processes };
      });
      return json(response, { data });
    }
    if (pathname === "/api/v3/traces") {
      const at = (name: string): number => Date.parse(asked.get(`query.start_time_${name}`) ?? "");
      const found = within(at("min"), at("max")).slice(0, Number(asked.get("query.num_traces")));
      const each = found.map((number) => ({ result: otlp([number], same) }));
      if (look.v3 === "lines") return json(response, each.map((line) => JSON.stringify(line)).join("\n"));
      return json(response, look.v3 === "list" ? each : { result: otlp(found, same) });
    }
    const number = Number.parseInt(id, 16) / 7_919 - 1;
    if (pathname.startsWith("/api/traces/"))
      return json(response, { batches: otlp([number], base64).resourceSpans });
    return json(response, { trace: otlp([number], base64), ...(look.partial && { status: "PARTIAL" }) });
  });
}
