/**
 * KEDA's side of the benchmark, a process of its own: `node load.ts '{"address":…}'` prints one JSON line of results.
 * A steady load sends GetMetrics by the clock, whatever the answers do; a full load keeps a number of calls in flight.
 */
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { MethodDefinition } from "@grpc/proto-loader";
import { z } from "zod";
import { seededRng } from "@tradewind/core/rng.ts";
import { NAMESPACE, serviceName } from "./plan.ts";

const Job = z.strictObject({
  address: z.string(),
  objects: z.number().int().positive(),
  seconds: z.number().positive(),
  seed: z.number(),
  /** Calls per second of a steady load. */
  perSecond: z.number().positive().optional(),
  /** Calls in flight of a full load. */
  inFlight: z.number().int().positive().optional(),
});

const proto = fileURLToPath(new URL("../../exporter/keda/externalscaler.proto", import.meta.url));
const service = loadSync(proto, { keepCase: true })["externalscaler.ExternalScaler"] as unknown as Record<
  string,
  MethodDefinition<object, object>
>;
const getMetrics = service["GetMetrics"];
if (getMetrics === undefined) throw new Error("externalscaler.proto has no GetMetrics");

const job = Job.parse(JSON.parse(process.argv[2] ?? "{}"));
const rng = seededRng(job.seed);
const client = new Client(job.address, credentials.createInsecure());
const requests = Array.from({ length: job.objects }, (_, index) =>
  getMetrics.requestSerialize({
    scaledObjectRef: {
      name: `scaler-${index}`,
      namespace: NAMESPACE,
      scalerMetadata: { scalerAddress: "tradewind-scaler.tradewind:9813", service: serviceName(index) },
    },
    metricName: "recommended-replicas",
  }),
);
const MAX_CALLS = 1_000_000;
const latenciesMs = new Float64Array(MAX_CALLS);
let answered = 0;
let failed = 0;

/** One call for a random ScaledObject, timed from just before it is sent until its answer is there. */
function call(done: () => void): void {
  const request = requests[Math.floor(rng() * requests.length)] ?? Buffer.alloc(0);
  const sentMs = performance.now();
  client.makeUnaryRequest(
    "/externalscaler.ExternalScaler/GetMetrics",
    asIs,
    asIs,
    request,
    new Metadata(),
    (error) => {
      if (error === null) latenciesMs[answered++ % MAX_CALLS] = performance.now() - sentMs;
      else failed += 1;
      done();
    },
  );
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

async function steady(perSecond: number): Promise<void> {
  const startMs = performance.now();
  let sent = 0;
  const open = { calls: 0 };
  const done = (): void => {
    open.calls -= 1;
  };
  while (sent < perSecond * job.seconds) {
    const due = Math.floor(((performance.now() - startMs) / 1e3) * perSecond);
    for (; sent < due; sent += 1) {
      open.calls += 1;
      call(done);
    }
    await delay(1);
  }
  while (open.calls > 0) await delay(1);
}

async function full(inFlight: number): Promise<void> {
  const endMs = performance.now() + job.seconds * 1e3;
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) await new Promise<void>((resolve) => call(resolve));
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
}

for (let warmUp = 0; warmUp < 2_000; warmUp += 1) await new Promise<void>((resolve) => call(resolve));
answered = 0;
process.stdout.write("warm\n");
const startedMs = performance.now();
if (job.perSecond !== undefined) await steady(job.perSecond);
if (job.inFlight !== undefined) await full(job.inFlight);
const seconds = (performance.now() - startedMs) / 1e3;
if (answered > MAX_CALLS) throw new Error(`more than ${MAX_CALLS} calls`);
const sorted = latenciesMs.subarray(0, answered).sort();
const at = (quantile: number): number => sorted[Math.floor(quantile * (sorted.length - 1))] ?? Number.NaN;
const result = { calls: sorted.length, failed, seconds, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
process.stdout.write(`${JSON.stringify(result)}\n`);
client.close();
