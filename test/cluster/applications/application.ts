import type { Phase } from "./phases.ts";

/** One service: a Deployment that runs the application's program with arguments of its own. */
export interface Component {
  readonly name: string;
  readonly args: readonly string[];
  readonly port: number;
  /** Path that says whether a pod is ready; without one its open port does. */
  readonly readyPath?: string;
}

/** A program that nobody here wrote, and what its users ask of it. */
export interface JudgedApplication {
  readonly name: "podinfo" | "hotrod";
  /** Named in the Go module's own terms, which the cache and the image carry. */
  readonly version: string;
  readonly components: readonly Component[];
  /** Component that users call. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cpu: { readonly request: string; readonly limit: string };
  readonly request: { readonly method: "GET" | "POST"; readonly path: string; readonly body?: string };
  /** A request without an answer by then has failed. */
  readonly timeoutSeconds: number;
  /** 95 of 100 requests must be answered in less. */
  readonly objectiveSeconds: number;
  readonly phases: readonly Phase[];
  /** Measured runs of each contender, unless asked otherwise. */
  readonly runs: number;
}

/** Fewest and most pods of each component, whoever scales it. */
export const BOUNDS = { minReplicas: 1, maxReplicas: 6 } as const;

const OTLP = "http://tradewind-otlp.tradewind.svc";

/** Spins little, and spends most of a request outside of its spans. */
const PODINFO: JudgedApplication = {
  name: "podinfo",
  version: "v1.8.1-0.20250910200901-e86405a8674e",
  components: [
    {
      name: "frontend",
      args: ["--otel-service-name=frontend", "--backend-url=http://backend:9898/echo"],
      port: 9898,
      readyPath: "/readyz",
    },
    { name: "backend", args: ["--otel-service-name=backend"], port: 9898, readyPath: "/readyz" },
  ],
  entry: "frontend",
  env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${OTLP}:4317` },
  cpu: { request: "50m", limit: "80m" },
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
const HOTROD: JudgedApplication = {
  name: "hotrod",
  version: "v1.76.0",
  components: [
    {
      name: "frontend",
      args: [
        "frontend",
        "--customer-service-hostname=customer",
        "--driver-service-hostname=driver",
        "--route-service-hostname=route",
      ],
      port: 8080,
    },
    { name: "customer", args: ["customer"], port: 8081 },
    { name: "driver", args: ["driver"], port: 8082 },
    { name: "route", args: ["route"], port: 8083 },
  ],
  entry: "frontend",
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${OTLP}:4318` },
  cpu: { request: "40m", limit: "100m" },
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

export const APPLICATIONS: readonly JudgedApplication[] = [PODINFO, HOTROD];

/** What is measured against each other: an HPA on CPU as people set it, and Tradewind. */
export const CONTENDERS = ["hpa-60", "tradewind"] as const;
export type Contender = (typeof CONTENDERS)[number];

export const imageOf = ({ name, version }: JudgedApplication): string => `localhost/${name}-${version}:1`;
