import { describe, expect, it } from "vitest";
import { applicationIn, fateOf, objectsIn, service, workload, write } from "./manifests.ts";
import type { Manifest } from "./manifests.ts";

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

  it("a DeploymentConfig that is written as OpenShift did before it had groups", async () => {
    const web = { ...workload("web", "acme/web", { kind: "DeploymentConfig" }), apiVersion: "v1" };
    expect(applicationIn(await write([web, service("web")])).services).toMatchObject([
      { workload: { apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", name: "web" } },
    ]);
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
    [
      "with a volume in a folder of the second version of a database",
      [
        workload("series", "acme/series", { container: mount("/var/lib/influxdb2"), volumes: scratch }),
        service("series"),
      ],
      /\/var\/lib\/influxdb2/,
    ],
    [
      "that shows the metrics of a broker",
      [workload("watch", "acme/rabbitmq-exporter"), service("watch", 9419)],
      /'acme\/rabbitmq-exporter' is called like an exporter/,
    ],
    [
      "that asks for one page again and again",
      [
        workload("visits", "acme/curl", {
          container: { command: ["sh", "-c", "while true; do curl -s http://shop; sleep 1; done"] },
        }),
        service("visits"),
      ],
      /it starts 'curl', which makes load/,
    ],
    [
      "that starts a load generator",
      [
        workload("visits", "acme/visits", { container: { args: ["siege", "http://shop"] } }),
        service("visits"),
      ],
      /it starts 'siege', which makes load/,
    ],
    ["that nobody calls", [workload("batch", "acme/batch")], /no Service leads to it/],
    [
      "that a registry of services knows, without a port",
      [
        workload("batch", "acme/batch", {
          container: { env: [{ name: "EUREKA_URL", value: "http://eureka:8761" }] },
        }),
      ],
      /no Service leads to it/,
    ],
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
    [
      "with a pool of connections to a database beside it",
      [
        workload("page", "acme/page", {
          sidecars: [{ name: "pool", image: "edoburu/pgbouncer:1", ...onPort(5432) }],
        }),
        service("page"),
      ],
    ],
    [
      "that fetches a page before it starts",
      [
        workload("page", "acme/page", {
          container: { command: ["sh", "-c", "curl -so /tmp/rules http://rules; exec ./page"] },
        }),
        service("page"),
      ],
    ],
    ["that writes reports out", [workload("page", "acme/report-exporter"), service("page")]],
    [
      "that collects data at a port of collectors",
      [workload("data-collector", "acme/data"), service("data-collector", 8888)],
    ],
    [
      "that callers find by a registry of services",
      [
        workload("stock", "acme/stock", {
          container: { ...onPort(8081), env: [{ name: "EUREKA_URL", value: "http://eureka:8761" }] },
        }),
      ],
    ],
    ["that Dapr calls", [workload("add", "acme/add", { annotations: { "dapr.io/app-port": "6000" } })]],
  ])("%s", async (_what, manifests) => {
    expect(await fateOf((manifests[0]!["metadata"] as { name: string }).name, manifests)).toBe("taken");
  });
});
