import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { exporterProcess } from "../exporter/exporter-process.ts";
import type { ExporterProcess } from "../exporter/exporter-process.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import type { FakePredictor } from "../exporter/fake-predictor.ts";
import { until } from "../exporter/until.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { freePort } from "../free-port.ts";
import { create } from "./create.ts";
import type { ControlPlane } from "./control-plane.ts";
import { measured } from "./measured.ts";

/** How often KEDA asks whether a workload is active: 30 s unless a ScaledObject says otherwise. */
export const POLL_SECONDS = 2;

/** Decisions pass as they are: what the guard changes is not the matter here. */
const NO_GUARD = ["--restart-grace=0s", "--max-growth=1000", "--min-share=0.01", "--scale-to-zero"];

/** In each direction at once and exactly; otherwise as docs/keda.md has it. */
const BEHAVIOR = {
  scaleUp: {
    tolerance: "0",
    stabilizationWindowSeconds: 0,
    policies: [{ type: "Pods", value: 1_000, periodSeconds: 1 }],
  },
  scaleDown: { tolerance: "0", stabilizationWindowSeconds: 0 },
};

/** Longest wait for anything in the cluster, on a machine that is busy with other tests. */
const PATIENCE_MS = 240_000;
const LOOK_MS = 200;

const Deployments = z.object({
  items: z.array(
    z.object({ metadata: z.object({ name: z.string() }), spec: z.object({ replicas: z.number() }) }),
  ),
});
const Conditions = z
  .array(z.object({ type: z.string(), status: z.string(), reason: z.string().optional() }))
  .default([]);
const Scaled = z.object({
  status: z.object({ conditions: Conditions }).default({ conditions: [] }),
});
const Hpa = Scaled.extend({
  spec: z.object({
    metrics: z
      .array(
        z.object({
          type: z.string(),
          external: z.object({ metric: z.object({ name: z.string() }) }).optional(),
        }),
      )
      .default([]),
  }),
});

/** Waits for a condition with patience. */
export const eventually = async (what: string, ask: () => Promise<boolean | undefined>): Promise<boolean> =>
  until(what, ask, PATIENCE_MS);

/** A namespace of a real cluster with a real exporter that follows a predictor: one whose numbers a test sets, or a real one. */
export class Stage {
  readonly namespace: string;
  readonly api: ApiClient;
  /** Where the scaler listens, now or later. */
  readonly grpcPort: number;
  readonly state: string;
  readonly #predictor: Pick<FakePredictor, "url">;
  readonly #wanted = new Map<string, number>();
  #plans = 0;

  private constructor(
    api: ApiClient,
    place: { namespace: string; grpcPort: number; state: string },
    predictor: Pick<FakePredictor, "url">,
  ) {
    this.api = api;
    this.namespace = place.namespace;
    this.grpcPort = place.grpcPort;
    this.state = place.state;
    this.#predictor = predictor;
  }

