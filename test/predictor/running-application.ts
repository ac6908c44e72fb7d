import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import type { PredictorOptionsInput } from "@tradewind/predictor/run/process/options.ts";
import { json, startFakeAgent } from "./fake-agent.ts";
import type { FakeAgent } from "./fake-agent.ts";
import { snapshot } from "./sources/snapshots.ts";

const CONFIG = "entry: frontend\nmode: act\nobjective: { milliseconds: 100, windowSeconds: 3 }\n";

/** What surrounds a predictor: a configuration, a workloads file, an agent, and a sender of spans. */
export class RunningApplication {
  readonly directory: string;
  readonly agent: FakeAgent;
  readonly startedAtMs = Date.now();
  private readonly startedMs = performance.now();
  replicas = { frontend: 1, geo: 2 };
  /** Hash of the pod template that all pods run. */
  revision = "one";
  /** What the kubelet asks every pod for. */
  probePaths: readonly string[] = [];
  /** CPU that each pod uses, in cores. */
  podUsageCores = 0.3;
  private traces = 0;

  private constructor(directory: string, agent: FakeAgent) {
    this.directory = directory;
    this.agent = agent;
  }

  static async start(): Promise<RunningApplication> {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-predictor-"));
    const application = new RunningApplication(directory, await startFakeAgent());
    application.agent.answer(json(() => application.snapshot()));
    await writeFile(application.config, CONFIG);
    await application.writeWorkloads();
    return application;
  }

  /** Allows no other numbers of replicas than those that run: every plan is carried out at once. */
  async fixReplicas(): Promise<void> {
    const bounds = Object.entries(this.replicas).map(
      ([name, count]) => `  - { name: ${name}, minReplicas: ${count}, maxReplicas: ${count} }\n`,
    );
    await writeFile(this.config, `${CONFIG}services:\n${bounds.join("")}`);
  }

  get config(): string {
    return join(this.directory, "app.yaml");
  }

  get workloads(): string {
    return join(this.directory, "workloads.json");
  }

  get state(): string {
    return join(this.directory, "state");
  }

  /** Options of a predictor of this application that plans every second. */
  predictorOptions(more: Partial<PredictorOptionsInput> = {}): PredictorOptionsInput {
    return {
      config: this.config,
      listen: "127.0.0.1:0",
      otlpListen: "127.0.0.1:0",
      agents: [this.agent.url],
      workloads: this.workloads,
      windowSeconds: 1,
      graceSeconds: 0.2,
      agentPollMs: 100,
      workloadsPollMs: 30,
      logLevel: "silent",
      ...more,
    };
  }

  async writeWorkloads(text?: string): Promise<void> {
    await writeFile(`${this.workloads}.new`, text ?? JSON.stringify(this.list()));
    await rename(`${this.workloads}.new`, this.workloads);
  }

  /** Sends traces of `GET /` that end now: the frontend calls geo, which takes most of the time. */
  async sendTraces(otlp: string, count: number, totalMs: number): Promise<void> {
    const endNs = BigInt(Date.now()) * 1_000_000n;
    const ns = (ms: number): bigint => BigInt(Math.round(ms * 1e6));
    const spans = { frontend: [] as object[], geo: [] as object[] };
    for (let index = 0; index < count; index += 1) {
      this.traces += 1;
      const traceId = this.traces.toString(16).padStart(32, "a");
      const id = (kind: number): string => (this.traces * 16 + kind).toString(16).padStart(16, "b");
      const span = (kind: number, parent: number | undefined, spanKind: number, inset: number): object => ({
        traceId,
        spanId: id(kind),
        ...(parent !== undefined && { parentSpanId: id(parent) }),
        name: "GET /",
        kind: spanKind,
        startTimeUnixNano: String(endNs - ns(totalMs - inset)),
        endTimeUnixNano: String(endNs - ns(inset)),
      });
      spans.frontend.push(span(1, undefined, 2, 0), span(2, 1, 3, 1));
      spans.geo.push(span(3, 2, 2, 2));
    }
    const resourceSpans = Object.entries(spans).map(([service, list]) => ({
      resource: { attributes: [{ key: "service.name", value: { stringValue: service } }] },
      scopeSpans: [{ spans: list }],
    }));
    await post(otlp, resourceSpans);
  }

  /** Sends a probe of the frontend that was answered just now, as instrumentation does that does not note who asks. */
  async sendProbe(otlp: string, path: string): Promise<void> {
    this.traces += 1;
    const endNs = BigInt(Date.now()) * 1_000_000n;
    const span = {
      traceId: this.traces.toString(16).padStart(32, "c"),
      spanId: this.traces.toString(16).padStart(16, "d"),
      name: `GET ${path}`,
      kind: 2,
      startTimeUnixNano: String(endNs - 1_000_000n),
      endTimeUnixNano: String(endNs),
    };
    const attributes = [{ key: "service.name", value: { stringValue: "frontend" } }];
    await post(otlp, [{ resource: { attributes }, scopeSpans: [{ spans: [span] }] }]);
  }

  async stop(): Promise<void> {
    await this.agent.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  private pods(): { service: string; id: string }[] {
    return Object.entries(this.replicas).flatMap(([service, count]) =>
      Array.from({ length: count }, (_, pod) => ({ service, id: `${service}-${pod}` })),
    );
  }

  private snapshot(): unknown {
    const nowMs = Date.now();
    const usageSecondsTotal = ((performance.now() - this.startedMs) / 1e3) * this.podUsageCores;
    return snapshot(
      this.pods().map(({ id }) => ({ id, sampledAtMs: nowMs, cpu: { usageSecondsTotal, limitCores: 0.5 } })),
      { takenAtMs: nowMs },
    );
  }

  private list(): WorkloadList {
    return {
      schema: WORKLOADS_SCHEMA,
      observedAtMs: Date.now(),
      workloads: Object.entries(this.replicas).map(([service, count]) => ({
        namespace: "default",
        kind: "Deployment",
        name: service,
        service,
        replicasWanted: count,
        replicasReady: count,
        revision: this.revision,
        probePaths: [...this.probePaths],
        pods: Array.from({ length: count }, (_, pod) => ({
          uid: `uid-${service}-${pod}`,
          name: `${service}-${pod}`,
          node: "node-1",
          ready: true,
          revision: this.revision,
          startedAtMs: this.startedAtMs - 60_000,
          containers: [{ id: `${service}-${pod}`, name: "main" }],
        })),
      })),
    };
  }
}

async function post(otlp: string, resourceSpans: readonly object[]): Promise<void> {
  const answer = await fetch(`${otlp}/v1/traces`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceSpans }),
  });
  if (!answer.ok) throw new Error(`OTLP answered ${answer.status}`);
  await answer.arrayBuffer();
}
