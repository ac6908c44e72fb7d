import { z } from "zod";
import { MAX_SENDER_WORK } from "@tradewind/core/net/sender-work.ts";
import { targetProblem } from "@tradewind/core/net/addresses.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";

const HOST_PORT = /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]/]+):(\d{1,5})$/;

/** `host:port`, IPv6 hosts in brackets; port 0 takes a free one. */
const ListenAddress = z.string().transform((text, context) => {
  const [, host, digits] = HOST_PORT.exec(text) ?? [];
  const port = Number(digits);
  if (host === undefined || port > 65_535) {
    context.addIssue(`'${text}' is not host:port; write for example 127.0.0.1:9813`);
    return z.NEVER;
  }
  return { host: host.replace(/^\[(.*)\]$/, "$1"), port };
});

/** A duration such as `90s` or a number of seconds. */
const Duration = z.union([z.number().min(0), z.string()]).transform((value, context) => {
  try {
    return typeof value === "number" ? value : parseDurationSeconds(value);
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : "not a duration");
    return z.NEVER;
  }
});

/** PEM files of a port. @param flags how they are called on the command line */
const tlsFiles = (flags: string) => {
  const File = z.string().min(1, `missing; give ${flags}cert and ${flags}key together`);
  return z.strictObject({ cert: File, key: File, refreshMs: z.number().min(10).default(10_000) });
};

/** One address, or several separated by commas: `http://host:port`, or `dns+http://name:port` for all of a name. */
const Targets = z.string().transform((text, context) => {
  const targets = text.split(",").map((each) => each.trim());
  const problem = targets.map((each) => targetProblem(each)).find((each) => each !== undefined);
  if (problem === undefined) return targets;
  context.addIssue(problem);
  return z.NEVER;
});

/** Separated by commas. */
const Names = z
  .union([z.array(z.string().min(1)), z.string()])
  .transform((given) =>
    (typeof given === "string" ? given.split(",") : given)
      .map((each) => each.trim())
      .filter((each) => each !== ""),
  );

/** What an exporter does in a Kubernetes cluster; only the leader among several does it. */
const ClusterOptions = z.strictObject({
  /** Write the status of the Application resource that the plan is for. */
  status: z.boolean().default(false),
  /** Write events: on workloads when what is recommended changes in a way that matters, on ScaledObjects whose HPA does not read it. */
  events: z.boolean().default(false),
  /** Be the VerticalPodAutoscaler recommender `tradewind`. */
  vpa: z.boolean().default(false),
  /** Resize running pods directly, where the application's mode is `act`. */
  inPlaceResize: z.boolean().default(false),
  /** How to reach the cluster from outside of it. */
  kubeconfig: z.string().min(1).optional(),
  /** Names this process among its twins; default: host name and a random suffix. */
  identity: z.string().min(1).max(253).optional(),
  /** Namespace of the leader's Lease; default: the pod's own. */
  namespace: z.string().min(1).max(63).optional(),
  /** Name of that Lease; default: `tradewind-exporter`. Scalers that share it share one leader. */
  lease: z.string().min(1).max(253).optional(),
  /** How often the leader compares what is with what should be. */
  reconcileMs: z.number().int().min(20).max(600_000).default(15_000),
});
export type ClusterOptions = z.infer<typeof ClusterOptions>;

