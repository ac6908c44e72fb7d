import type { Component, JudgedApplication, Request } from "./application.ts";
import type { Image, PackagedProgram } from "./images.ts";

const JSON_BODY = { "Content-Type": "application/json" };
const OTLP = "http://tradewind-otlp.tradewind.svc";

const PODINFO: Image = {
  name: "podinfo",
  version: "v1.8.1-0.20250910200901-e86405a8674e",
  package: "github.com/stefanprodan/podinfo/cmd/podinfo",
};
const HOTROD: Image = {
  name: "hotrod",
  version: "v1.76.0",
  package: "github.com/jaegertracing/jaeger/examples/hotrod",
  main: {
    requires: ["github.com/jaegertracing/jaeger@v1.76.0"],
    text: `package main

import "github.com/jaegertracing/jaeger/examples/hotrod/cmd"

func main() { cmd.Execute() }
`,
  },
};
const OPENFGA: Image = {
  name: "openfga",
  version: "v1.22.1",
  package: "github.com/openfga/openfga/cmd/openfga",
};
const CADDY: Image = {
  name: "caddy",
  version: "v2.11.9",
  package: "github.com/caddyserver/caddy/v2/cmd/caddy",
};

/** The Collector's parts: OTLP in and out, batches, a tail sampler, span metrics, Prometheus' exporter. */
const COLLECTOR: Image = {
  name: "otelcol",
  version: "v0.161.0",
  package: "go.opentelemetry.io/collector/cmd/otelcol",
  main: {
    requires: [
      ...[
        "connector/spanmetricsconnector",
        "exporter/prometheusexporter",
        "processor/tailsamplingprocessor",
      ].map((part) => `github.com/open-telemetry/opentelemetry-collector-contrib/${part}@v0.161.0`),
      ...[
        "connector",
        "exporter/otlpexporter",
        "otelcol",
        "processor/batchprocessor",
        "receiver/otlpreceiver",
        "service",
      ].map((part) => `go.opentelemetry.io/collector/${part}@v0.161.0`),
      ...["component", "confmap", "confmap/provider/fileprovider", "exporter", "processor", "receiver"].map(
        (part) => `go.opentelemetry.io/collector/${part}@v1.67.0`,
      ),
    ],
    text: `package main

import (
	"log"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (parts otelcol.Factories, err error) {
	parts.Telemetry = otelconftelemetry.NewFactory()
	if parts.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return
	}
	if parts.Processors, err = otelcol.MakeFactoryMap[processor.Factory](batchprocessor.NewFactory(), tailsamplingprocessor.NewFactory()); err != nil {
		return
	}
	if parts.Connectors, err = otelcol.MakeFactoryMap[connector.Factory](spanmetricsconnector.NewFactory()); err != nil {
		return
	}
	parts.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlpexporter.NewFactory(), prometheusexporter.NewFactory())
	return
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Version: "v0.161.0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
			// What is not a path would be read from the environment, for which there is no provider.
			DefaultScheme:     "file",
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
`,
  },
};

const PYTHON_TELEMETRY = [
  "opentelemetry-api==1.45.1",
  "opentelemetry-sdk==1.45.1",
  "opentelemetry-exporter-otlp-proto-http==1.45.1",
  "opentelemetry-distro==0.66b1",
];
const python = (name: string, version: string, pip: readonly string[]): PackagedProgram => ({
  name,
  version,
  debian: ["python3", "tzdata"],
  pip: [...pip, ...PYTHON_TELEMETRY],
  // Scripts name the Python of the machine that installed them.
  finish: ["sed -i '1s|.*|#!/usr/bin/python3|' /opt/python/bin/*"],
  entrypoint: ["/usr/bin/env", "PYTHONPATH=/opt/python", "/opt/python/bin/opentelemetry-instrument"],
});
const PYTHON_ENV = {
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
  OTEL_METRICS_EXPORTER: "none",
  OTEL_LOGS_EXPORTER: "none",
};

