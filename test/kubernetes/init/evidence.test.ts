import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { initialise, InitRefusal } from "@tradewind/kubernetes/init/init.ts";
import type { InitOptions, InitResult } from "@tradewind/kubernetes/init/init.ts";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";

type Manifest = { readonly kind: string; readonly [field: string]: unknown };

const OPTIONS: InitOptions = {
  name: "shop",
  nameGiven: false,
  namespace: "shop",
  entry: undefined,
  objectiveMilliseconds: 250,
  exclude: [],
  include: [],
  scalerAddress: "tradewind-scaler.tradewind.svc.cluster.local:9813",
  vpa: true,
  accept: false,
};

interface WorkloadFacts {
  readonly kind?: string;
  /** Added to the only container. */
  readonly container?: object;
  readonly sidecars?: readonly object[];
  readonly volumes?: readonly object[];
  readonly spec?: object;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly replicas?: number;
}

const workload = (
  name: string,
  image: string,
  {
    annotations,
    container,
    kind = "Deployment",
    labels,
    replicas = 1,
    sidecars = [],
    spec,
    volumes,
  }: WorkloadFacts = {},
): Manifest => ({
  apiVersion: kind === "Rollout" ? "argoproj.io/v1alpha1" : "apps/v1",
  kind,
  metadata: { name },
  spec: {
    replicas,
    template: {
      metadata: { labels: { app: name, ...labels }, annotations },
      spec: { containers: [{ name: "main", image, ...container }, ...sidecars], volumes },
    },
    ...spec,
  },
});

const service = (name: string, port: number | object = 8080, spec: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: name }, ports: [typeof port === "number" ? { port } : port], ...spec },
});

/** A workload that is certainly a service, with a route to it. */
const WEB: readonly Manifest[] = [
  workload("shop", "acme/shop:1"),
  service("shop", 80, { type: "LoadBalancer" }),
];

async function write(
  manifests: readonly Manifest[],
  options: Partial<InitOptions> = {},
): Promise<InitResult> {
  const text = JSON.stringify({ kind: "List", items: manifests });
  const { found, notes } = await readManifests(["-"], "shop", async () => text);
  expect(notes).toEqual([]);
  return initialise(found, { ...OPTIONS, ...options });
}

/** What the tests look at of an object that was written. */
interface WrittenObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly entry: string;
    readonly services: readonly { readonly name: string; readonly workload?: object }[];
    readonly scaleTargetRef?: unknown;
    readonly advanced?: { readonly horizontalPodAutoscalerConfig: { readonly behavior: unknown } };
    readonly resourcePolicy?: { readonly containerPolicies: readonly unknown[] };
  };
}

const objectsIn = ({ files }: InitResult): WrittenObject[] =>
  files.flatMap(({ yaml }) =>
    parseAllDocuments(yaml).map((document) => (document as { toJS(): unknown }).toJS() as WrittenObject),
  );

const applicationIn = (result: InitResult): WrittenObject["spec"] => objectsIn(result)[0]!.spec;

/** Whether a workload is handed over, else why it is not. */
async function fateOf(name: string, manifests: readonly Manifest[]): Promise<string> {
  const result = await write([...WEB, ...manifests], { accept: true });
  const scaled = objectsIn(result).some(
    ({ kind, metadata }) => kind === "ScaledObject" && metadata.name === name,
  );
  const note = result.notes.find((each) => each.startsWith(`left out: ${name}: `));
  expect(scaled).toBe(note === undefined);
  return note?.slice(`left out: ${name}: `.length) ?? "taken";
}

const mount = (mountPath: string, readOnly = false) => ({
  volumeMounts: [{ name: "data", mountPath, readOnly }],
});
const onPort = (containerPort: number, name?: string) => ({ ports: [{ containerPort, name }] });
const claim = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
const scratch = [{ name: "data", emptyDir: {} }];
const claimWith = (mode: string): Manifest => ({
  kind: "PersistentVolumeClaim",
  metadata: { name: "data" },
  spec: { accessModes: [mode] },
});

