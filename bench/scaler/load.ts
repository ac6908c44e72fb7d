/**
 * KEDA's side of the benchmark, a process of its own: `node load.ts '{"address":…}'` prints one JSON line of results.
 * A steady load sends GetMetrics by the clock, whatever the answers do; a full load keeps a number of calls in flight.
 */
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { loadSync } from "@grpc/proto-loader";
import type { MethodDefinition } from "@grpc/proto-loader";
import { z } from "zod";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { percentile } from "../statistics.ts";
import { Caller, messageOf } from "./caller.ts";
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
  /** What is asked for in place of the services of the benchmark's plan. */
  service: z.strictObject({ namespace: z.string(), name: z.string() }).optional(),
  /** Of the caller; default any. */
  localAddress: z.string().optional(),
});

const proto = fileURLToPath(new URL("../../exporter/serve/keda/externalscaler.proto", import.meta.url));
const service = loadSync(proto, { keepCase: true })["externalscaler.ExternalScaler"] as unknown as Record<
  string,
  MethodDefinition<object, object>
>;
const getMetrics = service["GetMetrics"];
if (getMetrics === undefined) throw new Error("externalscaler.proto has no GetMetrics");

const job = Job.parse(JSON.parse(process.argv[2] ?? "{}"));
const rng = seededRng(job.seed);
const requests = Array.from({ length: job.objects }, (_, index) =>
  messageOf(
    getMetrics.requestSerialize({
      scaledObjectRef: {
        name: `scaler-${index}`,
        namespace: job.service?.namespace ?? NAMESPACE,
        scalerMetadata: {
          scalerAddress: "tradewind-scaler.tradewind:9813",
          service: job.service?.name ?? serviceName(index),
        },
      },
      metricName: "recommended-replicas",
    }),
  ),
);
/** Until V8 has compiled what a call goes through: an exporter runs for weeks. */
const WARM_UP_CALLS = 20_000;
const MAX_CALLS = 1_000_000;
const latenciesMs = new Float64Array(MAX_CALLS);
let open = 0;
let answered = 0;
let failed = 0;
/** What is to be done with each answer besides counting it. */
let onAnswer = (): void => undefined;

const caller = await Caller.connect(
  { address: job.address, localAddress: job.localAddress },
  "/externalscaler.ExternalScaler/GetMetrics",
  (latencyMs, isFailure) => {
    open -= 1;
    if (isFailure) failed += 1;
    else latenciesMs[answered++ % MAX_CALLS] = latencyMs;
    onAnswer();
  },
);

const hasOpenCalls = (): boolean => open > 0;

/** One call for a random ScaledObject. */
function call(): void {
  open += 1;
  caller.call(requests[Math.floor(rng() * requests.length)] ?? Buffer.alloc(0));
}

async function steady(perSecond: number): Promise<void> {
  const startMs = performance.now();
  let sent = 0;
  while (sent < perSecond * job.seconds) {
    const due = Math.floor(((performance.now() - startMs) / 1e3) * perSecond);
    for (; sent < due; sent += 1) call();
    await delay(1);
  }
  while (hasOpenCalls()) await delay(1);
}

/** Keeps a number of calls in flight until it is over. */
async function full(inFlight: number, isOver: () => boolean): Promise<void> {
  onAnswer = () => {
    if (!isOver()) call();
  };
  for (let started = 0; started < inFlight; started += 1) call();
  while (!isOver()) await delay(1);
  onAnswer = () => undefined;
  while (hasOpenCalls()) await delay(1);
}

if (job.service === undefined) await full(8, () => answered + failed >= WARM_UP_CALLS);
answered = 0;
process.stdout.write("warm\n");
const startedMs = performance.now();
if (job.perSecond !== undefined) await steady(job.perSecond);
if (job.inFlight !== undefined)
  await full(job.inFlight, () => performance.now() - startedMs > job.seconds * 1e3);
const seconds = (performance.now() - startedMs) / 1e3;
if (answered > MAX_CALLS) throw new Error(`more than ${MAX_CALLS} calls`);
const sorted = latenciesMs.subarray(0, answered).sort();
const at = (share: number): number => percentile(sorted, share);
const result = { calls: sorted.length, failed, seconds, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
process.stdout.write(`${JSON.stringify(result)}\n`);
caller.close();
