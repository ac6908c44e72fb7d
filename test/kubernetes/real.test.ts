import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { CRD_PATH } from "@tradewind/kubernetes/crd/crd-file.ts";
import { ApplicationStatus } from "@tradewind/kubernetes/crd/status.ts";
import { LeaderElector } from "@tradewind/kubernetes/election/elector.ts";
import { BLOCKS, LEASE_NAME, rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import type { Scope } from "@tradewind/kubernetes/client/rights.ts";
import { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";
import { runningExporter } from "../exporter/running-exporter.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { waitUntil } from "../wait-until.ts";
import { deployment, podOf, replicaSet, STARTED } from "./cluster-objects.ts";
import type { KubeObject } from "./fake-objects.ts";
import { kubebuilderAssets, startRealApiServer } from "./real-api-server.ts";
import type { RealApiServer } from "./real-api-server.ts";
import { silentLog } from "./silent-log.ts";

const assets = kubebuilderAssets();
const RBAC = "rbac.authorization.k8s.io";
const rbac = (plural: string, kind: string, namespaced: boolean): Resource => ({
  group: RBAC,
  version: "v1",
  plural,
  kind,
  namespaced,
});

let server: RealApiServer;
let admin: ApiClient;

const create = async (resource: Resource, object: KubeObject) => {
  const { metadata } = object;
  const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
  // The server gives uids itself.
  const { uid: _uid, creationTimestamp: _time, ...named } = metadata;
  return z
    .looseObject({ metadata: z.looseObject({ name: z.string(), uid: z.string() }) })
    .parse(await admin.create({ resource, namespace: metadata.namespace }, { ...body, metadata: named }));
};
const setStatus = async (
  resource: Resource,
  { metadata: { name, namespace } }: KubeObject,
  status: unknown,
) => admin.patch({ resource, namespace, name, subresource: "status" }, "merge", { status });
const failure = async (work: Promise<unknown>): Promise<ApiError> => {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
};

/** The part of a foreign definition that is used here; the rest is kept as it comes. */
function definition({ group, kind, plural, version }: Resource): KubeObject {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    metadata: {
      name: `${plural}.${group}`,
      // Groups of the project itself ask for this.
      annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
    },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } },
        },
      ],
    },
  };
}

/** Gives an account exactly what the table says, through real roles. */
async function grantTable(account: "predictor" | "scaler"): Promise<void> {
  const grant = async (scope: Scope, prefix: "" | "Cluster", namespace?: string): Promise<void> => {
    const metadata = { name: `tradewind-${account}-${scope}`, ...(namespace !== undefined && { namespace }) };
    const kindOf = (name: string): Resource =>
      rbac(`${prefix}${name}s`.toLowerCase(), `${prefix}${name}`, namespace !== undefined);
    await create(kindOf("Role"), { metadata, rules: rulesFor(account, scope, BLOCKS) });
    await create(kindOf("RoleBinding"), {
      metadata,
      roleRef: { apiGroup: RBAC, kind: `${prefix}Role`, name: metadata.name },
      subjects: [{ apiGroup: RBAC, kind: "User", name: `tradewind-${account}` }],
    });
  };
  await grant("watched", "", "shop");
  await grant("own", "", "tradewind");
  await grant("cluster", "Cluster");
}