describe("init takes workloads of others' kinds that /scale changes", () => {
  it.each([
    ["CloneSet", "apps.kruise.io/v1alpha1"],
    ["DeploymentConfig", "apps.openshift.io/v1"],
  ])("a %s, and says what lets it be read", async (kind, apiVersion) => {
    const web = { ...workload("web", "acme/web", { kind }), apiVersion };
    const written = await write([web, service("web", 80, { type: "LoadBalancer" })]);
    expect(applicationIn(written).services).toMatchObject([
      { name: "web", workload: { apiVersion, kind, name: "web" } },
    ]);
    const [, scaledObject, vpa] = objectsIn(written);
    expect(scaledObject?.spec.scaleTargetRef).toEqual({ apiVersion, kind, name: "web" });
    expect(vpa?.spec).toMatchObject({ targetRef: { apiVersion, kind, name: "web" } });
    expect(written.notes).toContain(
      `web is a ${kind} of ${apiVersion}: let Tradewind read that kind, by rbac.workloadKinds of the chart`,
    );
  });

  it("and leaves those of them alone that keep data", async () => {
    const clones = {
      ...workload("ledger", "acme/ledger", {
        kind: "CloneSet",
        spec: { volumeClaimTemplates: [{ metadata: { name: "data" } }] },
      }),
      apiVersion: "apps.kruise.io/v1alpha1",
    };
    expect(await fateOf("ledger", [clones, service("ledger")])).toMatch(/volume of its own/);
  });
});

