import { mkdir, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SNAPSHOT_SCHEMA } from "@tradewind/core/contract/snapshot.ts";
import type { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";

export const NAMESPACE = "shop";
/** 95 % of requests within this. */
export const OBJECTIVE_MS = 100;
export const MAX_REPLICAS = 20;
/** Of each pod. */
const LIMIT_CORES = 1;
const NODE = "node-1";

/**
 * The made-up application. Each service runs as many replicas as its CPU demand needs at 55 % of a pod: with one fewer it
 * would be over, with as many as run it stays below 65 %. So neither a calm nor a busy window moves the number, and any
 * number below it is wrong. A request takes 70 ms of the objective's 100.
 */
export const SERVICES: readonly Service[] = [
  { name: "frontend", replicas: 3, demandCores: 1.5, ownMs: 5 },
  { name: "search", replicas: 4, demandCores: 2, ownMs: 10 },
  { name: "geo", replicas: 6, demandCores: 3.1, ownMs: 45 },
  { name: "cart", replicas: 2, demandCores: 0.9, ownMs: 10 },
];

/** The same application where geo has replicas that only latency asks for. */
export const SPARE_SERVICES: readonly Service[] = [
  ...SERVICES.filter(({ name }) => name !== "geo"),
  { name: "geo", replicas: 8, demandCores: 3.1, ownMs: 45 },
];

export interface Service {
  readonly name: string;
  readonly replicas: number;
  /** Of all its replicas together. */
  readonly demandCores: number;
  readonly ownMs: number;
}

/** Writes the application's configuration and its workloads for a predictor. @returns the paths of the configuration and of the workloads */
export async function writeFiles(
  directory: string,
  services: readonly Service[],
  sources = "",
): Promise<{ config: string; workloads: string; secret: string }> {
  await mkdir(directory, { recursive: true });
  const config = join(directory, "app.yaml");
  const specs = services.map(({ name }) => `  - { name: ${name}, maxReplicas: ${MAX_REPLICAS} }\n`).join("");
  await writeFile(
    config,
    `namespace: ${NAMESPACE}\nmode: act\nentry: frontend\nobjective: { milliseconds: ${OBJECTIVE_MS}, windowSeconds: 6 }\nservices:\n${specs}${sources}`,
  );
  const workloads = join(directory, "workloads.json");
  await replaceFile(workloads, workloadsText(services));
  const secret = join(directory, "secret");
  await writeFile(secret, "a secret that two pods share", { mode: 0o600 });
  return { config, workloads, secret };
}

/** Replaces a file by renaming, as the writer of a workloads file does. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

const STARTED_MS = Date.now() - 600_000;

/** The workloads file when all is well. */
export function workloadsText(services: readonly Service[]): string {
  const list: WorkloadList = {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: Date.now(),
    workloads: services.map(({ name, replicas }) => ({
      namespace: NAMESPACE,
      kind: "Deployment",
      name,
      service: name,
      replicasWanted: replicas,
      replicasReady: replicas,
      pods: Array.from({ length: replicas }, (_, pod) => ({
        uid: `uid-${name}-${pod}`,
        name: `${name}-${pod}`,
        node: NODE,
        ready: true,
        startedAtMs: STARTED_MS,
        containers: [{ id: `${name}-${pod}`, name: "main", cpuLimitCores: LIMIT_CORES }],
      })),
    })),
  };
  return JSON.stringify(list);
}

const UNSUPPORTED = { supported: false } as const;
const INTERFERENCE = {
  cpu: UNSUPPORTED,
  memoryCapacity: UNSUPPORTED,
  memoryBandwidth: UNSUPPORTED,
  network: UNSUPPORTED,
};

function snapshot(services: readonly Service[]): Snapshot {
  const nowMs = Date.now();
  const containers = services.flatMap(({ demandCores, name, replicas }) =>
    Array.from({ length: replicas }, (_, pod) => ({
      id: `${name}-${pod}`,
      sampledAtMs: nowMs,
      ageSeconds: 0,
      cpu: {
        limitCores: LIMIT_CORES,
        usageSecondsTotal: ((nowMs - STARTED_MS) / 1e3) * (demandCores / replicas),
      },
      memory: { workingSetBytes: 100e6 },
      interference: INTERFERENCE,
    })),
  );
  return {
    schema: SNAPSHOT_SCHEMA,
    node: NODE,
    agentStartedAtMs: STARTED_MS,
    takenAtMs: nowMs,
    capacity: { cpuCores: 32, memoryBytes: 64e9 },
    interference: INTERFERENCE,
    signals: {},
    containers,
    agent: { samplesTotal: 1, cpuSecondsTotal: 0, cpuRatio: 0, residentBytes: 1 },
  };
}

/** Less than a predictor waits, and almost a window. */
const LATE_MS = 1_500;
/** A predictor asks once in this time. */
const TURN_MS = 2_000;

/** The node's agent as far as a predictor sees it: a server that may also be late, silent or gone. */
export class NodeOfPods {
  readonly url: string;
  /**
   * `answers`, `is-late` (in every second {@link TURN_MS} it tells how things were {@link LATE_MS} before), `hangs` (takes the
   * connection and says nothing) or `refuses` (503).
   */
  mood: "answers" | "is-late" | "hangs" | "refuses" = "answers";
  private readonly server;

  private constructor(server: ReturnType<typeof createServer>, url: string, services: readonly Service[]) {
    this.server = server;
    this.url = url;
    server.on("request", (request, response) => {
      if (this.mood === "hangs") return;
      if (this.mood === "refuses" || request.url !== "/v1/snapshot") {
        response.writeHead(this.mood === "refuses" ? 503 : 404).end();
        return;
      }
      const text = JSON.stringify(snapshot(services));
      const isLateNow = this.mood === "is-late" && Math.floor(performance.now() / TURN_MS) % 2 === 0;
      setTimeout(
        () => response.writeHead(200, { "content-type": "application/json" }).end(text),
        isLateNow ? LATE_MS : 0,
      );
    });
  }

  static async start(services: readonly Service[]): Promise<NodeOfPods> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new NodeOfPods(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, services);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}
