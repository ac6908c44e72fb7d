import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import { snapshot } from "../predictor/sources/snapshots.ts";

const SCRIPT = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const REPLICAS: Readonly<Record<string, number>> = { frontend: 1, geo: 2 };

/** Starts a process of the command line; it ends with the test. */
export async function command(...flags: string[]): Promise<Record<string, string>> {
  const child = spawn(process.execPath, [SCRIPT, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(async () => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return (JSON.parse(line) as { addresses: Record<string, string> }).addresses;
}

/** Applications in namespaces of their own whose services have the same names, with what runs of them and what it uses. */
export class TwoApplications {
  readonly directory: string;
  readonly namespaces: readonly string[];
  private readonly startedMs = performance.now();
  private traces = 0;

  private constructor(directory: string, namespaces: readonly string[]) {
    this.directory = directory;
    this.namespaces = namespaces;
  }

  static async make(...namespaces: string[]): Promise<TwoApplications> {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-two-"));
    onTestFinished(async () => rm(directory, { recursive: true, force: true }));
    const made = new TwoApplications(directory, namespaces);
    await mkdir(made.configs);
    await writeFile(made.workloads, JSON.stringify(made.list()));
    return made;
  }

  get configs(): string {
    return join(this.directory, "applications");
  }

  get workloads(): string {
    return join(this.directory, "workloads.json");
  }

  get state(): string {
    return join(this.directory, "state");
  }

  /** Writes a file of the directory of applications, or removes it. */
  async configure(file: string, text: string | undefined): Promise<void> {
    const path = join(this.configs, file);
    if (text === undefined) return rm(path);
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  }

  /** An agent that tells of every container. @returns its address */
  async agent(): Promise<string> {
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(this.snapshot()));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Sends requests to a frontend that call geo, which takes most of the time, and end now. */
  async send(otlp: string, namespace: string, count: number, totalMs: number): Promise<number> {
    const endNs = BigInt(Date.now()) * 1_000_000n;
    const spans = Array.from({ length: count }, () => this.spansOf(endNs, totalMs));
    const resourceSpans = ["frontend", "geo"].map((service, index) => ({
      resource: { attributes: attributes({ "service.name": service, "k8s.namespace.name": namespace }) },
      scopeSpans: [{ spans: spans.flatMap((each) => each[index] ?? []) }],
    }));
    const answer = await fetch(`${otlp}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceSpans }),
    });
    const { partialSuccess } = (await answer.json()) as {
      partialSuccess?: { rejectedSpans?: number | string };
    };
    return Number(partialSuccess?.rejectedSpans ?? 0);
  }

  /** @returns spans of the frontend, and of geo */
  private spansOf(endNs: bigint, totalMs: number): [object[], object[]] {
    this.traces += 1;
    const traceId = this.traces.toString(16).padStart(32, "a");
    const id = (number: number): string => (this.traces * 16 + number).toString(16).padStart(16, "b");
    const span = (number: number, parent: number | undefined, kind: number, insetMs: number): object => ({
      traceId,
      spanId: id(number),
      ...(parent !== undefined && { parentSpanId: id(parent) }),
      name: "GET /",
      kind,
      startTimeUnixNano: String(endNs - BigInt(Math.round(1e6 * (totalMs - insetMs)))),
      endTimeUnixNano: String(endNs - BigInt(Math.round(1e6 * insetMs))),
    });
    return [[span(1, undefined, 2, 0), span(2, 1, 3, 1)], [span(3, 2, 2, 2)]];
  }

  private pods(): { namespace: string; service: string; name: string }[] {
    return this.namespaces.flatMap((namespace) =>
      Object.entries(REPLICAS).flatMap(([service, count]) =>
        Array.from({ length: count }, (_, pod) => ({
          namespace,
          service,
          name: `${namespace}-${service}-${pod}`,
        })),
      ),
    );
  }

  private snapshot(): unknown {
    const nowMs = Date.now();
    const usageSecondsTotal = ((performance.now() - this.startedMs) / 1e3) * 0.3;
    const use = { sampledAtMs: nowMs, cpu: { usageSecondsTotal, limitCores: 0.5 } };
    return snapshot(
      this.pods().map(({ name }) => ({ id: name, ...use })),
      { takenAtMs: nowMs },
    );
  }

  private list(): unknown {
    const observedAtMs = Date.now();
    const workload = (namespace: string, service: string): object => {
      const pods = this.pods().filter((each) => each.namespace === namespace && each.service === service);
      return {
        namespace,
        kind: "Deployment",
        name: service,
        service,
        replicasWanted: pods.length,
        replicasReady: pods.length,
        pods: pods.map(({ name }) => ({
          uid: `uid-${name}`,
          name,
          node: "node-1",
          ready: true,
          startedAtMs: observedAtMs - 60_000,
          containers: [{ id: name, name: "main" }],
        })),
      };
    };
    const workloads = this.namespaces.flatMap((namespace) =>
      Object.keys(REPLICAS).map((service) => workload(namespace, service)),
    );
    return { schema: WORKLOADS_SCHEMA, observedAtMs, workloads };
  }
}

const attributes = (values: Readonly<Record<string, string>>): object[] =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
