import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { exportRequest } from "../ingest/encode.ts";

/** Where strangers can send something. */
export interface Doors {
  /** Base addresses of OTLP over HTTP. */
  readonly otlp: readonly string[];
  /** `host:port` of everything that listens. */
  readonly all: readonly string[];
}

type Attack = (doors: Doors, rng: Rng) => Promise<void>;

const one = <Value>(values: readonly Value[], rng: Rng): Value => {
  const value = values[Math.floor(rng() * values.length)];
  if (value === undefined) throw new RangeError("nothing to choose from");
  return value;
};

const noise = (length: number, rng: Rng): Buffer =>
  Buffer.from(Uint8Array.from({ length }, () => 256 * rng()));

async function post(
  url: string,
  body: Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<void> {
  const response = await fetch(`${url}/v1/traces`, {
    method: "POST",
    body,
    headers,
    signal: AbortSignal.timeout(5_000),
  });
  await response.arrayBuffer();
}

const JSON_BODY = { "content-type": "application/json" };
const PROTOBUF_BODY = { "content-type": "application/x-protobuf" };
const copy = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** Says something on a raw connection, waits a little and hangs up. */
async function say(address: string, bytes: Uint8Array): Promise<void> {
  const { hostname, port } = new URL(`http://${address}`);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.write(bytes);
  await delay(500);
  socket.destroy();
}

const ATTACKS: readonly Attack[] = [
  async ({ otlp }, rng) => post(one(otlp, rng), copy(noise(5_000, rng)), PROTOBUF_BODY),
  async ({ otlp }, rng) => {
    const spans = Array.from({ length: 2_000 }, () => ({}));
    const body = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    await post(one(otlp, rng), copy(body), JSON_BODY);
  },
  async ({ otlp }, rng) => {
    const bomb = gzipSync(Buffer.alloc(20 * 2 ** 20, " "));
    await post(one(otlp, rng), copy(bomb), { ...JSON_BODY, "content-encoding": "gzip" });
  },
  async ({ otlp }, rng) =>
    post(one(otlp, rng), copy(gzipSync(noise(1_000, rng)).subarray(0, 500)), {
      ...PROTOBUF_BODY,
      "content-encoding": "gzip",
    }),
  // Services that nobody has ever heard of.
  async ({ otlp }, rng) => {
    const nowMs = Date.now();
    const word = (): number => Math.floor(rng() * 2 ** 32);
    for (let name = 0; name < 30; name += 1) {
      const trace = [word(), word(), word(), word()] as const;
      const span = {
        trace,
        id: [word(), word()] as const,
        parent: undefined,
        name: `GET /${word()}`,
        kind: 2,
      };
      const times = { startMs: nowMs - 20, endMs: nowMs, failed: false };
      await post(
        one(otlp, rng),
        copy(exportRequest(`invented-${word()}`, [{ ...span, ...times }])),
        PROTOBUF_BODY,
      );
    }
  },
  async ({ all }, rng) => say(one(all, rng), noise(2_000, rng)),
  // A body that never comes.
  async ({ all }, rng) =>
    say(
      one(all, rng),
      Buffer.from(
        "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{",
      ),
    ),
  // HTTP/2 that opens a stream and resets it, over and over.
  async ({ all }, rng) => {
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "latin1");
    const frames = Array.from({ length: 100 }, (_, at) => {
      const stream = Buffer.alloc(4);
      stream.writeUInt32BE(2 * at + 1);
      const headers = Buffer.concat([Buffer.from([0, 0, 1, 1, 4]), stream, Buffer.of(0x83)]);
      return Buffer.concat([headers, Buffer.from([0, 0, 4, 3, 0]), stream, Buffer.alloc(4)]);
    });
    await say(one(all, rng), Buffer.concat([preface, ...frames]));
  },
  async ({ all }, rng) => {
    const response = await fetch(`http://${one(all, rng)}/${"%2e%2e/".repeat(20)}etc/passwd`, {
      signal: AbortSignal.timeout(2_000),
    });
    await response.arrayBuffer();
  },
];

/** Sends one hostile thing somewhere; that it is refused is what is expected. */
export async function attack(doors: Doors, rng: Rng): Promise<void> {
  await one(ATTACKS, rng)(doors, rng).catch(() => undefined);
}
