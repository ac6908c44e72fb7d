import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { FollowedApplications } from "@tradewind/kubernetes/application/followed.ts";
import { applicationSources } from "@tradewind/kubernetes/application/sources.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { ResourceQuota } from "@tradewind/kubernetes/objects/capacity.ts";
import { PodDisruptionBudget } from "@tradewind/kubernetes/objects/disruption-budget.ts";
import { Owned } from "@tradewind/kubernetes/objects/metadata.ts";
import { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { allConfiguredNames } from "@tradewind/kubernetes/workloads/configured-names.ts";
import { workloadList } from "@tradewind/kubernetes/workloads/workload-list.ts";
import { SeveralApplications } from "@tradewind/predictor/run/applications.ts";
import { PredictorMetrics } from "@tradewind/predictor/run/process/metrics.ts";
import { PredictorOptions } from "@tradewind/predictor/run/process/options.ts";
import { NodeRoom } from "@tradewind/predictor/nodes/node-room.ts";
import { containerKey } from "@tradewind/predictor/sources/container-rates.ts";
import type { ContainerUse } from "@tradewind/predictor/sources/container-rates.ts";
import { readSections } from "@tradewind/predictor/sources/sources-config.ts";
import { SPAN_KIND, SpanBatch } from "@tradewind/predictor/window/span.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { onTestFinished } from "vitest";
import type { z } from "zod";
import { deployment, podOf, replicaSet } from "../../kubernetes/cluster-objects.ts";
import type { KubeObject } from "../../kubernetes/fake-objects.ts";
import { waitUntil } from "../../wait-until.ts";

const START_MS = 1_800_000_000_000;
const WINDOW_MS = 15_000;
const GRACE_MS = 1_000;
const PATIENCE_MS = 30_000;
const REQUESTS = 60;
/** Series of how long something took on the machine of the test. */
const TIMES = /duration|delay|age_seconds|timestamp/;

/** What a tenant may write, as the API server lists it. */
export interface Written {
  readonly applications?: readonly object[];
  readonly deployments?: readonly KubeObject[];
  readonly replicaSets?: readonly KubeObject[];
  readonly pods?: readonly KubeObject[];
  readonly scaledObjects?: readonly object[];
  readonly autoscalers?: readonly object[];
  readonly quotas?: readonly object[];
  readonly budgets?: readonly object[];
  /** Spans that it sends in each window: services, and for how long each works. */
  readonly spans?: readonly { readonly service: string; readonly namespace?: string; readonly ms: number }[];
}

/** All that one application is told, and all that is told of it. */
export interface Figures {
  readonly plan: unknown;
  readonly windows: unknown;
  readonly series: string;
  readonly lines: readonly string[];
  readonly problem: string | undefined;
  /** Services of other applications that are decided on before it. */
  readonly servicesBefore: number;
}

const SHOP_PODS: Readonly<Record<string, number>> = { frontend: 2, geo: 4 };
export const SHOP: Written = {
  applications: [
    { name: "hotel", namespace: "shop", entry: "frontend", mode: "act", objective: { milliseconds: 100 } },
  ],
  deployments: Object.entries(SHOP_PODS).map(([name, replicas]) => deployment(name, { replicas })),
  replicaSets: Object.keys(SHOP_PODS).map((name) => replicaSet(`${name}-abc12`, name)),
  pods: Object.entries(SHOP_PODS).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, index) => podOf(name, index, { requests: { cpu: "500m" } })),
  ),
};

const all = <Schema extends z.ZodType>(schema: Schema, objects: readonly object[]): z.output<Schema>[] =>
  objects.flatMap((each) => {
    const { data, success } = schema.safeParse(each);
    return success ? [data] : [];
  });

/** Two tenants of one predictor: `shop`, whose users wait, and `bank`, which comes later. Plans are made as in the process. */
export class TwoTenants {
  readonly #folder: string;
  readonly #lines: string[];
  readonly #applications: SeveralApplications;
  readonly #clock: { nowMs: number };
  #bank: Written = {};
  #windows = 0;
  #traces = 0;

