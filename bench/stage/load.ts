import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Client, credentials } from "@grpc/grpc-js";
import { Agent, request } from "undici";
import { protobufRequest } from "../../test/predictor/sources/otlp/messages.ts";
import type { WireSpan } from "../../test/predictor/sources/otlp/messages.ts";
import { SERVICES } from "./application.ts";

export const REQUESTS_PER_SECOND = 40;
const EVERY_MS = 100;
const SEND_MS = 1_000;
/** A client whose receiver failed stays with the other one for so long. */
const STAY_MS = 5_000;
const EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const SERVER = 2;
const CLIENT = 3;

/** What the application's users and its SDKs do: 40 requests a second, whose spans go to two receivers, half to each. */
export class Load {
  /** Own time of geo over what it usually is: 1 keeps the objective, 5 misses it by far. */
  slowness = 1;
  /** Services whose spans stay away, though they serve. */
  readonly silent = new Set<string>();
  /** False while users make no requests. */
  isOn = true;
  /** Exports that were sent, and those that the first receiver asked did not take. */
  readonly exports = { sent: 0, refused: 0 };
  private readonly receivers: readonly string[];
  private readonly avoidUntilMs = new Map<string, number>();
  private dispatcher = newDispatcher();
  /** By the index of the receiver, where spans go by gRPC. */
  private grpc: readonly Client[] = [];
  private readonly sending = new Set<Promise<void>>();
  private running: Promise<void> | undefined;
  private stopping = false;

  /** @param receivers OTLP/HTTP addresses; a client of each is bound to it while it answers */
  constructor(receivers: readonly string[]) {
    this.receivers = receivers;
  }

  start(): void {
    this.running = this.run();
  }

  /** Lets go of all connections and makes new ones. */
  async reconnect(): Promise<void> {
    const before = this.dispatcher;
    this.dispatcher = newDispatcher();
    await before.close();
  }

  /** Sends by OTLP/gRPC from now on, to these `host:port`; by HTTP when there are none. */
  useGrpc(addresses: readonly string[] = []): void {
    for (const client of this.grpc) client.close();
    this.grpc = addresses.map((address) => new Client(address, credentials.createInsecure()));
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
    await Promise.allSettled(this.sending);
    this.useGrpc();
    await this.dispatcher.destroy();
  }

  private async run(): Promise<void> {
    let paidMs = performance.now();
    for (let turn = 0; !this.stopping; turn += 1) {
      // By the clock: a machine that is busy makes turns late, and the users do not wait for it.
      const traces = Math.floor(((performance.now() - paidMs) / 1e3) * REQUESTS_PER_SECOND);
      paidMs += (traces / REQUESTS_PER_SECOND) * 1e3;
      const sending = this.send(
        turn % this.receivers.length,
        this.isOn ? exportsOf(traces, this.slowness, this.silent) : [],
      );
      this.sending.add(sending);
      void sending.finally(() => this.sending.delete(sending));
      await delay(EVERY_MS);
    }
  }

  /** A client's batch goes to its own receiver, or to the next while that one fails. */
  private async send(client: number, bodies: readonly Uint8Array[]): Promise<void> {
    const turns = this.receivers.map(
      (_, index) => this.receivers[(client + index) % this.receivers.length] ?? "",
    );
    const fit = turns.filter((each) => (this.avoidUntilMs.get(each) ?? 0) < performance.now());
    for (const body of bodies) {
      this.exports.sent += 1;
      for (const [index, receiver] of (fit.length > 0 ? fit : turns).entries()) {
        if (await this.export(receiver, body)) break;
        if (index === 0) this.exports.refused += 1;
        this.avoidUntilMs.set(receiver, performance.now() + STAY_MS);
      }
    }
  }

  private async export(receiver: string, body: Uint8Array): Promise<boolean> {
    const client = this.grpc[this.receivers.indexOf(receiver)];
    return client === undefined ? this.post(receiver, body) : call(client, body);
  }

  private async post(receiver: string, body: Uint8Array): Promise<boolean> {
    try {
      const answer = await request(`${receiver}/v1/traces`, {
        method: "POST",
        dispatcher: this.dispatcher,
        headers: { "content-type": "application/x-protobuf" },
        body,
        signal: AbortSignal.timeout(SEND_MS),
      });
      await answer.body.dump();
      return answer.statusCode === 200;
    } catch {
      return false;
    }
  }
}

const newDispatcher = (): Agent =>
  new Agent({ connections: 4, connectTimeout: SEND_MS, headersTimeout: SEND_MS, bodyTimeout: SEND_MS });

/** One Export; whether it was answered OK. */
async function call(client: Client, body: Uint8Array): Promise<boolean> {
  const asIs = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve) => {
    const options = { deadline: Date.now() + SEND_MS };
    client.makeUnaryRequest(EXPORT, asIs, asIs, Buffer.from(body), options, (error) =>
      resolve(error === null),
    );
  });
}

const id = (bytes: number): string => randomBytes(bytes).toString("hex");

/** One export of each service: its spans of requests that end now. frontend calls search, which calls geo, then cart. */
function exportsOf(traces: number, slowness: number, silent: ReadonlySet<string>): Uint8Array[] {
  const spans = new Map<string, WireSpan[]>(SERVICES.map(({ name }) => [name, []]));
  const own = new Map(SERVICES.map(({ name, ownMs }) => [name, name === "geo" ? ownMs * slowness : ownMs]));
  const nowMs = Date.now();
  for (let index = 0; index < traces; index += 1) {
    const traceId = id(16);
    /** @returns when it ended */
    const serve = (
      service: string,
      startMs: number,
      parentId: string | undefined,
      callees: readonly string[],
    ): number => {
      const spanId = id(8);
      let atMs = startMs + (own.get(service) ?? 0);
      for (const callee of callees) {
        const callId = id(8);
        const endMs = serve(callee, atMs, callId, callee === "search" ? ["geo"] : []);
        spans.get(service)?.push({
          traceId,
          spanId: callId,
          parentId: spanId,
          name: "call",
          kind: CLIENT,
          startMs: atMs,
          endMs,
        });
        atMs = endMs;
      }
      spans.get(service)?.push({
        traceId,
        spanId,
        ...(parentId !== undefined && { parentId }),
        name: "GET /",
        kind: SERVER,
        startMs,
        endMs: atMs,
      });
      return atMs;
    };
    const tookMs = [...own.values()].reduce((sum, ms) => sum + ms, 0);
    serve("frontend", nowMs - tookMs, undefined, ["search", "cart"]);
  }
  return [...spans]
    .filter(([service, made]) => made.length > 0 && !silent.has(service))
    .map(([service, made]) => protobufRequest(made, { "service.name": service }));
}