const HTTPBIN = python("httpbin", "0.10.4", [
  "httpbin==0.10.4",
  "gunicorn==27.0.1",
  "opentelemetry-instrumentation-flask==0.66b1",
]);
const FLOWER = python("flower", "2.2.0", [
  "flower==2.2.0",
  "celery==5.7.0",
  "redis==8.1.0",
  "async-timeout==5.0.1",
  ...["celery", "redis", "tornado"].map((part) => `opentelemetry-instrumentation-${part}==0.66b1`),
]);

const POSTGRES: PackagedProgram = {
  name: "postgres",
  version: "15",
  debian: ["postgresql-15"],
  entrypoint: ["/bin/sh", "-c"],
};
const REDIS: PackagedProgram = {
  name: "redis",
  version: "7.0",
  debian: ["redis-server"],
  entrypoint: ["/usr/bin/redis-server", "--protected-mode", "no", "--save", ""],
};
const PROMETHEUS: PackagedProgram = {
  name: "prometheus",
  version: "2.42",
  debian: ["prometheus"],
  entrypoint: ["/usr/bin/prometheus", "--storage.tsdb.path=/tmp/data"],
};

/** An empty database whose user needs no password. */
const database: Component = {
  name: "postgres",
  image: POSTGRES,
  isFixed: true,
  port: 5432,
  args: [
    `PATH=/usr/lib/postgresql/15/bin:$PATH
initdb --pgdata=/tmp/data --username=postgres --auth=trust && echo 'host all all all trust' >> /tmp/data/pg_hba.conf &&
exec postgres -D /tmp/data -c listen_addresses='*' -c unix_socket_directories=/tmp -c max_connections=300`,
  ],
};

/** Spins little, and spends most of a request outside of its spans. */
const podinfo: JudgedApplication = {
  name: "podinfo",
  components: [
    {
      name: "frontend",
      image: PODINFO,
      args: ["--otel-service-name=frontend", "--backend-url=http://backend:9898/echo"],
      port: 9898,
      readyPath: "/readyz",
    },
    {
      name: "backend",
      image: PODINFO,
      args: ["--otel-service-name=backend"],
      port: 9898,
      readyPath: "/readyz",
    },
  ],
  entry: "frontend",
  env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${OTLP}:4317` },
  cpu: { request: "50m", limit: "80m" },
  memoryLimit: "128Mi",
  request: { method: "POST", path: "/api/echo", body: "hello" },
  timeoutSeconds: 5,
  objectiveSeconds: 0.05,
  phases: [
    { perSecond: 15, seconds: 40 },
    { perSecond: 60, seconds: 100 },
    { perSecond: 15, seconds: 40 },
  ],
  runs: 3,
};

/** Waits for a lock in each process of `customer`, whose holder says that it is `mysql`. */
const hotrod: JudgedApplication = {
  name: "hotrod",
  components: [
    {
      name: "frontend",
      image: HOTROD,
      args: [
        "frontend",
        "--customer-service-hostname=customer",
        "--driver-service-hostname=driver",
        "--route-service-hostname=route",
      ],
      port: 8080,
    },
    { name: "customer", image: HOTROD, args: ["customer"], port: 8081 },
    { name: "driver", image: HOTROD, args: ["driver"], port: 8082 },
    { name: "route", image: HOTROD, args: ["route"], port: 8083 },
  ],
  entry: "frontend",
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${OTLP}:4318` },
  cpu: { request: "40m", limit: "100m" },
  memoryLimit: "128Mi",
  request: { method: "GET", path: "/dispatch?customer=123" },
  timeoutSeconds: 5,
  objectiveSeconds: 1.55,
  phases: [
    { perSecond: 2, seconds: 60 },
    { perSecond: 5, seconds: 120 },
    { perSecond: 2, seconds: 60 },
  ],
  runs: 1,
};

const OPENFGA_STORE = [
  "--datastore-engine=postgres",
  "--datastore-uri=postgres://postgres@postgres:5432/postgres?sslmode=disable",
];