  /** Its predictor asks for what the test wants. Everything is removed with the test. */
  static async open({ api }: ControlPlane, namespace: string): Promise<Stage> {
    const predictor = await fakePredictor();
    onTestFinished(async () => predictor.stop());
    const stage = new Stage(api, await placeOf(api, namespace), predictor);
    predictor.behave((_request, response) => {
      response.end(JSON.stringify(stage.#plan()));
    });
    return stage;
  }

  /** Its predictor is a real one, which plans the application by what the cluster shows; nothing calls the services. */
  static async openPlanned(
    { api, kubeconfig }: ControlPlane,
    namespace: string,
    application: object,
  ): Promise<Stage> {
    const place = await placeOf(api, namespace);
    const config = join(place.state, "application.json");
    await writeFile(config, JSON.stringify({ name: namespace, namespace, ...application }));
    const predictor = await startPredictor({
      config,
      workloads: "kubernetes",
      kubeconfig,
      listen: "127.0.0.1:0",
      otlpListen: "127.0.0.1:0",
      windowSeconds: 1,
      graceSeconds: 0.1,
      logLevel: "silent",
    });
    onTestFinished(async () => predictor.stop());
    return new Stage(api, place, { url: predictor.addresses["http"] ?? "" });
  }

  #plan(): object {
    this.#plans += 1;
    const wishes = [...this.#wanted].map(([service, replicas]) => {
      const wish = wishOf({ service, namespace: this.namespace, allocation: { replicas } });
      return { ...wish, bounds: { ...wish.bounds, minReplicas: 0, maxReplicas: 1_000 } };
    });
    return planOf(wishes, { namespace: this.namespace, sequence: this.#plans });
  }

  /** What the predictor wants from its next plan on. */
  want(replicas: number, ...services: readonly string[]): void {
    for (const service of services) this.#wanted.set(service, replicas);
  }

  /** Starts the scaler on its port, and waits until it serves what is wanted. */
  async startScaler(...flags: readonly string[]): Promise<ExporterProcess> {
    const listen = `--grpc-listen=127.0.0.1:${this.grpcPort}`;
    const scaler = await exporterProcess(this.#predictor, this.state, listen, ...NO_GUARD, ...flags);
    await this.served(scaler);
    return scaler;
  }

  /** Waits until the scaler serves what is wanted, so that times measured from then on are Kubernetes' own. */
  async served(scaler: ExporterProcess): Promise<void> {
    await eventually("the scaler serves what the predictor wants", async () => {
      const { recommendations } = await scaler.list();
      const replicas = new Map(recommendations.map((each) => [each.service, each.replicas]));
      return [...this.#wanted].every(([service, wanted]) => replicas.get(service) === wanted);
    });
  }

  /** Waits until the scaler is asked for a metric the next time, by a ScaledObject that KEDA polls seldom: by its HPA, which syncs then. */
  async untilAsked(scaler: ExporterProcess): Promise<void> {
    const asked = async (): Promise<number> => {
      const text = await (await fetch(`${scaler.http}/metrics`)).text();
      const counts = [
        ...text.matchAll(/^tradewind_keda_rpc_duration_seconds_count\{[^}]*GetMetrics"[^}]*\} (\d+)$/gm),
      ];
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const before = await asked();
    await eventually("the HPA asks", async () => (await asked()) > before);
  }

  /** A Deployment of one container; its pods are called ready, nothing runs. */
  async deploy(name: string, replicas = 1): Promise<void> {
    const labels = { app: name };
    const container = { name: "main", image: "main", resources: { requests: { cpu: "100m" } } };
    await create(this.api, RESOURCES.deployments, {
      metadata: { name, namespace: this.namespace },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    });
  }

  /** A ScaledObject over the Deployment of the same name with this scaler as its only trigger. */
  async scale(name: string, changes: { spec?: object; trigger?: object } = {}): Promise<void> {
    const metadata = { scalerAddress: `127.0.0.1:${this.grpcPort}`, service: name };
    await create(this.api, RESOURCES.scaledObjects, {
      metadata: { name, namespace: this.namespace },
      spec: {
        scaleTargetRef: { name },
        pollingInterval: POLL_SECONDS,
        cooldownPeriod: POLL_SECONDS,
        minReplicaCount: 1,
        maxReplicaCount: 100,
        advanced: { horizontalPodAutoscalerConfig: { behavior: BEHAVIOR } },
        triggers: [{ type: "external", metadata, ...changes.trigger }],
        ...changes.spec,
      },
    });
  }

  /** `spec.replicas` of all Deployments, by name. */
  async replicas(): Promise<ReadonlyMap<string, number>> {
    const place = { resource: RESOURCES.deployments, namespace: this.namespace };
    const { items } = Deployments.parse(await this.api.call({ ...place, verb: "list" }));
    return new Map(items.map(({ metadata, spec }) => [metadata.name, spec.replicas]));
  }

  /** Names of the metrics that KEDA's HPA of a ScaledObject asks for; `cpu` for a resource. */
  async hpaMetrics(name: string): Promise<string[]> {
    const hpa = await this.#get(RESOURCES.horizontalPodAutoscalers, `keda-hpa-${name}`, Hpa);
    return hpa.spec.metrics.map(({ type, external }) => external?.metric.name ?? type);
  }

  /** A condition of a ScaledObject's HPA, as `True`, or as `False` with its reason. */
  async hpaCondition(name: string, type: string): Promise<string | undefined> {
    return said(await this.#get(RESOURCES.horizontalPodAutoscalers, `keda-hpa-${name}`, Hpa), type);
  }

  /** Merges changes into an object. */
  async change(resource: Resource, name: string, changes: object): Promise<void> {
    await this.api.patch({ resource, namespace: this.namespace, name }, "merge", changes);
  }

  /** A condition of a ScaledObject. */
  async condition(name: string, type: string): Promise<string | undefined> {
    return said(await this.#get(RESOURCES.scaledObjects, name, Scaled), type);
  }

  /** Waits until Deployments are asked to run this many, and keeps how long it took. */
  async untilReplicas(what: string, wanted: Readonly<Record<string, number>>): Promise<void> {
    const startedMs = performance.now();
    const differing = async (): Promise<string[]> => {
      const seen = await this.replicas();
      return Object.entries(wanted)
        .filter(([name, replicas]) => seen.get(name) !== replicas)
        .map(([name, replicas]) => `${name} has ${seen.get(name)} of ${replicas}`);
    };
    for (;;) {
      const left = await differing();
      const elapsedMs = performance.now() - startedMs;
      if (left.length === 0) return measured(what, elapsedMs / 1_000);
      if (elapsedMs > PATIENCE_MS) throw new Error(`${what}: in vain, ${left.join(", ")}`);
      await delay(LOOK_MS);
    }
  }

  /** Looks at a Deployment until the returned function is called, which gives the counts that were seen, each once. */
  watchReplicas(name: string): () => Promise<number[]> {
    const seen = new Set<number>();
    const stopping = new AbortController();
    const look = async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        seen.add((await this.replicas()).get(name) ?? -1);
        await delay(LOOK_MS);
      }
    };
    const ended = look();
    return async () => {
      stopping.abort();
      await ended;
      return [...seen];
    };
  }

  async #get<Schema extends z.ZodType>(
    resource: Resource,
    name: string,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    return this.api.get({ resource, namespace: this.namespace, name }, schema);
  }
}

async function placeOf(
  api: ApiClient,
  namespace: string,
): Promise<Pick<Stage, "grpcPort" | "namespace" | "state">> {
  const state = await mkdtemp(join(tmpdir(), "tradewind-cluster-"));
  onTestFinished(async () => rm(state, { recursive: true, force: true }));
  await create(api, RESOURCES.namespaces, { metadata: { name: namespace } });
  onTestFinished(async () => api.remove({ resource: RESOURCES.namespaces, name: namespace }));
  return { namespace, grpcPort: await freePort(), state };
}

function said({ status }: z.infer<typeof Scaled>, type: string): string | undefined {
  const found = status.conditions.find((each) => each.type === type);
  if (found === undefined) return undefined;
  return found.status === "True" ? "True" : `${found.status} ${found.reason ?? ""}`.trim();
}
