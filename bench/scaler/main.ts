import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { compileImage } from "../stage/compile.ts";
import { ROOT } from "../stage/image.ts";
import { courseAt, measuredAt, NAMESPACE, planFor } from "./plan.ts";
import { hasDecided, load, scrape, startScaler } from "./scaler-process.ts";
import type { LoadResult } from "./scaler-process.ts";

const OBJECTS = 5_000;
const STEADY_PER_SECOND = 1_000;
const CALLS_IN_FLIGHT = 64;
/** A predictor plans once a window. */
const PLAN_EVERY_MS = 15_000;
/** As Prometheus does in many clusters. */
const SCRAPE_EVERY_MS = 15_000;

/**
 * A real exporter process with state on disk, a predictor that plans 5,000 services anew every 15 s, a scrape of all their
 * series as often, and a client in a process of its own that asks GetMetrics for random ScaledObjects over loopback.
 * `requestsPerSecond`, `p50Ms` and `p99Ms` are of the steady load as the client sees it, plans, writes, scrapes and garbage
 * collection included;
 * `rpcPerSecondPerCore` is calls per second of the exporter's own CPU time under full load; `rssBytes` is the most
 * resident memory the exporter had.
 */
export const benchmark: Benchmark = {
  summary: "GetMetrics latency at 1,000 RPC/s with 5,000 ScaledObjects, RPC/s per core and memory",
  run,
};

async function run({ seed, quick, progress }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const steadySeconds = quick ? 4 : 45;
  const fullSeconds = quick ? 2 : 15;
  await using undo = new AsyncDisposableStack();
  const state = await mkdtemp(join(tmpdir(), "tradewind-bench-scaler-"));
  undo.defer(() => rm(state, { recursive: true, force: true }));
  const predictor = await servePlans(seed);
  undo.defer(predictor.stop);
  progress("scaler: compiled as its image is");
  const compiled = compileImage("exporter", ROOT, join(state, "compiled"));
  const scaler = await startScaler(compiled, predictor.url, join(state, "kept"));
  undo.defer(async () => scaler.kill("SIGTERM"));
  await hasDecided(scaler, OBJECTS);
  const scrapes = setInterval(() => {
    scrape(scaler).catch((error: unknown) => progress(`a scrape failed: ${describeError(error)}`));
  }, SCRAPE_EVERY_MS);
  undo.defer(() => clearInterval(scrapes));

  const job = { address: scaler.addresses["grpc"], objects: OBJECTS, seed };
  progress(`steady: ${STEADY_PER_SECOND} GetMetrics per second for ${steadySeconds} s`);
  const steady = await load(
    { ...job, seconds: steadySeconds, perSecond: STEADY_PER_SECOND },
    () => undefined,
  );
  progress(`  ${describe(steady)}`);
  progress(`full: ${CALLS_IN_FLIGHT} calls in flight for ${fullSeconds} s`);
  let cpuAtStart = 0;
  const full = await load({ ...job, seconds: fullSeconds, inFlight: CALLS_IN_FLIGHT }, () => {
    cpuAtStart = scaler.cpuSeconds();
  });
  const cpu = scaler.cpuSeconds() - cpuAtStart;
  progress(`  ${describe(full)}, ${cpu.toFixed(1)} s of CPU`);
  const failed = steady.failed + full.failed;
  if (failed > 0) throw new Error(`${failed} calls failed: the figures would say nothing`);
  return {
    objects: OBJECTS,
    requestsPerSecond: Math.round(steady.calls / steady.seconds),
    p50Ms: round(steady.p50Ms),
    p99Ms: round(steady.p99Ms),
    rpcPerSecondPerCore: Math.round(full.calls / cpu),
    rssBytes: scaler.peakBytes(),
  };
}

const round = (ms: number): number => Math.round(ms * 1e3) / 1e3;
const describe = ({ calls, seconds, p50Ms, p99Ms, maxMs }: LoadResult): string =>
  `${calls} calls in ${seconds.toFixed(1)} s, p50 ${round(p50Ms)} ms, p99 ${round(p99Ms)} ms, slowest ${round(maxMs)} ms`;

/** Plans for longer than a run takes, made before it begins: the calls shall not share a core with the making of plans. */
const PLANS = 12;

/** What a predictor with one application answers to who asks which there are. */
const LISTED = JSON.stringify({
  schema: APPLICATION_LIST_SCHEMA,
  several: false,
  applications: [{ namespace: NAMESPACE, name: "bench", origin: "bench.yaml", state: "planned" }],
} satisfies ApplicationList);

/** Serves a new plan once a window, with an entity tag as the predictor has. */
async function servePlans(seed: number): Promise<{ url: string; stop: () => Promise<void> }> {
  const startedAtMs = Date.now();
  const plans = Array.from({ length: PLANS }, (_, sequence) =>
    Buffer.from(JSON.stringify(planFor(OBJECTS, sequence, startedAtMs, seed))),
  );
  const server = createServer((request, response) => {
    const sequence = Math.min(PLANS - 1, Math.floor((Date.now() - startedAtMs) / PLAN_EVERY_MS));
    const { pathname } = new URL(request.url ?? "/", "http://predictor");
    const answer: Buffer | string | undefined = {
      "/v1/applications": LISTED,
      "/v1/plan": plans[sequence],
      "/v1/measured": JSON.stringify(measuredAt(OBJECTS)),
      "/v1/course": JSON.stringify(courseAt()),
    }[pathname];
    const tag = `"${sequence}"`;
    if (answer === undefined) response.writeHead(404).end();
    else if (pathname === "/v1/plan" && request.headers["if-none-match"] === tag)
      response.writeHead(304).end();
    else response.writeHead(200, { "content-type": "application/json", etag: tag }).end(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