/** Asks a database of PostgreSQL for the relations that a permission rests on. */
const openfga: JudgedApplication = {
  name: "openfga",
  components: [
    {
      name: "openfga",
      image: OPENFGA,
      args: ["run", ...OPENFGA_STORE, "--playground-enabled=false"],
      setUp: ["migrate", ...OPENFGA_STORE],
      port: 8080,
      readyPath: "/healthz",
    },
    database,
  ],
  entry: "openfga",
  env: {
    OPENFGA_TRACE_ENABLED: "true",
    OPENFGA_TRACE_SAMPLE_RATIO: "1",
    OPENFGA_TRACE_OTLP_ENDPOINT: "tradewind-otlp.tradewind.svc:4317",
  },
  cpu: { request: "60m", limit: "120m" },
  memoryLimit: "256Mi",
  request: fillOpenfga,
  timeoutSeconds: 5,
  objectiveSeconds: 0.1,
  phases: [
    { perSecond: 10, seconds: 40 },
    { perSecond: 40, seconds: 100 },
    { perSecond: 10, seconds: 40 },
  ],
  runs: 1,
};

/** Documents that a group's members may read, through a folder. @returns a question whose answer takes three looks */
async function fillOpenfga(origin: string): Promise<Request> {
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${origin}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: JSON_BODY,
    });
    if (!response.ok) throw new Error(`OpenFGA answers ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const { id } = await post("/stores", { name: "documents" });
  const [self, inherited] = [{ this: {} }, "viewer"];
  const from = {
    tupleToUserset: { tupleset: { relation: "parent" }, computedUserset: { relation: inherited } },
  };
  const members = [{ type: "user" }, { type: "group", relation: "member" }];
  await post(`/stores/${String(id)}/authorization-models`, {
    schema_version: "1.1",
    type_definitions: [
      { type: "user" },
      {
        type: "group",
        relations: { member: self },
        metadata: { relations: { member: { directly_related_user_types: [{ type: "user" }] } } },
      },
      {
        type: "folder",
        relations: { viewer: self },
        metadata: { relations: { viewer: { directly_related_user_types: members } } },
      },
      {
        type: "document",
        relations: { parent: self, viewer: { union: { child: [self, from] } } },
        metadata: {
          relations: {
            parent: { directly_related_user_types: [{ type: "folder" }] },
            viewer: { directly_related_user_types: members },
          },
        },
      },
    ],
  });
  const tuples = [
    { user: "user:anne", relation: "member", object: "group:staff" },
    { user: "group:staff#member", relation: "viewer", object: "folder:plans" },
    { user: "folder:plans", relation: "parent", object: "document:roadmap" },
  ];
  await post(`/stores/${String(id)}/write`, { writes: { tuple_keys: tuples } });
  const question = { tuple_key: { user: "user:anne", relation: "viewer", object: "document:roadmap" } };
  const path = `/stores/${String(id)}/check`;
  return { method: "POST", path, body: JSON.stringify(question), headers: JSON_BODY };
}

const BROKER = "redis://redis:6379/0";

/** Puts each request as a task into a queue of Redis, and answers when a worker of Celery has done it. */
const flower: JudgedApplication = {
  name: "flower",
  components: [
    {
      name: "api",
      image: FLOWER,
      args: [
        "/opt/python/bin/celery",
        `--broker=${BROKER}`,
        `--result-backend=${BROKER}`,
        "flower",
        "--port=5555",
      ],
      port: 5555,
      readyPath: "/healthcheck",
      env: { OTEL_SERVICE_NAME: "api", FLOWER_UNAUTHENTICATED_API: "true" },
    },
    {
      name: "worker",
      image: FLOWER,
      args: [
        "/opt/python/bin/celery",
        `--broker=${BROKER}`,
        `--result-backend=${BROKER}`,
        "worker",
        "--pool=threads",
        "--concurrency=2",
      ],
      env: { OTEL_SERVICE_NAME: "worker" },
    },
    { name: "redis", image: REDIS, args: [], port: 6379, isFixed: true },
  ],
  entry: "api",
  env: { ...PYTHON_ENV, OTEL_EXPORTER_OTLP_ENDPOINT: `${OTLP}:4318` },
  cpu: { request: "100m", limit: "200m" },
  memoryLimit: "256Mi",
  request: {
    method: "POST",
    path: "/api/task/apply/celery.accumulate",
    body: JSON.stringify({ args: [1, 2, 3] }),
    headers: JSON_BODY,
  },
  timeoutSeconds: 5,
  objectiveSeconds: 0.3,
  phases: [
    { perSecond: 2, seconds: 40 },
    { perSecond: 8, seconds: 100 },
    { perSecond: 2, seconds: 40 },
  ],
  runs: 1,
};

const COLLECTOR_CONFIG = `receivers: { otlp: { protocols: { grpc: { endpoint: "0.0.0.0:4317" }, http: { endpoint: "0.0.0.0:4318" } } } }
processors:
  batch: { timeout: 1s }
  tail_sampling:
    decision_wait: 5s
    policies: [{ name: half, type: probabilistic, probabilistic: { sampling_percentage: 50 } }]
connectors: { spanmetrics: { histogram: { unit: s }, metrics_flush_interval: 5s } }
exporters:
  prometheus: { endpoint: "0.0.0.0:8889" }
  otlp: { endpoint: "tradewind-otlp.tradewind.svc:4317", tls: { insecure: true } }
service:
  telemetry: { metrics: { level: none } }
  pipelines:
    traces/all: { receivers: [otlp], exporters: [spanmetrics] }
    traces/kept: { receivers: [otlp], processors: [tail_sampling, batch], exporters: [otlp] }
    metrics: { receivers: [spanmetrics], exporters: [prometheus] }
`;

const SCRAPE_CONFIG = `global: { scrape_interval: 5s }
scrape_configs:
  - { job_name: collector, honor_labels: true, static_configs: [{ targets: ["collector:8889"] }] }
`;

/** Each request on a connection of its own, so it can come to any pod. */
const GATEWAY_CONFIG = `{
  admin off
  persist_config off
}
:8080 {
  tracing {
    span gateway
  }
  reverse_proxy httpbin:8000 {
    transport http {
      keepalive off
    }
  }
}
`;

/** A gateway in Go before a service in Python. A Collector keeps half of their traces and counts all of their spans. */
const httpbin: JudgedApplication = {
  name: "httpbin",
  components: [
    {
      name: "gateway",
      image: CADDY,
      args: ["run", "--adapter=caddyfile", "--config=/config/Caddyfile"],
      port: 8080,
      env: {
        OTEL_SERVICE_NAME: "gateway",
        OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4317",
      },
      files: { Caddyfile: GATEWAY_CONFIG },
    },
    {
      name: "httpbin",
      image: HTTPBIN,
      args: ["/opt/python/bin/gunicorn", "--bind=0.0.0.0:8000", "--threads=4", "httpbin:app"],
      port: 8000,
      readyPath: "/status/200",
      env: { OTEL_SERVICE_NAME: "httpbin" },
    },
    {
      name: "collector",
      image: COLLECTOR,
      args: ["--config=file:/config/collector.yaml"],
      files: { "collector.yaml": COLLECTOR_CONFIG },
      port: 4317,
      furtherPorts: [4318, 8889],
      isFixed: true,
    },
    {
      name: "prometheus",
      image: PROMETHEUS,
      args: ["--config.file=/config/prometheus.yml"],
      files: { "prometheus.yml": SCRAPE_CONFIG },
      port: 9090,
      isFixed: true,
    },
  ],
  entry: "gateway",
  env: { ...PYTHON_ENV, OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" },
  cpu: { request: "80m", limit: "160m" },
  memoryLimit: "256Mi",
  request: { method: "GET", path: "/html" },
  timeoutSeconds: 5,
  objectiveSeconds: 0.1,
  phases: [
    { perSecond: 6, seconds: 40 },
    { perSecond: 24, seconds: 100 },
    { perSecond: 6, seconds: 40 },
  ],
  runs: 1,
  sources: {
    otlp: { assumedSamplingRatio: 0.5 },
    prometheus: [{ url: "http://prometheus.httpbin.svc:9090", metrics: "auto" }],
  },
};

export const APPLICATIONS: readonly JudgedApplication[] = [podinfo, hotrod, openfga, flower, httpbin];