/** Everything an exporter can be told. Durations are kept in seconds. */
export const ExporterOptions = z.strictObject({
  listen: ListenAddress.prefault("127.0.0.1:9812"),
  grpcListen: ListenAddress.prefault("127.0.0.1:9813"),
  /** Where to answer `/healthz` and `/readyz` besides; absent: nowhere else. */
  probeListen: ListenAddress.optional(),
  /** Names by which the page and the API may be asked for, besides addresses and names that only a cluster gives. */
  allowedHosts: Names.default([]),
  /** Token that requests to the page and the API must show; absent: none. */
  httpTokenFile: z.string().min(1).optional(),
  /** Certificate and key of the page and the API; absent: no TLS. */
  httpTls: tlsFiles("--http-tls-").optional(),
  predictor: Targets.prefault("http://127.0.0.1:9811"),
  /** Token that the predictors ask for; absent: none. */
  predictorTokenFile: z.string().min(1).optional(),
  /** Authority of the predictors' certificates, PEM; absent: those that Node.js knows. */
  predictorCaFile: z.string().min(1).optional(),
  /** Name in the predictors' certificates; absent: the name or address that `predictor` gives. */
  predictorServerName: z.string().min(1).max(253).optional(),
  /** Node agents, asked only while no plan comes; absent: the last decisions are held. */
  agents: Targets.optional(),
  /** Token that the agents ask for; absent: none. */
  agentsTokenFile: z.string().min(1).optional(),
  /** Authority of the agents' certificates, PEM; absent: those that Node.js knows. */
  agentsCaFile: z.string().min(1).optional(),
  /** Directory for the decisions in force; without it they live in memory only. */
  state: z.string().min(1).optional(),
  /**
   * Lifetime of a decision, counted from the end of the measurements behind it. Five minutes outlive a restart of the
   * predictor with its first back-offs and are the window in which an HPA by default does not scale down on newer,
   * lower numbers; beyond that the forecast horizon is used up too, and KEDA's fallback knows more than we do.
   */
  staleAfter: Duration.pipe(z.number().min(1).max(86_400)).prefault("5m"),
  /**
   * Configurations of applications, for the bounds that the guard keeps: a file or `crd:namespace/name`; for several applications
   * several of them, a directory, or every one of a namespace.
   */
  application: z
    .union([
      z.array(z.string().min(1)).max(100),
      z
        .string()
        .min(1)
        .transform((one) => [one]),
    ])
    .default([]),
  /**
   * What the guard allows. Chosen so that a service of a few replicas follows any honest plan at once (1 to 7, 4 to 16, 4 to
   * 2), and that one wrong plan leaves half of what runs.
   */
  limits: z
    .strictObject({
      /** Most replicas of a service that the application's configuration does not name. */
      maxReplicas: z.coerce.number().int().min(1).max(100_000).default(1_000),
      /** Whether such a service may have no replica at all. */
      scaleToZero: z.boolean().default(false),
      /** One decision makes at most this many times as many replicas, and `growReplicas` more. */
      growRatio: z.coerce.number().min(1).max(1_000).default(3),
      growReplicas: z.number().int().min(1).default(4),
      /** One decision leaves at least this share of the replicas. */
      shrinkRatio: z.coerce.number().min(0).max(1).default(0.5),
    })
    .prefault({}),
  /** Scalers of other clusters, whose applications the page shows beside its own; absent: none. */
  fleet: Targets.optional(),
  /** Token that all of them take; absent: they ask for none. */
  fleetTokenFile: z.string().min(1).optional(),
  /** Address of OTLP over HTTP that gets a trace of each decision; absent: none is sent. */
  tracesEndpoint: z.string().min(1).optional(),
  /** What `tradewind backtest --json` printed, for the page; absent: none. */
  backtestReport: z.string().min(1).optional(),
  restartGrace: Duration.pipe(z.number().min(0).max(86_400)).prefault("120s"),
  /**
   * How much later than our own clock a plan may be dated. Clocks of nodes that are kept by NTP differ by milliseconds; ten
   * seconds let one that has lost its server for a day through.
   */
  clockTolerance: Duration.pipe(z.number().min(0).max(3_600)).prefault("10s"),
  /**
   * The process ends itself when one of its threads has not run for this long; 0: never. KEDA sets no deadline on its calls,
   * so every HPA of a cluster waits for an exporter that hangs.
   */
  watchdog: Duration.pipe(
    z
      .number()
      .max(600)
      .refine((seconds) => seconds === 0 || seconds >= 1, "must be 0 or at least 1s"),
  ).prefault(0),
  /** Of the gRPC port. With `clientCa` clients must show a certificate of that authority. */
  tls: tlsFiles("--grpc-tls-")
    .extend({ clientCa: z.string().min(1).optional() })
    .optional(),
  cluster: ClusterOptions.prefault({}),
  /** Share of a core that one sender may keep busy, at the gRPC port and at the HTTP port. */
  maxSenderWork: z.coerce.number().min(0.01).max(100).default(MAX_SENDER_WORK),
  logLevel: z.enum(LOG_LEVELS).default("info"),
  /** Longest wait for one answer of the predictor. */
  predictorDeadline: Duration.pipe(z.number().min(0.05).max(60)).prefault("1s"),
  pollMs: z.number().int().min(10).max(60_000).default(1_000),
  /** While no plan comes the agents are asked, and decisions made, this often. */
  agentsPollMs: z.number().int().min(10).max(60_000).default(5_000),
  scaler: z
    .strictObject({
      maxRequestBytes: z
        .number()
        .int()
        .min(1_024)
        .default(2 * 2 ** 20),
      deadlineMs: z.number().int().min(10).default(5_000),
      maxCalls: z.number().int().min(1).default(10_000),
      maxHeldBytes: z
        .number()
        .int()
        .min(1_024)
        .default(16 * 2 ** 20),
      maxConnectionCalls: z.number().int().min(4).default(32),
      maxConnections: z.number().int().min(2).default(500),
      maxConnectionsPerAddress: z.number().int().min(1).default(200),
      handshakeMs: z.number().int().min(10).default(10_000),
      maxStreams: z.number().int().min(1).default(14_000),
      maxStreamsPerAddress: z.number().int().min(1).default(10_000),
      streamLifetimeMs: z.number().int().min(10).default(600_000),
      keepaliveMs: z.number().int().min(100).default(30_000),
      keepaliveTimeoutMs: z.number().int().min(100).default(10_000),
      connectionAgeMs: z.number().int().min(100).default(300_000),
      connectionAgeGraceMs: z.number().int().min(0).default(660_000),
    })
    .prefault({}),
});
export type ExporterOptions = z.output<typeof ExporterOptions>;
/** As a caller may write them: every field has a default. */
export type ExporterInput = z.input<typeof ExporterOptions>;