  private constructor(
    folder: string,
    lines: string[],
    clock: { nowMs: number },
    make: (tenants: TwoTenants) => SeveralApplications,
  ) {
    this.#folder = folder;
    this.#lines = lines;
    this.#clock = clock;
    this.#applications = make(this);
  }

  static async start(state?: string): Promise<TwoTenants> {
    const folder = await mkdtemp(join(tmpdir(), "tradewind-tenants-"));
    onTestFinished(async () => rm(folder, { recursive: true, force: true }));
    const lines: string[] = [];
    const log = createLog("predictor", "info", {
      write: (line: string) => void lines.push(line.replace(/"time":"[^"]*",/, "")),
    });
    const time = { nowMs: START_MS };
    const clock: Clock = { nowMs: () => time.nowMs, monotonicMs: () => time.nowMs - START_MS };
    const options = {
      ...PredictorOptions.parse({ config: folder, policy: "queue", ...(state !== undefined && { state }) }),
      graceSeconds: GRACE_MS / 1e3,
      maxGraceSeconds: GRACE_MS / 1e3,
    };
    const sources = await applicationSources([folder]);
    const sections = await readSections(undefined);
    const tenants = new TwoTenants(folder, lines, time, (made) => {
      const shared = {
        options,
        sections,
        rates: { over: () => made.#uses() },
        nodes: new NodeRoom(),
        workloadProblem: () => undefined,
        metrics: new PredictorMetrics(),
        webhook: undefined,
        reasoner: undefined,
        clock,
        log,
        several: true,
      };
      let followed: FollowedApplications | undefined;
      const workloads = () => made.#workloads(followed?.planned() ?? []);
      return new SeveralApplications(
        { shared, workloads },
        (onChange) =>
          (followed = new FollowedApplications({ sources, clock, log, onChange, filesPollMs: 20 })),
      );
    });
    await tenants.#write(SHOP);
    await tenants.#applications.begin(undefined);
    onTestFinished(async () => tenants.stop());
    return tenants;
  }

  async stop(): Promise<void> {
    await this.#applications.stop();
  }

  /** `bank` writes this, in the place of all that it wrote before. */
  async bankWrites(written: Written): Promise<void> {
    this.#bank = written;
    const before = this.#applications.list().length;
    await this.#write(written);
    const count = before + (written.applications ?? []).length;
    await waitUntil(() => this.#applications.list().length === count, PATIENCE_MS, "applications are read");
    const planned = this.#applications.list().filter(({ state }) => state === "planned").length;
    await waitUntil(() => this.#applications.planned().length === planned, PATIENCE_MS, "they are planned");
  }

  async window(): Promise<void> {
    const startMs = START_MS + this.#windows * WINDOW_MS;
    const endMs = startMs + WINDOW_MS;
    this.#windows += 1;
    for (let request = 0; request < REQUESTS; request += 1) {
      const atMs = startMs + ((request + 0.5) * WINDOW_MS) / REQUESTS;
      this.#clock.nowMs = atMs + 500;
      this.#send(atMs);
    }
    this.#clock.nowMs = endMs + GRACE_MS;
    this.#applications.windowClosed();
    const window = { startMs, endMs, fromMs: startMs - START_MS, toMs: endMs - START_MS };
    for (const each of this.#applications.planned()) {
      const closed = { ...window, era: 0, repeated: false, stoodStillMs: 0 };
      await each.decide(closed, await each.gather(window), [], () => true);
    }
  }

  async figures(): Promise<Figures> {
    const planned = this.#applications.planned();
    const place = planned.findIndex(({ application }) => application.namespace === "shop");
    const shop = planned[place];
    const text = (await shop?.metrics.registry.metrics()) ?? "";
    return {
      plan: shop?.published.plan(),
      windows: shop?.published.windows(),
      series: text
        .split("\n")
        .filter((line) => !TIMES.test(line))
        .join("\n"),
      lines: this.#lines.filter((line) => line.includes("shop")),
      problem: this.#applications.list().find(({ namespace }) => namespace === "shop")?.problem,
      servicesBefore: planned
        .slice(0, place)
        .reduce((sum, { published }) => sum + (published.windows()?.windows.length ?? 0), 0),
    };
  }

  /** What each application is told of names that others have too. */
  names(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(
      this.#applications
        .list()
        .map(({ name = "", sharedNames = [] }) => [
          name,
          sharedNames.map(({ outcome, service }) => `${service} ${outcome}`),
        ]),
    );
  }

  missing(application: string): readonly string[] {
    const found = this.#applications.planned().find((each) => each.application.name === application);
    return found?.published.plan()?.missing ?? [];
  }

  /** Replicas that the newest plan of an application asks for, by service. */
  replicas(application: string): Readonly<Record<string, number>> {
    const found = this.#applications.planned().find((each) => each.application.name === application);
    const wishes = found?.published.plan()?.wishes ?? [];
    return Object.fromEntries(wishes.map(({ allocation, service }) => [service, allocation.replicas]));
  }

  async #write({ applications = [] }: Written): Promise<void> {
    for (const each of applications as { name: string; namespace: string }[])
      await writeFile(join(this.#folder, `${each.namespace}-${each.name}.json`), JSON.stringify(each));
  }

  /** The users of `shop` wait: a request takes 250 ms, most of them in geo, and no span of it states a namespace. */
  #send(atMs: number): void {
    const { spans = [] } = this.#bank;
    const batch = new SpanBatch();
    batch.clear(this.#clock.nowMs);
    const add = (
      resource: { service: string; namespace?: string | undefined },
      [id, parent]: readonly [number, number?],
      durationMs: number,
    ): void => {
      batch.add({
        traceId: this.#traces.toString(16).padStart(32, "a"),
        spanId: (this.#traces * 16 + id).toString(16).padStart(16, "b"),
        ...(parent !== undefined && {
          parentId: (this.#traces * 16 + parent).toString(16).padStart(16, "b"),
        }),
        resource,
        name: "GET /",
        kind: id === 2 ? SPAN_KIND.client : SPAN_KIND.server,
        startMs: atMs,
        durationMs,
      });
    };
    this.#traces += 1;
    add({ service: "frontend" }, [1], 250);
    add({ service: "frontend" }, [2, 1], 240);
    add({ service: "geo" }, [3, 2], 230);
    for (const { ms, namespace, service } of spans) {
      this.#traces += 1;
      add({ service, namespace }, [1], ms);
    }
    this.#applications.take(batch);
  }

  #workloads(applications: Parameters<typeof allConfiguredNames>[0]) {
    const [shop, bank] = [SHOP, this.#bank];
    const of = (part: Exclude<keyof Written, "spans">): readonly object[] => [
      ...(shop[part] ?? []),
      ...(bank[part] ?? []),
    ];
    return workloadList(
      {
        scalables: all(scalable("Deployment"), of("deployments")),
        replicaSets: all(Owned, of("replicaSets")),
        pods: all(Pod, of("pods")),
        horizontalPodAutoscalers: all(HorizontalPodAutoscaler, of("autoscalers")),
        scaledObjects: all(ScaledObject, of("scaledObjects")),
        quotas: all(ResourceQuota, of("quotas")),
        budgets: all(PodDisruptionBudget, of("budgets")),
        nodes: undefined,
      },
      allConfiguredNames(applications),
      this.#clock.nowMs,
    );
  }

  #uses(): Map<string, ContainerUse> {
    const ids = Object.entries(SHOP_PODS).flatMap(([name, count]) =>
      Array.from({ length: count }, (_, index) => `containerd://${name}-abc12-${index}-main`),
    );
    return new Map(
      ids.map((id) => [containerKey(id), { node: "node-1", cpuUsageCores: 0.3, cpuLimitCores: 0.5 }]),
    );
  }
}
