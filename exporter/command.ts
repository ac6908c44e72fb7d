import { Option } from "commander";
import type { Command } from "commander";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";
import { serve } from "@tradewind/core/process/serve.ts";
import type { ExporterInput } from "./options.ts";
import { keepHeapSmall } from "./serve/keda/small-heap.ts";

interface Flags {
  listen: string;
  grpcListen: string;
  probeListen?: string;
  allowedHosts?: string;
  httpTokenFile?: string;
  httpTlsCert?: string;
  httpTlsKey?: string;
  predictor: string;
  predictorTokenFile?: string;
  predictorCaFile?: string;
  predictorServerName?: string;
  agents?: string;
  agentsTokenFile?: string;
  agentsCaFile?: string;
  state?: string;
  staleAfter: string;
  restartGrace: string;
  clockTolerance: string;
  maxSenderWork: string;
  watchdog: string;
  fleet?: string;
  fleetTokenFile?: string;
  tracesEndpoint?: string;
  backtestReport?: string;
  config: string[];
  maxReplicas: string;
  maxGrowth: string;
  minShare: string;
  scaleToZero: boolean;
  logLevel: (typeof LOG_LEVELS)[number];
  status: boolean;
  events: boolean;
  vpa: boolean;
  inPlaceResize: boolean;
  lease?: string;
  kubeconfig?: string;
  grpcTlsCert?: string;
  grpcTlsKey?: string;
  grpcTlsCa?: string;
  application: string[];
  "tls.cert"?: string;
  "tls.key"?: string;
  "tls.clientCa"?: string;
}

const EXAMPLES = `
Examples:
  tradewind scaler --predictor http://127.0.0.1:9811 --state /var/lib/tradewind
      Serve KEDA on 127.0.0.1:9813, and the web page on http://127.0.0.1:9812.
  tradewind scaler --grpc-listen 0.0.0.0:9813 --grpc-tls-cert tls.crt --grpc-tls-key tls.key --grpc-tls-ca ca.crt
      Serve KEDA across the network, with mutual TLS; renewed files are taken up without a restart.
  tradewind scaler --predictor http://127.0.0.1:9811,dns+http://tradewind-predictor-peers.tradewind.svc:9811 --status --events
      One of several in a cluster: all follow the same predictor, and one of them writes.`;

