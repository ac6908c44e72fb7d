/**
 * `npm run -s bench -- scale --collector FILE --json`: spans of one predictor, and twice as many of two predictors, among which the
 * load-balancing exporter of a real OpenTelemetry Collector divides traces. Each of two counts half of the traces twice. FILE is a
 * Collector with the OTLP receiver and that exporter, such as otelcol-contrib.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { freePort } from "../../test/free-port.ts";
import { waitUntil } from "../../test/wait-until.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { trafficOf } from "../ingest/run.ts";
import { cpuSecondsOf, RealProcess } from "../stage/process.ts";

const SERVICES = 60;
const SPANS_PER_SERVICE_SECOND = 60;
const WINDOW_SECONDS = 5;
const WINDOWS = 6;
const GRACE_SECONDS = 5;
const POSTS_AT_ONCE = 4;

const OPTIONS = { collector: { type: "string" } } as const;

interface Arm {
  readonly predictors: number;
  readonly spansPerSecond: number;
  /** CPU seconds of each predictor while the spans came. */
  readonly cpuSeconds: readonly number[];
  readonly collectorCpuSeconds: number;
  /** Requests per second of all services, in the mean of the windows, as each predictor has them. */
  readonly requestsPerSecond: readonly number[];
}

/** A Collector that divides traces among these addresses. */
async function startCollector(file: string, folder: string, addresses: readonly string[]) {
  const port = await freePort();
  const path = join(folder, "collector.yaml");
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: {
      loadbalancing: {
        protocol: { otlp: { tls: { insecure: true } } },
        resolver: { static: { hostnames: addresses } },
      },
    },
    service: {
      pipelines: { traces: { receivers: ["otlp"], exporters: ["loadbalancing"] } },
      telemetry: { metrics: { level: "none" }, logs: { level: "error" } },
    },
  };
  writeFileSync(path, stringify(config));
  const child = spawn(file, ["--config", path], { stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${port}/v1/traces`;
  await waitUntil(
    async () => (await fetch(url).catch(() => undefined)) !== undefined,
    20_000,
    "the Collector to listen",
  );
  return {
    url,
    pid: child.pid ?? 0,
    async stop(): Promise<void> {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function startPredictor(
  folder: string,
  share: number,
): Promise<RealProcess & { readonly grpc: string }> {
  const config = join(folder, `application-${share}.yaml`);
  const application = {
    name: "shop",
    namespace: "shop",
    entry: "service-0000",
    objective: { milliseconds: 250 },
    sources: { otlp: { assumedSamplingRatio: share } },
  };
  writeFileSync(config, stringify(application));
  const grpc = `127.0.0.1:${await freePort()}`;
  const words = `--config ${config} --listen 127.0.0.1:0 --otlp-listen 127.0.0.1:0 --otlp-grpc-listen ${grpc} --max-sender-work 100 --window ${WINDOW_SECONDS}s --grace ${GRACE_SECONDS}s --log-level warn`;
  return Object.assign(await RealProcess.start("predictor", words.split(" ")), { grpc });
}

async function post(url: string, bodies: readonly Uint8Array[]): Promise<void> {
  const waiting = [...bodies];
  await Promise.all(
    Array.from({ length: POSTS_AT_ONCE }, async () => {
      for (let body = waiting.pop(); body !== undefined; body = waiting.pop()) {
        const headers = { "content-type": "application/x-protobuf" };
        const response = await fetch(url, { method: "POST", headers, body });
        await response.arrayBuffer();
        if (!response.ok) throw new Error(`the Collector answered ${response.status}`);
      }
    }),
  );
}

/** Requests per second of all services by the end of a window. */
type RatesByEnd = Map<number, number>;

async function look(predictor: RealProcess, rates: RatesByEnd): Promise<void> {
  const answer = await fetch(`${predictor.addresses["http"]}/v1/windows`);
  if (!answer.ok) return;
  const { endMs, windows } = WindowSet.parse(await answer.json());
  rates.set(
    endMs,
    windows.reduce((sum, { requestsPerSecond = 0 }) => sum + requestsPerSecond, 0),
  );
}

/** Without the first window, in which traffic began. */
function meanOf(rates: RatesByEnd): number {
  const full = [...rates.values()].slice(1);
  return full.reduce((sum, each) => sum + each, 0) / full.length;
}

async function measured(count: number, file: string, seed: number, quick: boolean): Promise<Arm> {
  const folder = mkdtempSync(join(tmpdir(), "tradewind-scale-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const predictors = await Promise.all(
    Array.from({ length: count }, () => startPredictor(folder, 1 / count)),
  );
  for (const each of predictors) stack.defer(async () => each.kill());
  const collector = await startCollector(
    file,
    folder,
    predictors.map(({ grpc }) => grpc),
  );
  stack.defer(async () => collector.stop());
  const cpu = (): number[] => [...predictors, collector].map(({ pid }) => cpuSecondsOf(pid));
  const cpuBefore = cpu();
  const startMs = Date.now();
  const settings = { services: SERVICES, spansPerServiceSecond: count * SPANS_PER_SERVICE_SECOND, seed };
  const seconds = WINDOW_SECONDS * (quick ? 2 : WINDOWS);
  const rates = predictors.map((): RatesByEnd => new Map());
  let second = 0;
  for await (const bodies of trafficOf(settings, seconds, startMs)) {
    await post(collector.url, bodies);
    second += 1;
    await Promise.all(predictors.map(async (each, place) => look(each, rates[place] ?? new Map())));
    // At the pace of real time: a window closes while traffic goes on.
    const leftMs = startMs + 1e3 * second - Date.now();
    if (leftMs < -1e3 * GRACE_SECONDS)
      throw new Error("this machine is too busy to send spans as they are made");
    await sleep(Math.max(0, leftMs));
  }
  const used = cpu().map((after, place) => after - (cpuBefore[place] ?? 0));
  return {
    predictors: count,
    spansPerSecond: SERVICES * settings.spansPerServiceSecond,
    cpuSeconds: used.slice(0, count),
    collectorCpuSeconds: used[count] ?? 0,
    requestsPerSecond: rates.map(meanOf),
  };
}

async function run({ progress, quick, seed, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const file = values["collector"];
  if (typeof file !== "string")
    throw new Error(
      "--collector FILE is missing: an OpenTelemetry Collector with the load-balancing exporter",
    );
  const arms: Arm[] = [];
  for (const count of [1, 2]) {
    progress(`${count} predictor${count === 1 ? "" : "s"}`);
    arms.push(await measured(count, file, seed, quick));
  }
  const [single, double] = arms as [Arm, Arm];
  const perCpuSecond = ({ cpuSeconds, spansPerSecond }: Arm): number =>
    spansPerSecond / Math.max(...cpuSeconds);
  return {
    arms,
    /** Spans that can be taken by two over those by one, where each has a core: by the CPU time of the busier one. */
    throughputRatio: perCpuSecond(double) / perCpuSecond(single),
    /** Requests per second as each of two has them, over twice what the one has. */
    requestsRatio: double.requestsPerSecond.map(
      (each) => each / (2 * (single.requestsPerSecond[0] ?? Number.NaN)),
    ),
  };
}

export const benchmark: Benchmark = {
  summary: "spans of two predictors behind a Collector's load-balancing exporter, against one",
  options: OPTIONS,
  run,
};
