import { POLICY_CHOICES, PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";
import { serve } from "@tradewind/core/process/serve.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import type { PredictorOptionsInput } from "./run/process/options.ts";

const EXAMPLES = `
Examples:
  $ tradewind predictor --config app.yaml --agents http://127.0.0.1:9810 --workloads workloads.json
  $ tradewind predictor --config app.yaml --policy static --window 30s
  $ tradewind predictor --config crd:shop/hotel --workloads kubernetes \\
      --agents dns+http://tradewind-agent.tradewind.svc:9810 \\
      --peers dns+http://tradewind-peers.tradewind.svc:9814 \\
      --peers-listen 0.0.0.0:9814 --peers-secret-file /etc/tradewind/peers/secret

The smallest configuration:
  entry: frontend
  objective: { milliseconds: 250 }
`;

/** Adds the predictor's description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Turn traces and node snapshots into a plan of replicas: once per window, and at surges.")
    .requiredOption(
      "--config <file>",
      "application and objective, YAML or JSON; or crd:namespace/name. Several applications: a directory, crd:namespace/*, or the flag again",
      oneMore,
    )
    .option("--sources <file>", "sections `sources` and `store`, where --config names a resource or several")
    .option("--listen <host:port>", "address of /v1/plan, /metrics and the other pages", "127.0.0.1:9811")
    .option("--probe-listen <host:port>", "/healthz and /readyz on a port of their own (default: off)")
    .addOption(
      new Option(
        "--allowed-hosts <names>",
        "names of --listen besides addresses and *.svc; *.domain for all under it",
      )
        .argParser(urlList)
        .default([], "none"),
    )
    .option("--max-sender-work <ratio>", "share of a core that one sender may keep busy, at each port", "0.5")
    .option("--http-token-file <file>", "token that requests to --listen must show")
    .option("--http-tls-cert <file>", "certificate of --listen, PEM; with it that port speaks TLS only")
    .option("--http-tls-key <file>", "its key, PEM")
    .option("--otlp-listen <host:port>", "address of POST /v1/traces (OTLP)", "127.0.0.1:4318")
    .option("--otlp-grpc-listen <host:port>", "address for OTLP over gRPC, usually port 4317 (default: off)")
    .option(
      "--otlp-token-file <file>",
      "take spans only of who shows a token of this file (default: of anyone)",
    )
    .option("--otlp-tls-cert <file>", "certificate of the OTLP ports, PEM; with it they speak TLS only")
    .option("--otlp-tls-key <file>", "its key, PEM")
    .addOption(
      new Option(
        "--agents <urls>",
        "node agents, separated by commas; dns+http://name:port for all of a name",
      )
        .argParser(urlList)
        .default([], "none"),
    )
    .option("--agents-token-file <file>", "token that the agents ask for")
    .option("--agents-ca-file <file>", "authority of the agents' certificates, PEM (default: public ones)")
    .addOption(
      new Option(
        "--peers <urls>",
        "addresses at which all predictors behind one Service listen for each other, to share spans",
      )
        .argParser(urlList)
        .default([], "none"),
    )
    .option("--peers-listen <host:port>", "address for the other predictors, with --peers", "127.0.0.1:9814")
    .option(
      "--peers-secret-file <file>",
      "secret that all predictors share, at least 16 bytes; --peers needs it",
    )
    .option(
      "--peers-tls-cert <file>",
      "certificate for --peers-listen and to show to peers, PEM; with it predictors speak mutual TLS only",
    )
    .option("--peers-tls-key <file>", "its key, PEM")
    .option("--peers-tls-ca <file>", "authority of all predictors' certificates, PEM")
    .option(
      "--planners-per-application <count>",
      "with --peers: how many of the predictors plan each of several applications, at least 2 (default: all)",
      wholeNumber,
    )
    .option(
      "--workloads <source>",
      "workloads and their pods: a file, or kubernetes[:namespace,…|:*] (default: the application's namespace)",
    )
    .option("--kubeconfig <file>", "how to reach the cluster from outside of it")
    .option(
      "--webhook-file <file>",
      "file with the address of an incoming webhook, in Slack's form, that is told why an objective is missed",
    )
    .option(
      "--reasoner-url <url>",
      "OpenAI-compatible API that is asked why an objective is missed, too (default: none)",
    )
    .option("--reasoner-model <name>", "model that it is asked for; --reasoner-url needs it")
    .option("--reasoner-key-file <file>", "file with the key that it asks for")
    .option("--reasoner-ca-file <file>", "authority of its certificate, PEM (default: public ones)")
    .option("--reasoner-requests <count>", "requests to it in a day, at most", wholeNumber, 200)
    .addOption(
      new Option("--reasoner-timeout <duration>", "how long an answer of it may take, up to 30m")
        .argParser(duration)
        .default(120, "2m"),
    )
    .addOption(new Option("--window <duration>", "length of a window").argParser(duration).default(15, "15s"))
    .option(
      "--grace <duration>",
      "wait for late spans after a window (default: a third of it, at most 5s)",
      duration,
    )
    .addOption(
      new Option("--policy <policy>", "auto: cheapest sizes; queue: queue balancing; static: no change")
        .choices(POLICY_CHOICES)
        .argParser(policyChoice)
        .default("auto"),
    )
    .option("--state <dir>", "directory for what must outlive a restart; without it, nothing is kept")
    .addOption(new Option("--log-level <level>", "least level logged").choices(LOG_LEVELS).default("info"))
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => run(flags));
}

interface Flags {
  readonly config: string[];
  readonly listen: string;
  readonly probeListen?: string;
  readonly allowedHosts: readonly string[];
  readonly maxSenderWork: string;
  readonly httpTokenFile?: string;
  readonly httpTlsCert?: string;
  readonly httpTlsKey?: string;
  readonly agentsTokenFile?: string;
  readonly agentsCaFile?: string;
  readonly otlpListen: string;
  readonly otlpGrpcListen?: string;
  readonly otlpTokenFile?: string;
  readonly otlpTlsCert?: string;
  readonly otlpTlsKey?: string;
  readonly sources?: string;
  readonly agents: readonly string[];
  readonly peers: readonly string[];
  readonly peersListen: string;
  readonly peersSecretFile?: string;
  readonly peersTlsCert?: string;
  readonly peersTlsKey?: string;
  readonly peersTlsCa?: string;
  readonly plannersPerApplication?: number;
  readonly workloads?: string;
  readonly kubeconfig?: string;
  readonly webhookFile?: string;
  readonly reasonerUrl?: string;
  readonly reasonerModel?: string;
  readonly reasonerKeyFile?: string;
  readonly reasonerCaFile?: string;
  readonly reasonerRequests: number;
  readonly reasonerTimeout: number;
  readonly window: number;
  readonly grace?: number;
  readonly policy: PolicyChoice;
  readonly state?: string;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** Starts the predictor, says so in one line on standard output, and stops it on SIGINT or SIGTERM. */
async function run(flags: Flags): Promise<void> {
  const { startPredictor } = await import("./predictor.ts");
  await serve("predictor", async () => startPredictor(optionsOf(flags)));
}

function optionsOf({
  window,
  grace,
  agents,
  allowedHosts,
  peers,
  httpTlsCert,
  httpTlsKey,
  otlpTlsCert,
  otlpTlsKey,
  peersTlsCert,
  peersTlsKey,
  peersTlsCa,
  reasonerUrl,
  reasonerModel,
  reasonerKeyFile,
  reasonerCaFile,
  reasonerRequests,
  reasonerTimeout,
  ...flags
}: Flags): PredictorOptionsInput {
  return {
    ...flags,
    allowedHosts: [...allowedHosts],
    httpTls: tlsFiles(httpTlsCert, httpTlsKey),
    otlpTls: tlsFiles(otlpTlsCert, otlpTlsKey),
    peersTls: peersTls(peersTlsCa, tlsFiles(peersTlsCert, peersTlsKey)),
    ...(reasonerUrl !== undefined && {
      reasoner: {
        url: reasonerUrl,
        model: reasonerModel ?? "",
        requestsPerDay: reasonerRequests,
        timeoutSeconds: reasonerTimeout,
        ...(reasonerKeyFile !== undefined && { keyFile: reasonerKeyFile }),
        ...(reasonerCaFile !== undefined && { caFile: reasonerCaFile }),
      },
    }),
    agents: [...agents],
    peers: [...peers],
    windowSeconds: window,
    ...(grace !== undefined && { graceSeconds: grace }),
  };
}

/** One without the other is refused by the options. */
function tlsFiles(cert: string | undefined, key: string | undefined): PredictorOptionsInput["httpTls"] {
  return cert === undefined && key === undefined ? undefined : { cert: cert ?? "", key: key ?? "" };
}

function oneMore(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

function peersTls(
  ca: string | undefined,
  files: PredictorOptionsInput["httpTls"],
): PredictorOptionsInput["peersTls"] {
  return ca === undefined && files === undefined
    ? undefined
    : { ca: ca ?? "", cert: files?.cert ?? "", key: files?.key ?? "" };
}

function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`'${text}' is not a whole number`);
}

function urlList(text: string): string[] {
  return text
    .split(",")
    .map((url) => url.trim())
    .filter((url) => url !== "");
}

function policyChoice(text: string): PolicyChoice {
  const { data, error } = PolicyChoice.safeParse(text);
  if (data === undefined) throw new InvalidArgumentError(error?.issues[0]?.message ?? "");
  return data;
}

function duration(text: string): number {
  try {
    return parseDurationSeconds(text);
  } catch (error) {
    throw new InvalidArgumentError(describeError(error));
  }
}