/** Adds what `tradewind scaler` takes and does. */
export function configure(command: Command): void {
  command
    .description("KEDA external scaler: guards, serves and remembers what the predictor recommends.")
    .option("--listen <host:port>", "HTTP: web page, metrics, API", "127.0.0.1:9812")
    .option("--grpc-listen <host:port>", "gRPC: KEDA", "127.0.0.1:9813")
    .option("--probe-listen <host:port>", "HTTP: /healthz and /readyz on a port of their own (default: off)")
    .option(
      "--allowed-hosts <names>",
      "names of the HTTP port besides addresses and *.svc; *.domain for all (default: none)",
    )
    .option("--http-token-file <file>", "token that requests to the HTTP port must show")
    .option("--http-tls-cert <file>", "certificate of the HTTP port, PEM; with it that port speaks TLS only")
    .option("--http-tls-key <file>", "its key, PEM")
    .option(
      "--predictor <urls>",
      "where plans come from; of several the one that has run longest counts; dns+http://name:port for all of a name",
      "http://127.0.0.1:9811",
    )
    .option("--predictor-token-file <file>", "token that the predictors ask for")
    .option(
      "--predictor-ca-file <file>",
      "authority of the predictors' certificates, PEM (default: public ones)",
    )
    .option(
      "--predictor-server-name <name>",
      "name in the predictors' certificates (default: the one that --predictor gives)",
    )
    .option(
      "--agents <urls>",
      "node agents, asked while no plan comes; dns+http://name:port for all of a name (default: hold the last decisions)",
    )
    .option("--agents-token-file <file>", "token that the agents ask for")
    .option("--agents-ca-file <file>", "authority of the agents' certificates, PEM (default: public ones)")
    .option("--state <directory>", "keep decisions here across restarts")
    .option("--stale-after <duration>", "how long a decision may be served after its measurements", "5m")
    .option("--restart-grace <duration>", "take nothing away this long after a start", "120s")
    .addOption(
      new Option(
        "--config <file | crd:namespace/name>",
        "the application's configuration, whose bounds the guard keeps whatever a plan says. Several: a directory, crd:namespace/*, or the flag again",
      )
        .argParser(oneMore)
        .default([], "none"),
    )
    .addOption(new Option("--application <file>").argParser(oneMore).default([]).hideHelp())
    .option("--max-replicas <n>", "most replicas of a service that --config does not name", "1000")
    .option("--scale-to-zero", "let such a service have no replica at all", false)
    .option(
      "--max-growth <ratio>",
      "most replicas after 12 s of decisions over those before, and 4 more",
      "3",
    )
    .option("--min-share <ratio>", "least replicas after 12 s of decisions over those before", "0.5")
    .option("--clock-tolerance <duration>", "refuse plans dated this much later than this clock", "10s")
    .option(
      "--max-sender-work <ratio>",
      "share of a core that one sender may keep busy, at the gRPC port and at the HTTP port",
      "0.5",
    )
    .option(
      "--watchdog <duration>",
      "end the process when one of its threads hangs this long; 0: never",
      "3s",
    )
    .option(
      "--fleet <urls>",
      "scalers of other clusters, separated by commas, whose applications the page shows too (default: none)",
    )
    .option("--fleet-token-file <file>", "token that those scalers take")
    .option(
      "--traces-endpoint <url>",
      "send a trace of each decision there, by OTLP over HTTP, for example http://collector:4318 (default: none)",
    )
    .option("--backtest-report <file>", "show what `tradewind backtest --json` wrote there in the console")
    .option("--grpc-tls-cert <file>", "certificate of the gRPC port, PEM; with it that port speaks TLS only")
    .option("--grpc-tls-key <file>", "its key, PEM")
    .option("--grpc-tls-ca <file>", "authority that KEDA's client certificate must come from, PEM")
    .addOption(new Option("--tls.cert <file>").hideHelp())
    .addOption(new Option("--tls.key <file>").hideHelp())
    .addOption(new Option("--tls.client-ca <file>").hideHelp())
    .option("--status", "leader: write the status of the Application resource", false)
    .option(
      "--events",
      "leader: write events when what is recommended changes, or KEDA's HPA does not read it",
      false,
    )
    .option("--vpa", "leader: be the VerticalPodAutoscaler recommender 'tradewind'", false)
    .option("--in-place-resize", "leader: resize running pods where the application's mode is 'act'", false)
    .option(
      "--lease <name>",
      "Lease that the leader holds, one name for each release (default: tradewind-exporter)",
    )
    .option("--kubeconfig <file>", "how to reach the cluster from outside of it")
    .addOption(new Option("--log-level <level>", "what to log").choices(LOG_LEVELS).default("info"))
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      keepHeapSmall();
      const { startExporter } = await import("./exporter.ts");
      await serve("exporter", async () => startExporter(inputOf(flags)));
    });
}

const oneMore = (text: string, before: readonly string[]): string[] => [...before, text];

/** A flag by its name of before, which manifests may still have. */
function renamed<Value>(now: Value, earlier: Value, names: string): Value {
  if (earlier === undefined || (Array.isArray(earlier) && earlier.length === 0)) return now;
  process.emitWarning(`${names}; the earlier name goes with a later release`);
  return Array.isArray(now) && now.length > 0 ? now : (earlier ?? now);
}

function inputOf(flags: Flags): ExporterInput {
  const {
    "tls.cert": oldCert,
    "tls.key": oldKey,
    "tls.clientCa": oldCa,
    application,
    config,
    ...others
  } = flags;
  const { grpcTlsCa, grpcTlsCert, grpcTlsKey, httpTlsCert, httpTlsKey, ...further } = others;
  const { events, inPlaceResize, kubeconfig, lease, status, vpa, ...more } = further;
  const { maxGrowth: growRatio, maxReplicas, minShare: shrinkRatio, scaleToZero, ...plain } = more;
  const cert = renamed(grpcTlsCert, oldCert, "--tls.cert is called --grpc-tls-cert");
  const key = renamed(grpcTlsKey, oldKey, "--tls.key is called --grpc-tls-key");
  const clientCa = renamed(grpcTlsCa, oldCa, "--tls.client-ca is called --grpc-tls-ca");
  const { POD_NAME: identity, POD_NAMESPACE: namespace } = process.env;
  const hasTls = cert !== undefined || key !== undefined || clientCa !== undefined;
  const hasHttpTls = httpTlsCert !== undefined || httpTlsKey !== undefined;
  return {
    ...plain,
    application: renamed(config, application, "--application is called --config"),
    limits: { maxReplicas, scaleToZero, growRatio, shrinkRatio },
    cluster: { events, inPlaceResize, kubeconfig, lease, status, vpa, identity, namespace },
    ...(hasTls && { tls: { cert: cert ?? "", key: key ?? "", clientCa } }),
    ...(hasHttpTls && { httpTls: { cert: httpTlsCert ?? "", key: httpTlsKey ?? "" } }),
  };
}
