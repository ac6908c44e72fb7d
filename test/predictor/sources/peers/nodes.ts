import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { startOtlpReceiver } from "@tradewind/predictor/sources/otlp/receiver.ts";
import type { OtlpReceiver } from "@tradewind/predictor/sources/otlp/receiver.ts";
import { peerIntake } from "@tradewind/predictor/sources/otlp/peer-intake.ts";
import type { OnDurations } from "../../../../predictor/sources/otlp/pushed-metrics/metric-intake.ts";
import type { OnSpans } from "@tradewind/predictor/sources/otlp/span-intake.ts";
import { Peers } from "@tradewind/predictor/sources/peers/peers.ts";
import type { PeersOptions } from "@tradewind/predictor/sources/peers/peers.ts";
import { PeerSecret } from "@tradewind/predictor/sources/peers/secret.ts";
import { expect, onTestFinished } from "vitest";
import { waitUntil } from "../../../wait-until.ts";

export const SECRET = "what both predictors know";

/** A file with a secret, until the test is over. */
export function secretFile(text = SECRET): string {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-peers-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "secret");
  writeFileSync(path, text);
  return path;
}

export interface Node {
  readonly peers: Peers;
  /** Where peers send. */
  readonly address: string;
  readonly receiver: OtlpReceiver;
  /** Names of the spans counted, in order. */
  readonly spans: string[];
  /** What is missing of the time since then, or of the last moments. */
  missing(sinceMs?: number): readonly string[];
  /** Nothing at all is missing of the time since then, once the peer has been heard again. */
  whole(sinceMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export type NodeOptions = Partial<PeersOptions> & { readonly secretText?: string };

const allTaken: OnDurations = (points) => ({ accepted: points.length, rejected: 0, reasons: {} });

/** A predictor's receiving side on its own loopback address, so that several can have one port. */
export async function node(listen: string, options: NodeOptions): Promise<Node> {
  const { secretText, ...given } = options;
  const spans: string[] = [];
  const onSpans: OnSpans = (batch) => {
    for (let index = 0; index < batch.length; index += 1) spans.push(batch.names[index] ?? "");
    return { accepted: batch.length, rejected: 0, reasons: {} };
  };
  const take = peerIntake(systemClock, onSpans, allTaken);
  const log = createLog("test", "silent");
  const peers = new Peers({
    targets: [],
    listen,
    secret: new PeerSecret(secretFile(secretText), log),
    onBatch: async ({ body, contentType }) => void (await take(body, contentType)),
    clock: systemClock,
    rng: () => 0.5,
    log,
    heartbeatMs: 100,
    resolveEveryMs: 20,
    goneAfterMs: 600,
    ...given,
  });
  const address = await peers.start();
  const receiver = await startOtlpReceiver({ listen: "127.0.0.1:0", exchange: peers, onSpans });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopped ??= receiver.stop().then(async () => peers.stop());
    return stopped;
  };
  onTestFinished(stop);
  const missing = (sinceMs?: number): readonly string[] => {
    const nowMs = systemClock.monotonicMs();
    return peers.missing(sinceMs ?? nowMs - 50, nowMs);
  };
  const whole = async (sinceMs?: number): Promise<void> =>
    waitUntil(() => missing(sinceMs).length === 0, 10_000, `nothing is missing at ${address}`);
  return { peers, address, receiver, spans, missing, whole, stop };
}

/** Addresses that a name has; what is put in is found at the next look. */
export class Names {
  found: string[] = [];
  readonly lookup = async (): Promise<readonly string[]> => Promise.resolve([...this.found]);
}

/** Two predictors behind one name, which have met. Each looks names up by itself. */
export async function pair(options: NodeOptions = {}) {
  const first = await node("127.0.0.2:0", options);
  const port = new URL(first.address).port;
  await first.stop();
  const targets = [`dns+http://predictors:${port}`];
  const [namesOfA, namesOfB] = [new Names(), new Names()];
  const a = await node(`127.0.0.2:${port}`, { targets, lookup: namesOfA.lookup, ...options });
  const b = await node(`127.0.0.3:${port}`, { targets, lookup: namesOfB.lookup, ...options });
  namesOfA.found = ["127.0.0.2", "127.0.0.3"];
  namesOfB.found = ["127.0.0.2", "127.0.0.3"];
  const met = ({ missing, peers }: Node): boolean => {
    const { states } = peers.health();
    return states.reached === 1 && states.self === 1 && missing().length === 0;
  };
  await waitUntil(() => met(a) && met(b), 10_000, "the two have met");
  return { a, b, namesOfA, namesOfB, port, targets, metMs: systemClock.monotonicMs() };
}

let sent = 0;

/** The body of an export request with one span. */
export function oneSpan(name: string): string {
  sent += 1;
  const span = {
    traceId: sent.toString(16).padStart(32, "a"),
    spanId: sent.toString(16).padStart(16, "b"),
    name,
    kind: 2,
    startTimeUnixNano: "1700000000000000000",
    endTimeUnixNano: "1700000000100000000",
  };
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "web" } }] };
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] });
}

/** Sends a span as a client does. */
export async function send(
  to: Node,
  name: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const response = await fetch(`${to.receiver.address}/v1/traces`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: oneSpan(name),
  });
  expect(response.status).toBe(200);
  return response;
}