describe("init leaves a workload alone", () => {
  it.each<[string, readonly Manifest[], RegExp]>([
    [
      "that is a StatefulSet",
      [workload("ledger", "acme/ledger:2", { kind: "StatefulSet" }), service("ledger")],
      /StatefulSet/,
    ],
    [
      "with a claim that one node can write",
      [
        workload("ledger", "acme/ledger", { container: mount("/srv"), volumes: claim }),
        service("ledger"),
        claimWith("ReadWriteOnce"),
      ],
      /the claim 'data' at \/srv/,
    ],
    [
      "with a claim that is not among the manifests",
      [workload("ledger", "acme/ledger", { container: mount("/srv"), volumes: claim }), service("ledger")],
      /the claim 'data'/,
    ],
    [
      "with a folder of its node",
      [
        workload("ledger", "acme/ledger", {
          container: mount("/srv"),
          volumes: [{ name: "data", hostPath: { path: "/mnt/ssd" } }],
        }),
        service("ledger"),
      ],
      /the node's folder \/mnt\/ssd/,
    ],
    [
      "with a volume where a database keeps its data",
      [
        workload("ledger", "acme/ledger", { container: mount("/var/lib/mysql"), volumes: scratch }),
        service("ledger"),
      ],
      /\/var\/lib\/mysql/,
    ],
    [
      "on a database's port, whatever its image is called",
      [workload("ledger", "acme/ledger", { container: onPort(5432) }), service("ledger")],
      /port 5432 is PostgreSQL's/,
    ],
    [
      "whose Service has a broker's port",
      [workload("ledger", "acme/ledger"), service("ledger", 5672)],
      /port 5672 is AMQP's/,
    ],
    [
      "with a variable of a server that keeps data",
      [
        workload("ledger", "acme/ledger", { container: { env: [{ name: "PGDATA", value: "/d" }] } }),
        service("ledger"),
      ],
      /PGDATA/,
    ],
    [
      "of a database's image under a registry with a port",
      [workload("ledger", "registry.local:5000/mirror/postgres:16@sha256:00"), service("ledger")],
      /keeps data/,
    ],
    [
      "of a database's image for one processor",
      [workload("ledger", "acme/mongodb-arm64"), service("ledger")],
      /keeps data/,
    ],
    [
      "of SQL Server's image, whose last part says little",
      [workload("ledger", "mcr.microsoft.com/mssql/server:2022"), service("ledger")],
      /keeps data/,
    ],
    [
      "with a database beside the program",
      [
        workload("ledger", "acme/ledger", { sidecars: [{ name: "db", image: "mariadb:11" }] }),
        service("ledger"),
      ],
      /'mariadb:11' keeps data/,
    ],
    [
      "called like a database where nothing in it answers HTTP",
      [workload("orders-db", "acme/seed"), service("orders-db", 7000)],
      /'orders-db' is called like a store of data/,
    ],
    [
      "whose image is called like a database, with Recreate",
      [
        workload("ledger", "acme/rs-mysql-db", { spec: { strategy: { type: "Recreate" } } }),
        service("ledger", { port: 80, name: "http" }),
      ],
      /Recreate/,
    ],
    [
      "called like a broker, on a port that is usual for it",
      [workload("kafka", "acme/all:3-kafka", { container: onPort(9092, "http") }), service("kafka", 9092)],
      /port 9092/,
    ],
    [
      "of a tracing backend",
      [workload("traces", "jaegertracing/all-in-one:1"), service("traces", 16_686)],
      /not part of what users ask for/,
    ],
    [
      "that takes telemetry by a port that is called so",
      [workload("fleet", "acme/fleet", { container: onPort(4320, "opamp") }), service("fleet", 4320)],
      /port 4320 takes or shows telemetry/,
    ],
    [
      "that others register with",
      [
        workload("acme-registry", "acme/registry-of-services"),
        service("acme-registry"),
        workload("cart", "acme/cart", {
          container: { env: [{ name: "REGISTRY_HOST", value: "acme-registry" }] },
        }),
        service("cart"),
      ],
      /register with it \(REGISTRY_HOST\)/,
    ],
    [
      "that makes load, though a Service leads to it",
      [workload("acme-loadtester", "acme/loadtester"), service("acme-loadtester")],
      /load generator/,
    ],
    [
      "with a database in a file of the pod",
      [
        workload("ledger", "acme/ledger", {
          container: { env: [{ name: "STORE", value: "/srv/app/ledger.sqlite3" }] },
        }),
        service("ledger"),
      ],
      /STORE names a database inside of the pod/,
    ],
    [
      "whose port is named after a database's protocol",
      [
        workload("ledger", "acme/ledger", { container: onPort(7000, "tcp-mysql") }),
        service("ledger", { port: 7000, name: "tcp" }),
      ],
      /it calls a port 'tcp-mysql'/,
    ],
    [
      "with a database in a file that an argument names",
      [
        workload("ledger", "acme/ledger", {
          container: { args: ["serve", "--store-uri=sqlite:////srv/ledger.db"] },
        }),
        service("ledger"),
      ],
      /an argument names a database inside of the pod/,
    ],
    [
      "with a database in a file that a connection string names",
      [
        workload("ledger", "acme/ledger", {
          container: { env: [{ name: "STORE", value: "Data Source=ledger.db;Cache=Shared" }] },
        }),
        service("ledger"),
      ],
      /STORE names a database inside of the pod/,
    ],
    [
      "that starts a server that keeps data, whatever its image is called",
      [
        workload("ledger", "acme/base", {
          container: { command: ["sh", "-c", "exec /usr/bin/mongod --port 7000"] },
        }),
        service("ledger", 7000),
      ],
      /it starts 'mongod'/,
    ],
    [
      "of an emulator of a cloud's store",
      [workload("ledger", "acme/cloud-store-emulator:1"), service("ledger", 7000)],
      /called like a store of data/,
    ],
    [
      "with a claim as a device",
      [
        workload("ledger", "acme/ledger", {
          container: { volumeDevices: [{ name: "data", devicePath: "/dev/xvda" }] },
          volumes: claim,
        }),
        service("ledger"),
      ],
      /the claim 'data' at \/dev\/xvda/,
    ],
    [
      "called like a database with the first user of one, though it answers HTTP",
      [
        workload("orders-mysql", "acme/orders", {
          container: {
            env: [{ name: "MYSQL_ROOT_PASSWORD", value: "x" }],
            readinessProbe: { httpGet: { path: "/" } },
          },
        }),
        service("orders-mysql", 80),
      ],
      /MYSQL_ROOT_PASSWORD is usual for it/,
    ],
    [
      "with a variable of a search engine's",
      [
        workload("find", "acme/find", {
          container: { env: [{ name: "discovery.type", value: "single-node" }] },
        }),
        service("find"),
      ],
      /discovery.type is a variable of a server/,
    ],
    [
      "whose label calls it a database where nothing in it answers HTTP",
      [
        workload("ledger", "acme/ledger", { labels: { "app.kubernetes.io/component": "database" } }),
        service("ledger", 7000),
      ],
      /'database' is called like a store of data/,
    ],
    [
      "of a mirror's image of a cache",
      [workload("ledger", "registry.local/bitnamilegacy/valkey:8"), service("ledger")],
      /keeps data/,
    ],
    [
      "of an image of a PostgreSQL operator's",
      [workload("ledger", "ghcr.io/zalando/spilo-16:3.2"), service("ledger")],
      /keeps data/,
    ],
    [
      "on the port of a directory",
      [workload("people", "acme/people"), service("people", { port: 636, name: "ldaps" })],
      /port 636 is LDAP's/,
    ],
    [
      "of a workflow engine",
      [workload("flows", "temporalio/auto-setup:1"), service("flows", 7233)],
      /not part of what users ask for/,
    ],
    [
      "that is an operator with a webhook",
      [
        workload("queue-operator", "acme/queue-operator", { container: onPort(9443) }),
        service("queue-operator", { port: 443, targetPort: 9443 }),
      ],
      /'queue-operator' is called like an operator/,
    ],
    [
      "whose Service leads to a port that its container calls a webhook's",
      [
        workload("rules", "acme/rules", { container: onPort(8443, "webhook-server") }),
        service("rules", { port: 443, targetPort: 8443 }),
      ],
      /leads to metrics or probes only/,
    ],
    [
      "that an operator's resource has made",
      [
        {
          ...workload("desk", "acme/desk"),
          metadata: {
            name: "desk",
            ownerReferences: [{ kind: "Kibana", name: "desk", uid: "1", controller: true }],
          },
        },
        service("desk"),
      ],
      /Kibana 'desk' made it and sets back what others change/,
    ],
    ["that nobody calls", [workload("batch", "acme/batch")], /no Service leads to it/],
    [
      "that is called for its metrics only",
      [workload("batch", "acme/batch"), service("batch", { port: 9100, name: "http-metrics" })],
      /metrics or probes only/,
    ],
  ])("%s", async (_what, manifests, reason) => {
    expect(
      await fateOf(
        manifests[0]!["metadata"] === undefined ? "" : (manifests[0]!["metadata"] as { name: string }).name,
        manifests,
      ),
    ).toMatch(reason);
  });
});

