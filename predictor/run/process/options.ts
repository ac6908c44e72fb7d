import { targetProblem } from "@tradewind/core/net/addresses.ts";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";
import { z } from "zod";
import { MAX_SENDER_WORK } from "@tradewind/core/net/sender-work.ts";
import { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import { patternedText } from "@tradewind/core/contract/quantity.ts";
import { PolicySettings } from "../../decide/facts/settings.ts";

const ListenAddress = patternedText(
  262,
  /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):\d{1,5}$/,
  "must be host:port, for example 127.0.0.1:9811",
).refine((text) => Number(text.slice(text.lastIndexOf(":") + 1)) <= 65_535, "the port must be at most 65535");

const Target = z.string().superRefine((text, context) => {
  const problem = targetProblem(text);
  if (problem !== undefined) context.addIssue(problem);
});

/** @param flags how they are called on the command line */
const tlsFiles = (flags: string) => {
  const File = z.string().min(1, `missing; give ${flags}-cert and ${flags}-key together`);
  return z.strictObject({ cert: File, key: File, refreshMs: z.number().min(10).optional() });
};

export const PredictorOptions = z.strictObject({
  config: z
    .union([
      z.array(z.string().min(1)).min(1).max(100),
      z
        .string()
        .min(1)
        .transform((one) => [one]),
    ])
    .describe(
      "YAML or JSON file with the application and its objective, or crd:namespace/name; for several applications several of them, a directory, or crd:namespace/*.",
    ),
  /** Where an Application resource is the configuration, which has no such sections, or several applications are. */
  sources: z.string().min(1).optional().describe("File with the sections `sources` and `store`."),
  listen: ListenAddress.default("127.0.0.1:9811"),
  /** Where to answer `/healthz` and `/readyz` besides; absent: nowhere else. */
  probeListen: ListenAddress.optional(),
  /** Names by which `listen` may be asked for, besides addresses and names that only a cluster gives. */
  allowedHosts: z.array(z.string().min(1)).default([]),
  /** Share of a core that one sender may keep busy, at each port. */
  maxSenderWork: z.coerce.number().min(0.01).max(100).default(MAX_SENDER_WORK),
  /** Token that requests to `listen` must show; absent: none. */
  httpTokenFile: z.string().min(1).optional(),
  /** Certificate and key for `listen`, PEM files; absent: no TLS. */
  httpTls: tlsFiles("--http-tls").optional(),
  /** Token that the agents ask for; absent: none. */
  agentsTokenFile: z.string().min(1).optional(),
  /** Authority of the agents' certificates, PEM; absent: those that Node.js knows. */
  agentsCaFile: z.string().min(1).optional(),
  otlpListen: ListenAddress.default("127.0.0.1:4318"),
  /** Where to take OTLP over gRPC too; absent: nowhere. */
  otlpGrpcListen: ListenAddress.optional(),
  /** Certificate and key for both OTLP ports, PEM files; absent: no TLS. */
  otlpTls: tlsFiles("--otlp-tls").optional(),
  otlpTokenFile: z.string().min(1).optional().describe("File with the tokens that senders of spans show."),
  /** `http://host:port`, or `dns+http://name:port` for every address of a name. */
  agents: z.array(Target).max(5_000).default([]),
  /** Addresses at which all predictors that clients may send spans to listen for each other. */
  peers: z.array(Target).max(64).default([]),
  /** Where to listen for the other predictors; only with `peers`. */
  peersListen: ListenAddress.default("127.0.0.1:9814"),
  /** Certificate, key and authority with which predictors prove to each other that they are some; absent: plain HTTP. */
  peersTls: tlsFiles("--peers-tls")
    .extend({ ca: z.string().min(1, "missing; give --peers-tls-ca with --peers-tls-cert") })
    .optional(),
  peersSecretFile: z.string().min(1).optional().describe("File with the secret that predictors share."),
  /** How many predictors plan each of several applications; absent: all do. One alone leaves a gap when it dies. */
  plannersPerApplication: z.number().int().min(2).max(64).optional(),
  workloads: z
    .string()
    .min(1)
    .optional()
    .describe("File with the workloads and their pods, or kubernetes[:namespace,…]."),
  /** How to reach the cluster from outside of it. */
  kubeconfig: z.string().min(1).optional(),
  /** File with the address of an incoming webhook (Slack's form) that is told why an objective is missed; absent: nobody is. */
  webhookFile: z.string().min(1).optional(),
  /** A server that speaks OpenAI's chat completions, asked besides the built-in reasoner; absent: none. */
  reasoner: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }),
      model: z.string().min(1).max(200),
      keyFile: z.string().min(1).optional(),
      caFile: z.string().min(1).optional(),
      requestsPerDay: z.number().int().min(1).max(100_000),
      timeoutSeconds: z.number().min(1).max(1_800).default(120),
    })
    .optional(),
  windowSeconds: z.number().min(0.5).max(3_600).default(15),
  /** Default: 5 s, or a third of the window where that is less. */
  graceSeconds: z.number().min(0).max(60).optional(),
  policy: PolicyChoice.default("auto"),
  state: z.string().min(1).optional().describe("Directory that keeps the policies' state over restarts."),
  logLevel: z.enum(LOG_LEVELS).default("info"),
  /** Polls keep ahead of the time after which a container is not known. */
  agentPollMs: z.number().min(50).max(60_000).default(2_000),
  agentTimeoutMs: z.number().min(50).max(60_000).default(2_000),
  workloadsPollMs: z.number().min(20).max(60_000).default(500),
  settings: PolicySettings.prefault({}),
});
export type PredictorOptions = z.infer<typeof PredictorOptions>;
/** Options with every default left out. */
export type PredictorOptionsInput = z.input<typeof PredictorOptions>;
