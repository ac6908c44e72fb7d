import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { ContainerWindow } from "@tradewind/core/contract/window.ts";
import { ProtobufDecoder } from "../../predictor/sources/otlp/decode-protobuf.ts";
import type { ResourceView } from "../../predictor/window/resources.ts";
import { SpanBatch } from "../../predictor/window/span.ts";
import { WindowBuilder } from "../../predictor/window/window-builder.ts";
import { serviceName } from "./encode.ts";

const WINDOW_SECONDS = 15;
const GRACE_SECONDS = 5;
const START_MS = 1_800_000_000_000;

export interface RunSettings {
  readonly services: number;
  readonly containersPerService: number;
  readonly windows: number;
  readonly spansPerServiceSecond: number;
  readonly seed: number;
}

export interface RunFigures {
  readonly spans: number;
  /** CPU time, all threads, from bytes to assembled traces. */
  readonly ingestCpuMs: number;
  /** Wall time of each build, which the other work of the machine lengthens. */
  readonly buildWallMs: readonly number[];
  /** CPU time of each build, all threads. */
  readonly buildCpuMs: readonly number[];
}

/**
 * Takes in traffic second by second, as every service exports what ended in the second before; a window is built
 * `GRACE_SECONDS` after its end, while traffic goes on.
 */
export async function replay(settings: RunSettings): Promise<RunFigures> {
  const resources = resourceView(settings);
  const builder = new WindowBuilder({
    windowSeconds: WINDOW_SECONDS,
    namespace: "shop",
    traceGraceSeconds: GRACE_SECONDS,
  });
  let nowMs = START_MS;
  const decoder = new ProtobufDecoder();
  const batch = new SpanBatch();
  const take = (body: Uint8Array): number => {
    batch.clear(nowMs);
    decoder.decode(body, batch);
    return builder.add(batch, nowMs).accepted;
  };
  const figures = { spans: 0, ingestCpuMs: 0, buildWallMs: [] as number[], buildCpuMs: [] as number[] };
  const seconds = settings.windows * WINDOW_SECONDS + GRACE_SECONDS;
  for await (const bodies of trafficOf(settings, seconds, START_MS)) {
    nowMs += 1e3;
    figures.ingestCpuMs += cpuMsOf(() => {
      for (const body of bodies) figures.spans += take(body);
    });
    const endMs = nowMs - 1e3 * GRACE_SECONDS;
    if (endMs <= START_MS || endMs % (1e3 * WINDOW_SECONDS) !== 0) continue;
    const beforeMs = performance.now();
    const buildCpuMs = cpuMsOf(() => {
      const { windows } = builder.build(endMs - 1e3 * WINDOW_SECONDS, endMs, resources, nowMs);
      if (windows.length !== settings.services) throw new Error(`${windows.length} windows were built`);
    });
    figures.buildCpuMs.push(buildCpuMs);
    figures.buildWallMs.push(performance.now() - beforeMs);
  }
  const { drops } = builder.totals();
  if (Object.keys(drops).length > 0) throw new Error(`spans were dropped: ${JSON.stringify(drops)}`);
  if (figures.buildCpuMs.length !== settings.windows) throw new Error("the traffic ended early");
  return figures;
}

function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3;
}

/** The bodies of one second after the other, from the generator's process. */
export async function* trafficOf(
  { seed, services, spansPerServiceSecond }: Pick<RunSettings, "seed" | "services" | "spansPerServiceSecond">,
  seconds: number,
  startMs: number,
): AsyncGenerator<Uint8Array[]> {
  const args = [services, spansPerServiceSecond, seconds, seed, startMs].map(String);
  const generator = spawn(process.execPath, [join(import.meta.dirname, "generator.ts"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    yield* secondsOf(generator.stdout);
  } finally {
    generator.kill();
  }
}

async function* secondsOf(stream: Readable): AsyncGenerator<Uint8Array[]> {
  const bodies: Uint8Array[] = [];
  let rest = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    let at = 0;
    while (rest.length - at >= 4 && rest.length - at - 4 >= rest.readUInt32LE(at)) {
      const length = rest.readUInt32LE(at);
      if (length > 0) bodies.push(Uint8Array.prototype.slice.call(rest, at + 4, at + 4 + length));
      else yield bodies.splice(0);
      at += 4 + length;
    }
    rest = rest.subarray(at);
  }
}

function resourceView({ services, containersPerService }: RunSettings): ResourceView {
  const entries = Array.from({ length: services }, (_, service) => {
    const containers = Array.from({ length: containersPerService }, (_, index) => container(service, index));
    const resources = { namespace: "shop", replicasReady: containersPerService, containers };
    return [serviceName(service), resources] as const;
  });
  return { services: new Map(entries) };
}

function container(service: number, index: number): ContainerWindow {
  const component = { supported: true, value: 0.2, source: "others-share+psi" };
  return {
    id: `${serviceName(service)}-${index}`,
    podName: `${serviceName(service)}-7c9d8f6b5-${index}`,
    node: `node-${index}`,
    cpuRequestCores: 0.5,
    cpuLimitCores: 1,
    cpuUsageCores: 0.3,
    cpuThrottledRatio: 0.01,
    memoryLimitBytes: 512e6,
    memoryWorkingSetBytes: 200e6,
    interference: {
      cpu: component,
      memoryCapacity: component,
      memoryBandwidth: component,
      network: component,
    },
  };
}