describe("init takes a workload", () => {
  it.each<[string, readonly Manifest[]]>([
    [
      "whose image's name has a tracing backend's as its end",
      [workload("order", "acme/order-with-jaeger:v1"), service("order")],
    ],
    [
      "whose name has a cache's in it",
      [workload("redis-cache-warmer", "acme/redis-cache-warmer"), service("redis-cache-warmer")],
    ],
    [
      "whose name has a database's in it",
      [workload("shop-mysql-api", "acme/shop-mysql-api"), service("shop-mysql-api")],
    ],
    [
      "called like a database that answers HTTP probes",
      [
        workload("user-db", "acme/user-db", { container: { readinessProbe: { httpGet: { path: "/" } } } }),
        service("user-db"),
      ],
    ],
    [
      "whose image is called like a product of somebody else",
      [workload("vault", "acme/vault"), service("vault")],
    ],
    [
      "with the strategy Recreate",
      [workload("page", "acme/page", { spec: { strategy: { type: "Recreate" } } }), service("page")],
    ],
    ["behind a headless Service", [workload("geo", "acme/geo"), service("geo", 9090, { clusterIP: "None" })]],
    [
      "with a claim that several nodes can write",
      [
        workload("page", "acme/page", { container: mount("/srv"), volumes: claim }),
        service("page"),
        claimWith("ReadWriteMany"),
      ],
    ],
    [
      "that only reads its claim",
      [workload("page", "acme/page", { container: mount("/srv", true), volumes: claim }), service("page")],
    ],
    [
      "with a file of configuration in a database's folder",
      [
        workload("page", "acme/page", {
          container: mount("/var/lib/mysql"),
          volumes: [{ name: "data", configMap: { name: "x" } }],
        }),
        service("page"),
      ],
    ],
    [
      "with a proxy to a database beside it",
      [
        workload("page", "acme/page", {
          sidecars: [
            { name: "sql", image: "gcr.io/cloud-sql-connectors/cloud-sql-proxy:2", ...onPort(5432) },
          ],
        }),
        service("page"),
      ],
    ],
    [
      "with an agent of a tracing backend beside it",
      [
        workload("page", "acme/page", {
          container: onPort(8080),
          sidecars: [{ name: "agent", image: "jaegertracing/jaeger-agent", ...onPort(6831) }],
        }),
        service("page"),
      ],
    ],
    [
      "called like an operator that others call",
      [workload("tour-operator", "acme/tour"), service("tour-operator")],
    ],
    [
      "that Flagger has made of another",
      [
        {
          ...workload("page-primary", "acme/page"),
          metadata: {
            name: "page-primary",
            ownerReferences: [{ kind: "Canary", name: "page", uid: "1", controller: true }],
          },
        },
        service("page-primary"),
      ],
    ],
    [
      "whose port speaks HTTP about a broker",
      [workload("page", "acme/page", { container: onPort(7000, "kafka-rest") }), service("page")],
    ],
    [
      "that waits for a server that keeps data before it starts",
      [
        workload("page", "acme/page", {
          container: {
            command: [
              "sh",
              "-c",
              "until mysqladmin ping; do sleep 1; done; ./page --cache redis-server:6379",
            ],
          },
        }),
        service("page"),
      ],
    ],
    ["that Dapr calls", [workload("add", "acme/add", { annotations: { "dapr.io/app-port": "6000" } })]],
  ])("%s", async (_what, manifests) => {
    expect(await fateOf((manifests[0]!["metadata"] as { name: string }).name, manifests)).toBe("taken");
  });
});