describe.skipIf(assets === undefined)("a real API server", () => {
  beforeAll(async () => {
    server = await startRealApiServer(assets ?? "");
    admin = new ApiClient(server.connection("admin"));
    for (const name of ["shop", "tradewind"]) await create(RESOURCES.namespaces, { metadata: { name } });
    const crd = parse(readFileSync(CRD_PATH, "utf8")) as KubeObject;
    await create(RESOURCES.customResourceDefinitions, crd);
    await create(RESOURCES.customResourceDefinitions, definition(RESOURCES.verticalPodAutoscalers));
    await grantTable("predictor");
    await grantTable("scaler");
    const isServed = async (resource: Resource): Promise<boolean> =>
      admin.call({ resource, namespace: "shop", verb: "list" }).then(
        () => true,
        () => false,
      );
    await waitUntil(
      async () =>
        (await isServed(RESOURCES.applications)) && (await isServed(RESOURCES.verticalPodAutoscalers)),
    );
  }, 120_000);

  afterAll(async () => {
    await admin?.close();
    await server?.stop();
  });

  const clientOf = (user: "predictor" | "scaler"): ApiClient => {
    const client = new ApiClient(server.connection(user));
    onTestFinished(async () => client.close());
    return client;
  };
  const scaler = (): ApiClient => clientOf("scaler");

  describe("with the Application definition", () => {
    it("takes the smallest application, fills in the same defaults as the configuration file, and gives it back", async () => {
      const spec = { entry: "web", objective: { milliseconds: 250 }, services: [{ name: "web" }] };
      const stored = await create(RESOURCES.applications, {
        metadata: { name: "small", namespace: "shop" },
        spec,
      });
      const parsed = parseApplication(
        { ...(stored["spec"] as object), name: "small", namespace: "shop" },
        "small",
      );
      expect(parsed).toEqual(parseApplication({ ...spec, name: "small", namespace: "shop" }, "small"));
      expect(stored["spec"]).toMatchObject({
        mode: "observe",
        services: [{ minReplicas: 1, cpu: { stepCores: 0.2 } }],
      });
      const crd = await admin.call({
        resource: RESOURCES.customResourceDefinitions,
        name: "applications.tradewind.dev",
        verb: "get",
      });
      const types = (crd as { status: { conditions: { type: string; status: string }[] } }).status.conditions;
      expect(
        types
          .filter(({ status }) => status === "True")
          .map(({ type }) => type)
          .sort(),
      ).toEqual(["Established", "NamesAccepted"]);
    });

    it.each([
      [
        "a negative objective",
        { objective: { milliseconds: -1 } },
        /spec\.objective\.milliseconds.*greater than 0/,
      ],
      ["a percentile of 1", { objective: { milliseconds: 1, percentile: 1 } }, /percentile.*less than 1/],
      ["an unknown mode", { mode: "guess" }, /spec\.mode: Unsupported value: "guess"/],
      [
        "bounds turned round",
        { services: [{ name: "a", minReplicas: 5, maxReplicas: 2 }] },
        /minReplicas must not be above maxReplicas/,
      ],
      [
        "CPU turned round",
        { services: [{ name: "a", cpu: { minCores: 9 } }] },
        /cpu\.minCores must not be above cpu\.maxCores/,
      ],
      [
        "memory turned round",
        { services: [{ name: "a", memory: { maxBytes: 1 } }] },
        /memory\.minBytes must not be above memory\.maxBytes/,
      ],
      [
        "a budget below the minimum",
        { budget: { pods: 1 }, services: [{ name: "a" }, { name: "b" }] },
        /budget\.pods must not be below the sum/,
      ],
      ["no entry", { entry: undefined }, /entry is missing: name the service that users call/],
      ["no objective", { objective: undefined }, /the objective of all routes that none.*is given once/],
      [
        "two objectives of all other routes",
        { objectives: [{ milliseconds: 9 }] },
        /the objective of all routes that none.*is given once/,
      ],
      [
        "an objective of a route that says nothing",
        { objectives: [{ route: "GET /" }] },
        /an objective needs one of milliseconds: 250, exclude: true and stream: true/,
      ],
      [
        "an excluded route without a name",
        { objectives: [{ exclude: true }] },
        /exclude, stream and weight are of a route: add route/,
      ],
      [
        "an excluded route with a weight",
        { objectives: [{ route: "GET /", exclude: true, weight: 2 }] },
        /percentile and weight go with milliseconds/,
      ],
      [
        "a service twice",
        { services: [{ name: "a" }, { name: "a" }] },
        /spec\.services\[1\]: Duplicate value/,
      ],
      [
        "a name with a control character",
        { services: [{ name: "a\u0007" }] },
        /services\[0\]\.name.*should match/,
      ],
    ])(
      "refuses %s in words that a person can act on, as the file's reader does",
      async (_what, changes, message) => {
        const spec = { entry: "web", objective: { milliseconds: 250 }, ...changes };
        const error = await failure(
          create(RESOURCES.applications, { metadata: { name: "bad", namespace: "shop" }, spec }),
        );
        expect(error.status).toBe(422);
        expect(error.message).toMatch(message);
        expect(() =>
          parseApplication({ ...JSON.parse(JSON.stringify(spec)), name: "bad", namespace: "shop" }, "bad"),
        ).toThrow(/^bad/);
      },
    );
  });

  it("behaves in lists, watches, conflicts and refusals as the fake does", async () => {
    const place = { resource: RESOURCES.services, namespace: "shop" };
    for (let index = 0; index < 5; index += 1) {
      await create(RESOURCES.services, {
        metadata: { name: `page-${index}`, namespace: "shop" },
        spec: { ports: [{ port: 80 }], clusterIP: "None" },
      });
    }
    const Page = z.object({
      metadata: z.object({ continue: z.string().optional(), resourceVersion: z.string() }),
      items: z.array(z.unknown()),
    });
    const first = Page.parse(await admin.call({ ...place, verb: "list", query: { limit: 2 } }));
    expect(first.items).toHaveLength(2);
    const second = Page.parse(
      await admin.call({ ...place, verb: "list", query: { limit: 9, continue: first.metadata.continue } }),
    );
    expect([second.items.length, second.metadata.continue ?? ""]).toEqual([3, ""]);

    // The kind is younger than version 1, so that nothing is known of it from then on.
    const applications = { resource: RESOURCES.applications, namespace: "shop" };
    const lines: string[] = [];
    const query = { resourceVersion: "1", timeoutSeconds: 5 };
    for await (const chunk of admin.watch(applications, query, { signal: AbortSignal.timeout(10_000) })) {
      lines.push(Buffer.from(chunk).toString("utf8"));
    }
    expect(JSON.parse(lines.join(""))).toMatchObject({
      type: "ERROR",
      object: { code: 410, reason: "Expired" },
    });

    const read = await admin.get(
      { ...place, name: "page-0" },
      z.looseObject({ metadata: z.looseObject({}) }),
    );
    await admin.patch({ ...place, name: "page-0" }, "merge", { metadata: { labels: { a: "b" } } });
    expect((await failure(admin.update({ ...place, name: "page-0" }, read))).isConflict).toBe(true);
    expect(
      (
        await failure(
          create(RESOURCES.services, {
            metadata: { name: "page-0", namespace: "shop" },
            spec: { ports: [{ port: 80 }] },
          }),
        )
      ).isConflict,
    ).toBe(true);
    expect((await failure(scaler().call({ ...place, verb: "list" }))).isForbidden).toBe(true);
    expect(
      (await failure(admin.call({ resource: RESOURCES.scaledObjects, namespace: "shop", verb: "list" })))
        .isMissing,
    ).toBe(true);
  });

  it("shows every change of workloads to the watch, with the predictor's rights", async () => {
    const client = clientOf("predictor");
    const watch = new ClusterWatch({
      client,
      namespaces: ["shop"],
      scaledObjects: true,
      capacity: true,
      log: silentLog,
      clock: systemClock,
    });
    onTestFinished(async () => watch.stop());
    watch.start();
    const list = () => watch.workloads(() => undefined, 60_000);
    await waitUntil(() => list() !== undefined);
    const web = deployment("web", { env: [{ name: "OTEL_SERVICE_NAME", value: "frontend" }] });
    const { metadata } = await create(RESOURCES.deployments, web);
    await waitUntil(() => list()?.workloads[0]?.service === "frontend");
    const owner = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: "web",
      uid: metadata.uid,
      controller: true,
    };
    const owned = replicaSet("web-abc12", "web");
    const made = await create(RESOURCES.replicaSets, {
      metadata: { ...owned.metadata, ownerReferences: [owner] },
      spec: {
        selector: { matchLabels: { app: "web" } },
        template: (web.spec as { template: object }).template,
      },
    });
    const pod = podOf("web", 0, {
      requests: { cpu: "250m" },
      owner: { kind: "ReplicaSet", name: "web-abc12", uid: made.metadata.uid },
    });
    await create(RESOURCES.pods, pod);
    await setStatus(RESOURCES.pods, pod, pod.status);
    await waitUntil(() => list()?.workloads[0]?.pods[0]?.ready === true);
    expect(list()?.workloads[0]?.pods[0]?.containers).toEqual([
      {
        id: "containerd://web-abc12-0-main",
        name: "main",
        startedAtMs: Date.parse(STARTED),
        cpuRequestCores: 0.25,
      },
    ]);
    await admin.remove({ resource: RESOURCES.deployments, namespace: "shop", name: "web" });
    await waitUntil(() => list()?.workloads.length === 0);
    expect(watch.health().filter(({ problem }) => problem !== undefined)).toEqual([]);
    expect(
      watch
        .health()
        .filter(({ absent }) => absent)
        .map(({ resource }) => resource),
    ).toEqual(["rollouts", "scaledobjects", "nodepools"]);
  });

  it("passes the lease on when its holder dies", async () => {
    const elector = (identity: string) => {
      const made = new LeaderElector({
        client: scaler(),
        namespace: "tradewind",
        name: LEASE_NAME,
        identity,
        clock: systemClock,
        rng: Math.random,
        log: silentLog,
        timings: { leaseSeconds: 2, renewDeadlineMs: 1_500, retryMs: 200 },
        lead: async (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
      });
      onTestFinished(async () => made.stop());
      made.start();
      return made;
    };
    const a = elector("a");
    await waitUntil(() => a.isLeader);
    const b = elector("b");
    await a.stop();
    await waitUntil(() => b.isLeader);
    const lease = await admin.get(
      { resource: RESOURCES.leases, namespace: "tradewind", name: LEASE_NAME },
      z.looseObject({ spec: z.looseObject({}) }),
    );
    expect(lease.spec).toMatchObject({ holderIdentity: "b" });
  });

  it("takes status, events, VPA recommendations and resizes from a leading exporter with the table's rights", async () => {
    const search = deployment("search", { requests: { cpu: "200m", memory: "128Mi" } });
    const { metadata } = await create(RESOURCES.deployments, search);
    const made = await create(RESOURCES.replicaSets, {
      metadata: {
        name: "search-abc12",
        namespace: "shop",
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "Deployment", name: "search", uid: metadata.uid, controller: true },
        ],
      },
      spec: {
        selector: { matchLabels: { app: "search" } },
        template: (search.spec as { template: object }).template,
      },
    });
    const pod = podOf("search", 0, {
      requests: { cpu: "200m", memory: "128Mi" },
      limits: { cpu: "400m", memory: "160Mi" },
      owner: { kind: "ReplicaSet", name: "search-abc12", uid: made.metadata.uid },
    });
    await create(RESOURCES.pods, pod);
    await setStatus(RESOURCES.pods, pod, pod.status);
    await create(RESOURCES.applications, {
      metadata: { name: "hotel", namespace: "shop" },
      spec: { entry: "search", objective: { milliseconds: 200 } },
    });
    const target = { apiVersion: "apps/v1", kind: "Deployment", name: "search" };
    await create(RESOURCES.verticalPodAutoscalers, {
      metadata: { name: "search", namespace: "shop" },
      spec: { targetRef: target, recommenders: [{ name: "tradewind" }], updatePolicy: { updateMode: "Off" } },
    });
    const plan = (sequence: number, replicas: number) =>
      planOf([wishOf({ confidence: 0.9, allocation: { replicas, cpuCores: 0.6, memoryBytes: 200e6 } })], {
        sequence,
        mode: "act",
        windowSeconds: 15,
      });
    const { predictor, metrics } = await runningExporter(
      plan(1, 5),
      {
        cluster: {
          status: true,
          events: true,
          vpa: true,
          inPlaceResize: true,
          identity: "x",
          namespace: "tradewind",
          reconcileMs: 200,
        },
      },
      {
        cluster: {
          connection: server.connection("scaler"),
          election: { leaseSeconds: 2, renewDeadlineMs: 1_500, retryMs: 200 },
        },
      },
    );
    const any = z.looseObject({});
    const read = async (resource: Resource, name: string) =>
      admin.get({ resource, namespace: "shop", name }, any);
    await waitUntil(
      async () => (await read(RESOURCES.applications, "hotel"))["status"] !== undefined,
      20_000,
    );
    await waitUntil(
      async () => (await read(RESOURCES.verticalPodAutoscalers, "search"))["status"] !== undefined,
      20_000,
    );
    expect(await read(RESOURCES.verticalPodAutoscalers, "search")).toMatchObject({
      status: {
        recommendation: {
          containerRecommendations: [{ containerName: "main", target: { cpu: "300m", memory: "191Mi" } }],
        },
        conditions: [{ type: "RecommendationProvided", status: "True" }],
      },
    });
    // While a VPA names the workload its pods are not resized directly, whatever its mode.
    const vpa = { resource: RESOURCES.verticalPodAutoscalers, namespace: "shop", name: "search" };
    await admin.remove(vpa);
    await waitUntil(async () => {
      const { spec } = (await read(RESOURCES.pods, "search-abc12-0")) as {
        spec?: { containers: { resources: { requests: Record<string, string>; limits: object } }[] };
      };
      const { resources } = spec?.containers[0] ?? {};
      if (resources?.requests["cpu"] !== "300m") return false;
      // 200 MB and 190.7 MiB are the same; a Burstable pod's request stays under its limit.
      expect(resources).toEqual({
        requests: { cpu: "300m", memory: "189Mi" },
        limits: { cpu: "600m", memory: "191Mi" },
      });
      return true;
    }, 20_000);
    predictor.serve(plan(2, 9));
    await waitUntil(async () => {
      const { items } = (await admin.call({
        resource: RESOURCES.events,
        namespace: "shop",
        verb: "list",
      })) as { items: { reason: string }[] };
      return items.some(({ reason }) => reason === "ReplicasRecommended");
    }, 20_000);
    await waitUntil(
      async () =>
        ((await read(RESOURCES.applications, "hotel"))["status"] as { replicas?: string })?.replicas ===
        "3 → 9",
      20_000,
    );
    const stored = (await read(RESOURCES.applications, "hotel"))["status"];
    expect(ApplicationStatus.parse(stored).services[0]?.workload).toEqual({
      kind: "Deployment",
      name: "search",
    });
    expect(await metrics()).not.toMatch(/tradewind_kubernetes_requests_total\{[^}]*code="403"/);
  }, 60_000);
});
