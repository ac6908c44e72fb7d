import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { ReplicaFault } from "./service-fault.ts";
import type { Balancer } from "./balance.ts";
import type { HttpClient } from "./call.ts";
import { demandMillis } from "./demand.ts";
import type { Processor } from "./processor.ts";
import { DEMAND_HEADER } from "./protocol.ts";
import type { Call, Route, ServiceDefinition } from "./topology.ts";
import type { ActiveSpan, Tracing } from "./tracing.ts";

/** Requests in a replica at once; the next one is refused with 503 instead of eating memory. */
export const MAX_IN_REPLICA = 32;
/** A call that takes longer has failed; nobody waits longer at the entry either. */
export const CALL_TIMEOUT_MILLIS = 2_000;
const MAX_BODY_BYTES = 64 * 1024;
const SEED_DIGITS = 1_000;

export interface ServiceOptions {
  readonly definition: ServiceDefinition;
  readonly processor: Processor;
  readonly client: HttpClient;
  /** By name of the called service. */
  readonly balancers: ReadonlyMap<string, Balancer>;
  readonly tracing: Tracing;
  /** What is wrong with the replica now. */
  readonly fault: () => ReplicaFault;
}

export interface ServiceCounts {
  requestsTotal: number;
  refusedTotal: number;
  inFlight: number;
}

interface Incoming {
  readonly span: ActiveSpan;
  readonly signal: AbortSignal;
  readonly demandSeed: number;
}

/** Sends one call to a replica of the callee. @returns true when it answered 2xx */
async function callOut(options: ServiceOptions, call: Call, incoming: Incoming): Promise<boolean> {
  const headers: Record<string, string> = { [DEMAND_HEADER]: String(incoming.demandSeed) };
  const span = options.tracing.startClientSpan(call.route, incoming.span, headers);
  const balancer = options.balancers.get(call.service);
  const endpoint = balancer?.acquire();
  if (balancer === undefined || endpoint === undefined) {
    span.end("unreachable");
    return false;
  }
  const signal = AbortSignal.any([incoming.signal, AbortSignal.timeout(CALL_TIMEOUT_MILLIS)]);
  try {
    const status = await options.client.send({ endpoint, route: call.route, headers, signal });
    span.end(status);
    return status < 400;
  } catch {
    span.end(signal.aborted ? "aborted" : "unreachable");
    return false;
  } finally {
    balancer.release(endpoint);
  }
}

/** Does the work of one request. @returns the HTTP status */
async function serve(options: ServiceOptions, route: Route, incoming: Incoming): Promise<number> {
  const { definition, processor } = options;
  const { cpuRatio, failedRatio, outsideMillis } = options.fault();
  const demand = cpuRatio * demandMillis(incoming.demandSeed, definition.name, route.cpuMillis);
  const parts = route.stages.length === 0 ? 1 : 2;
  await processor.run(demand / parts, incoming.signal);
  for (const stage of route.stages) {
    const answers = await Promise.all(stage.map(async (call) => callOut(options, call, incoming)));
    if (answers.includes(false)) return 502;
  }
  if (parts === 2) await processor.run(demand / parts, incoming.signal);
  if (outsideMillis > 0) await delay(outsideMillis);
  // The last digits of the seed differ from request to request, and are the same in every service.
  return (incoming.demandSeed % SEED_DIGITS) / SEED_DIGITS < failedRatio ? 500 : 200;
}

function answer(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

/** Throws the body away; a larger one than allowed costs the connection. */
function discardBody(request: IncomingMessage): void {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) request.destroy();
  });
}

/** The HTTP server of one replica. It does not listen yet. */
export function createService(options: ServiceOptions): {
  readonly server: Server;
  readonly counts: ServiceCounts;
} {
  const counts: ServiceCounts = { requestsTotal: 0, refusedTotal: 0, inFlight: 0 };
  const { definition, tracing } = options;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path = "/"] = (request.url ?? "/").split("?");
    const name = `${request.method ?? "GET"} ${path}`;
    discardBody(request);
    if (name === "GET /readyz") return answer(response, 200, { ready: true });
    const route = definition.routes[name];
    if (route === undefined) return answer(response, 404, { error: `${definition.name} has no ${name}` });

    const { networkMillis } = options.fault();
    if (networkMillis > 0) await delay(networkMillis);
    const span = tracing.startServerSpan(name, request.headers);
    if (counts.inFlight >= MAX_IN_REPLICA) {
      counts.refusedTotal += 1;
      answer(response, 503, { error: "full" });
      return span.end(503);
    }
    counts.requestsTotal += 1;
    counts.inFlight += 1;
    const abandoned = new AbortController();
    response.once("close", () => abandoned.abort());
    try {
      const demandSeed = Math.trunc(Number(request.headers[DEMAND_HEADER])) || 0;
      const status = await serve(options, route, { span, signal: abandoned.signal, demandSeed });
      const wasAbandoned = abandoned.signal.aborted;
      answer(response, status, { service: definition.name, status });
      span.end(wasAbandoned ? "aborted" : status);
    } finally {
      counts.inFlight -= 1;
    }
  };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  return { server, counts };
}