const hpa = (target: string, metrics: readonly object[], behavior?: object): Manifest => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: `${target}-hpa`, labels: { "argocd.argoproj.io/instance": "shop" } },
  spec: {
    scaleTargetRef: { kind: "Deployment", name: target },
    minReplicas: 2,
    maxReplicas: 12,
    metrics,
    behavior,
  },
});
const CPU = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } },
};
const QUEUE = {
  type: "External",
  external: { metric: { name: "backlog" }, target: { type: "AverageValue", averageValue: "30" } },
};

describe("what scales a workload now", () => {
  it.each<[string, readonly Manifest[], RegExp]>([
    [
      "an HPA on an external metric",
      [workload("jobs", "acme/jobs"), service("jobs"), hpa("jobs", [CPU, QUEUE])],
      /HPA 'jobs-hpa' by cpu 70 % of the request and external metric backlog at 30 a pod/,
    ],
    [
      "a ScaledObject with a queue's trigger",
      [
        workload("jobs", "acme/jobs"),
        service("jobs"),
        {
          kind: "ScaledObject",
          metadata: { name: "jobs" },
          spec: { scaleTargetRef: { name: "jobs" }, triggers: [{ type: "aws-sqs-queue", metadata: {} }] },
        },
      ],
      /ScaledObject 'jobs' by the trigger 'aws-sqs-queue'/,
    ],
    [
      "a ScaledObject with a query of what waits",
      [
        workload("jobs", "acme/jobs"),
        service("jobs"),
        {
          kind: "ScaledObject",
          metadata: { name: "jobs" },
          spec: {
            scaleTargetRef: { name: "jobs" },
            triggers: [{ type: "prometheus", metadata: { query: 'sum(kafka_consumergroup_lag{job="x"})' } }],
          },
        },
      ],
      /ScaledObject 'jobs' by the trigger 'prometheus'/,
    ],
    [
      "an HPA on what waits for each pod",
      [
        workload("jobs", "acme/jobs"),
        service("jobs"),
        hpa("jobs", [
          {
            type: "Pods",
            pods: { metric: { name: "rabbitmq_queue_messages" }, target: { averageValue: "5" } },
          },
        ]),
      ],
      /HPA 'jobs-hpa' by pods metric rabbitmq_queue_messages at 5 a pod/,
    ],
  ])("stays where it is %s", async (_what, manifests, reason) => {
    expect(await fateOf("jobs", manifests)).toMatch(reason);
  });

  it("is given up where it counts requests", async () => {
    const trigger = { type: "prometheus", metadata: { query: 'rate(http_requests_total{job="page"}[1m])' } };
    const { notes } = await write([
      ...WEB,
      workload("page", "acme/page"),
      service("page"),
      {
        kind: "ScaledObject",
        metadata: { name: "page" },
        spec: { scaleTargetRef: { name: "page" }, triggers: [trigger] },
      },
    ]);
    expect(notes.join("\n")).toMatch(/page has the ScaledObject 'page' already: .* in the place of its own/);
  });

  it("hands over its bounds and behaviour where it is an HPA on CPU, and is named with its metrics and its owner", async () => {
    const scaleDown = {
      stabilizationWindowSeconds: 600,
      policies: [{ type: "Pods", value: 1, periodSeconds: 300 }],
    };
    const result = await write([
      ...WEB,
      hpa("shop", [CPU], { scaleDown, scaleUp: { tolerance: "0.2", selectPolicy: "Min" } }),
    ]);
    const written = objectsIn(result).find(({ kind }) => kind === "ScaledObject")!.spec;
    expect(written).toMatchObject({ minReplicaCount: 2, maxReplicaCount: 12 });
    expect(written.advanced!.horizontalPodAutoscalerConfig.behavior).toEqual({
      scaleUp: { tolerance: "0", selectPolicy: "Min" },
      scaleDown: { tolerance: "0", ...scaleDown },
    });
    const said = result.notes.join("\n");
    expect(said).toMatch(/shop is then scaled by latency instead of cpu 70 % of the request/);
    expect(said).toMatch(/HPA 'shop-hpa' belongs to Argo CD application 'shop'/);
  });

  it("is named where there are two, and where its workload is not there", async () => {
    const second = { ...hpa("shop", [CPU]), metadata: { name: "older" } };
    const { notes } = await write([...WEB, hpa("shop", [CPU]), second, hpa("gone", [CPU])]);
    expect(notes.join("\n")).toMatch(/shop is scaled by HPA 'shop-hpa' and HPA 'older'/);
    expect(notes).toContain("HPA 'gone-hpa' scales the Deployment 'gone', which is not there");
  });

  it("is named where a ScaledObject of Tradewind's multiplies or is paused", async () => {
    const { notes } = await write([
      ...WEB,
      {
        kind: "ScaledObject",
        metadata: { name: "shop", annotations: { "autoscaling.keda.sh/paused-replicas": "5" } },
        spec: {
          scaleTargetRef: { name: "shop" },
          triggers: [{ type: "external", metricType: "Value", metadata: { service: "shop" } }],
        },
      },
    ]);
    expect(notes.join("\n")).toMatch(
      /paused at 5 replicas by the annotation autoscaling.keda.sh\/paused-replicas/,
    );
    expect(notes.join("\n")).toMatch(/'metricType: Value'/);
  });
});

const route = (kind: string, spec: object): Manifest => ({ kind, metadata: { name: "way" }, spec });

describe("the entry", () => {
  const services = ["alpha", "beta", "gamma"].flatMap((name) => [
    workload(name, `acme/${name}`),
    service(name),
  ]);

  it.each<[string, Manifest]>([
    [
      "an HTTPRoute",
      route("HTTPRoute", {
        parentRefs: [{ name: "gw" }],
        rules: [{ backendRefs: [{ name: "beta", port: 8080 }] }],
      }),
    ],
    ["an OpenShift Route", route("Route", { to: { kind: "Service", name: "beta" } })],
    [
      "a VirtualService with a gateway",
      route("VirtualService", {
        gateways: ["gw"],
        http: [{ route: [{ destination: { host: "beta.shop.svc.cluster.local" } }] }],
      }),
    ],
    [
      "an Ingress of before 1.19",
      route("Ingress", {
        rules: [{ http: { paths: [{ backend: { serviceName: "beta", servicePort: 8080 } }] } }],
      }),
    ],
    [
      "a Traefik IngressRoute",
      route("IngressRoute", { routes: [{ services: [{ name: "beta", port: 8080 }] }] }),
    ],
    [
      "the route of a Traefik IngressRoute without a path",
      route("IngressRoute", {
        routes: [
          { match: "Host(`shop`) && PathPrefix(`/api`)", services: [{ name: "alpha", port: 8080 }] },
          { match: "Host(`shop`)", services: [{ name: "beta", port: 8080 }] },
        ],
      }),
    ],
    [
      "the root of a Contour HTTPProxy",
      route("HTTPProxy", {
        routes: [
          { conditions: [{ prefix: "/api" }], services: [{ name: "alpha", port: 8080 }] },
          { services: [{ name: "beta", port: 8080 }] },
        ],
      }),
    ],
    [
      "an ApisixRoute",
      route("ApisixRoute", { http: [{ backends: [{ serviceName: "beta", servicePort: 8080 }] }] }),
    ],
    ["a TargetGroupBinding", route("TargetGroupBinding", { serviceRef: { name: "beta", port: 8080 } })],
    [
      "nginx' VirtualServer",
      route("VirtualServer", {
        upstreams: [
          { name: "a", service: "alpha", port: 8080 },
          { name: "b", service: "beta", port: 8080 },
        ],
        routes: [
          { path: "/api", action: { pass: "a" } },
          { path: "/", action: { pass: "b" } },
        ],
      }),
    ],
    [
      "the only weighted part of an HTTPRoute",
      route("HTTPRoute", {
        rules: [
          {
            backendRefs: [
              { name: "alpha", port: 8080, weight: 0 },
              { name: "beta", port: 8080, weight: 100 },
            ],
          },
        ],
      }),
    ],
    [
      "the only weighted part of a VirtualService",
      route("VirtualService", {
        gateways: ["gw"],
        http: [
          {
            route: [
              { destination: { host: "beta" }, weight: 100 },
              { destination: { host: "gamma" }, weight: 0 },
            ],
          },
        ],
      }),
    ],
    ["a NodePort", { ...service("beta-open", 8080, { type: "NodePort", selector: { app: "beta" } }) }],
    [
      "the root of an Ingress that has other paths too",
      route("Ingress", {
        rules: [
          {
            http: {
              paths: [
                { path: "/api", backend: { service: { name: "alpha" } } },
                { path: "/", backend: { service: { name: "beta" } } },
              ],
            },
          },
        ],
      }),
    ],
  ])("is what %s leads to", async (_what, way) => {
    expect(applicationIn(await write([...services, way])).entry).toBe("beta");
  });

  it.each<[string, readonly Manifest[]]>([
    [
      "two LoadBalancers lead to different services",
      ["alpha", "beta"].map((name) =>
        service(`${name}-open`, 80, { type: "LoadBalancer", selector: { app: name } }),
      ),
    ],
    [
      "a VirtualService is for calls within the mesh",
      [route("VirtualService", { http: [{ route: [{ destination: { host: "beta" } }] }] })],
    ],
    [
      "a NodePort opens nothing but metrics",
      [
        service(
          "beta-metrics",
          { port: 9090, name: "metrics" },
          { type: "NodePort", selector: { app: "beta" } },
        ),
      ],
    ],
    [
      "one name and one image look like an entry",
      [
        workload("media-frontend", "acme/media"),
        service("media-frontend"),
        workload("pages", "acme/nginx-pages"),
        service("pages"),
      ],
    ],
  ])("is asked for where %s", async (_what, more) => {
    await expect(write([...services, ...more])).rejects.toThrow(/name it with --entry: /);
  });

  it("is what the load generator is told, where nothing leads in and two are called like one", async () => {
    const more = ["frontend", "frontend-proxy"].flatMap((name) => [
      workload(name, `acme/${name}`),
      service(name),
    ]);
    const load = workload("load-generator", "acme/load", {
      container: { env: [{ name: "TARGET", value: "http://frontend-proxy:8080/" }] },
    });
    expect(applicationIn(await write([...services, ...more, load])).entry).toBe("frontend-proxy");
  });

  it("is asked for where users reach a kind that is not read, and that kind is named", async () => {
    const manifests = [
      workload("page", "acme/page", { kind: "CloneSet" }),
      service("page", 80, { type: "LoadBalancer" }),
      workload("cart", "acme/cart"),
      service("cart"),
    ];
    const refusal: unknown = await write(manifests).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InitRefusal);
    expect((refusal as InitRefusal).message).toMatch(/--entry: cart/);
    expect((refusal as InitRefusal).notes).toContain(
      "left out: page: Tradewind does not read the kind CloneSet, though users reach it",
    );
  });
});

describe("a Pod without a controller", () => {
  const web = { kind: "Pod", metadata: { name: "web", labels: { app: "web" } } };
  const containers = [{ name: "main", image: "acme/web" }];
  const cart = [workload("cart", "acme/cart"), service("cart")];
  const open = service("web", 80, { type: "LoadBalancer" });

  it("is named, and no other workload is taken for the entry in its place", async () => {
    const refused = write([{ ...web, spec: { containers } }, open, ...cart]);
    await expect(refused).rejects.toThrow(/which service users call cannot be told/);
    await expect(refused).rejects.toMatchObject({
      notes: ["left out: web: Tradewind does not read the kind Pod, though users reach it"],
    });
  });

  it.each<[string, Manifest]>([
    ["ends by itself", { ...web, spec: { restartPolicy: "Never", containers } }],
    [
      "is a test of a chart",
      {
        ...web,
        metadata: { ...web.metadata, annotations: { "helm.sh/hook": "test" } },
        spec: { containers },
      },
    ],
  ])("that %s is nothing to speak of", async (_what, pod) => {
    const { entry, notes } = await write([pod, ...cart]);
    expect(entry).toBe("cart");
    expect(notes.join()).not.toMatch(/Pod/);
  });
});

describe("the services of an application", () => {
  it("are called as in traces: by Istio's label, by app and version, by OTEL_SERVICE_NAME", async () => {
    const result = await write([
      ...WEB,
      workload("details-v1", "acme/details", { labels: { app: "details", version: "v1" } }),
      service("details"),
      workload("rates-blue", "acme/rates", { labels: { "service.istio.io/canonical-name": "rates" } }),
      service("rates-blue"),
      workload("pay", "acme/pay", { container: { env: [{ name: "OTEL_SERVICE_NAME", value: "payments" }] } }),
      service("pay"),
    ]);
    expect(
      applicationIn(result)
        .services.map(({ name }) => name)
        .sort(),
    ).toEqual(["details", "payments", "rates", "shop"]);
  });

  it("hold versions of one service apart: one is scaled under its name, the others keep their pods", async () => {
    const version = (name: string, replicas: number) =>
      workload(`reviews-${name}`, "acme/reviews", { labels: { app: "reviews", version: name }, replicas });
    const result = await write([...WEB, version("v1", 1), version("v2", 3), service("reviews")]);
    expect(applicationIn(result).services).toEqual([
      { name: "reviews-v1", minReplicas: 1, maxReplicas: 1 },
      {
        name: "reviews",
        workload: { kind: "Deployment", name: "reviews-v2" },
        minReplicas: 2,
        maxReplicas: 12,
      },
      { name: "shop", minReplicas: 1, maxReplicas: 10 },
    ]);
    const scaled = objectsIn(result).filter(({ kind }) => kind === "ScaledObject");
    expect(scaled.map(({ metadata }) => metadata.name)).toEqual(["reviews-v2", "shop"]);
    expect(result.notes.join("\n")).toMatch(/reviews-v1 is another version of 'reviews'/);
  });

  it("include a Rollout, also one that names its template by a Deployment", async () => {
    const result = await write([
      workload("shop", "acme/shop", { kind: "Rollout", replicas: 3 }),
      service("shop", 80, { type: "LoadBalancer" }),
      workload("cart", "acme/cart", { replicas: 0 }),
      service("cart"),
      {
        kind: "Rollout",
        metadata: { name: "cart-rollout" },
        spec: { replicas: 2, workloadRef: { kind: "Deployment", name: "cart" } },
      },
    ]);
    expect(applicationIn(result)).toMatchObject({
      entry: "shop",
      services: [
        { name: "cart-rollout", workload: { kind: "Rollout", name: "cart-rollout" } },
        { name: "shop", workload: { kind: "Rollout", name: "shop" } },
      ],
    });
    const target = objectsIn(result).find(({ kind }) => kind === "ScaledObject")!.spec.scaleTargetRef;
    expect(target).toEqual({ apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", name: "cart-rollout" });
  });
});

describe("a VPA that init writes", () => {
  const vpaOf = async (container: object, more: WorkloadFacts = {}) => {
    const result = await write([workload("shop", "acme/shop", { container, ...more }), WEB[1]!]);
    return objectsIn(result).find(({ kind }) => kind === "VerticalPodAutoscaler")!.spec.resourcePolicy!
      .containerPolicies[0];
  };
  const server = { name: "server", image: "acme/shop", resources: { requests: { cpu: "1" } } };

  it("is for the container that kubectl takes by default", async () => {
    const annotations = { "kubectl.kubernetes.io/default-container": "server" };
    expect(await vpaOf({ name: "helper" }, { annotations, sidecars: [server] })).toMatchObject({
      containerName: "server",
    });
  });

  it("is for the program, where a proxy stands before it", async () => {
    expect(await vpaOf({ name: "proxy", image: "oauth2-proxy:7" }, { sidecars: [server] })).toMatchObject({
      containerName: "server",
    });
  });

  it("takes limits for requests where there are none, as the API server does", async () => {
    expect(await vpaOf({ resources: { limits: { cpu: "500m", memory: "256Mi" } } })).toMatchObject({
      controlledValues: "RequestsAndLimits",
      maxAllowed: { cpu: "2", memory: "1Gi" },
    });
  });
});

describe("a missing CPU request", () => {
  const said = async (spec: object) =>
    (
      await write([
        { ...WEB[0]!, spec: { template: { metadata: { labels: { app: "shop" } }, spec } } },
        WEB[1]!,
      ])
    ).notes.filter((note) => note.includes("has no CPU request"));
  const containers = [{ name: "main", image: "acme/shop:1" }];

  it("is said, but for pods that state one for all their containers", async () => {
    expect(await said({ containers })).toHaveLength(1);
    expect(await said({ containers, resources: { requests: { cpu: "1" } } })).toEqual([]);
  });
});

describe("init that would leave most of an application out", () => {
  const named = ["redis", "mongo", "kafka"].flatMap((name) => [
    workload(`${name}-x`, `acme/${name}`),
    service(`${name}-x`),
  ]);

  it("asks where nothing but names speaks for it, and writes once that is accepted", async () => {
    await expect(write([...WEB, ...named])).rejects.toThrow(
      /3 of 4 workloads .*--accept .*--include kafka-x,mongo-x,redis-x/,
    );
    const { notes } = await write([...WEB, ...named], { accept: true });
    expect(notes[0]).toMatch(/more than half is left out, 3 of 4/);
  });

  it("does not ask where ports and volumes speak for it too", async () => {
    const stores = [6379, 27_017, 3306].flatMap((port) => [
      workload(`s${port}`, "acme/own"),
      service(`s${port}`, port),
    ]);
    expect((await write([...WEB, ...stores])).notes[0]).toMatch(/more than half is left out/);
  });
});
