import { createReadStream, existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { Window } from "@tradewind/core/contract/window.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { parseObjectiveSeconds } from "@tradewind/core/values/units.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import { readCluster } from "@tradewind/kubernetes/init/read-cluster.ts";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";
import { readSlo } from "@tradewind/kubernetes/init/slo.ts";
import { writeNew } from "@tradewind/kubernetes/init/write-new.ts";
import { findPrometheus } from "@tradewind/kubernetes/port-forward/prometheus-pod.ts";
import { createProgress } from "@tradewind/local/screen/progress.ts";
import type { Progress } from "@tradewind/local/screen/progress.ts";
import { scopeOf } from "@tradewind/predictor/sources/prometheus/detection.ts";
import type { Detected } from "@tradewind/predictor/sources/prometheus/detection.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import { StoreOptions } from "@tradewind/predictor/store/options.ts";
import { filesOf } from "../try/files.ts";
import type { MetricsAddress } from "../try/files.ts";
import { insightOf } from "../try/insight.ts";
import type { Insight, Reading } from "../try/insight.ts";
import { foundInState, readState } from "../try/objects-of-series.ts";
import { tryPage } from "../try/page.ts";
import { calledServices, intervalsOf } from "../try/proposal.ts";
import { errorLines, objectiveWords, outcomes, replayedTime, verdict } from "../try/words.ts";
import { readSource, readStored } from "./read-recording.ts";

const EXAMPLES = `
Examples:
  $ tradewind try --demo
      A recorded incident, without any cluster.
  $ tradewind try --prometheus http://127.0.0.1:9090 --namespace shop
      A week of a namespace as Prometheus has it, for example behind kubectl port-forward. Reads, and changes nothing.
  $ tradewind try --prometheus http://127.0.0.1:9090 --kubeconfig ~/.kube/config --namespace shop --objective 250ms
      The same, with workloads and autoscalers as the cluster has them.
  $ tradewind try --kubeconfig ~/.kube/config --namespace shop
      The same; its Prometheus is looked for, and reached through the Kubernetes API.
  $ tradewind try --recording shop/ --namespace shop
      A folder: windows that tradewind export printed (*.jsonl) or a predictor's history, with manifests beside them.

Writes one page, index.html, and what to apply beside it: values of the chart, the Application, the ScaledObjects, the way back.

${exitCodes("the page is written", "metrics or objects cannot be read, or no application can be made of them")}`;

interface Flags {
  readonly prometheus?: string;
  readonly namespace: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly recording?: string;
  readonly demo?: boolean;
  readonly entry?: string;
  readonly objective?: number;
  readonly slo?: string;
  readonly from?: number;
  readonly matcher: Readonly<Record<string, string>>;
  readonly bearerTokenFile?: string;
  readonly exclude: readonly string[];
  readonly include: readonly string[];
  readonly output: string;
  readonly json: boolean;
}

/** Adds what `tradewind try` takes and does. */
export function configure(command: Command): void {
  addJsonFlag(command)
    .description(
      "Say what Tradewind would have done for a namespace, before anything is installed. Reads only.",
    )
    .option(
      "--prometheus <url>",
      "server with the namespace's metrics: Prometheus, VictoriaMetrics, Thanos, Mimir",
    )
    .option("--namespace <name>", "namespace to look at", "default")
    .option("--kubeconfig <file>", "read workloads and autoscalers from the cluster, too")
    .option("--context <name>", "context of the kubeconfig")
    .option("--recording <folder>", "read a folder with exported windows and manifests instead of servers")
    .option("--demo", "replay a recorded incident")
    .option(
      "--entry <service>",
      "service that users call (default: what routes lead to, or the root of the calls)",
    )
    .option(
      "--objective <duration>",
      "latency that 95 of 100 requests must be under, for example 250ms",
      objective,
    )
    .option(
      "--from <time>",
      "begin of the past that is read: an ISO time, or how long ago (default: 7d)",
      timeArgument,
    )
    .option(
      "--matcher <label=value>",
      "label that all series have, for example cluster=eu; may be repeated",
      matcher,
      {},
    )
    .option("--bearer-token-file <file>", "token that the server asks for")
    .option("--slo <file>", "take the latency objective of an OpenSLO, Sloth or Pyrra file instead")
    .option("--exclude <names>", "workloads to leave alone, separated by commas", names, [])
    .option("--include <names>", "workloads to take although they would be left out", names, [])
    .option("--output <folder>", "where to write", "tradewind-try")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => run(flags));
}

/** What was read, and what to say of it. */
interface Looked extends Reading {
  readonly source: string;
  readonly notes: readonly string[];
  readonly metrics: MetricsAddress | undefined;
  readonly objectiveMilliseconds?: number;
}

const WEEK_MS = 7 * 86_400_000;
/** Measured of usual images: from the creation of a pod until it is ready. */
const POD_START_SECONDS = 45;
const PAGE = "index.html";

async function run(flags: Flags): Promise<void> {
  const { namespace, output } = flags;
  const server = flags.prometheus ?? flags.kubeconfig ?? flags.context;
  const ways = [server, flags.recording, flags.demo].filter((way) => way !== undefined);
  if (ways.length !== 1)
    throw new TradewindError(
      "invalid-input",
      "give one of --prometheus URL (or --kubeconfig FILE, to look for it), --recording FOLDER and --demo",
    );
  // Known before minutes are spent on it.
  if (existsSync(join(output, PAGE)))
    throw new TradewindError(
      "invalid-output",
      `${output} holds files of an earlier run; move them away or name another folder with --output`,
    );
  if (flags.slo !== undefined && flags.objective !== undefined)
    throw new TradewindError("invalid-input", "give --objective or --slo, not both");
  const slo = flags.slo === undefined ? undefined : await readSlo(flags.slo);
  const progress = createProgress(process.stderr, process.env);
  const show = progressWithTime(progress);
  const looked = await look(flags, show);
  const insight = await insightOf(
    looked,
    {
      namespace,
      entry: flags.entry,
      objectiveMilliseconds:
        slo?.milliseconds ??
        (flags.objective === undefined ? looked.objectiveMilliseconds : 1e3 * flags.objective),
      percentile: slo?.percentile,
      exclude: flags.exclude,
      include: flags.include,
      podStartSeconds: POD_START_SECONDS,
      seed: 1,
    },
    show,
  );
  const files = filesOf(insight.proposed, namespace, looked.metrics);
  const notes = [...looked.notes, ...insight.proposed.notes];
  const text = tryPage(insight, { namespace, source: looked.source, notes, folder: output, files });
  await writeNew([{ name: PAGE, text }, ...files], output);
  const page = join(output, PAGE);
  progress.say(`the page is ${page}`);
  printAnswer(
    {
      json: {
        page,
        files: files.map(({ name }) => join(output, name)),
        verdict: verdict(insight),
        entry: insight.proposed.entry,
        entryFrom: insight.entryFrom,
        objective: insight.application.objective,
        objectiveFrom: insight.objectiveFrom,
        services: insight.proposed.surveyed.workloads.map(({ service }) => service),
        leftOut: insight.proposed.surveyed.leftOut.map(({ name, reason }) => ({ name, reason })),
        source: looked.source,
        notes,
        unreplayed: insight.unreplayed,
        report: insight.report && {
          ...insight.report,
          routes: insight.report.routes.map((route) => ({ ...route, series: undefined })),
        },
      },
      text: (paint) => inWords(insight, page, paint),
    },
    flags.json,
  );
}

function inWords(insight: Insight, page: string, paint: Paint): string {
  const { proposed, report } = insight;
  const head = [
    verdict(insight),
    "",
    `objective: ${objectiveWords(insight)}`,
    `entry: ${proposed.entry} (${insight.entryFrom})`,
  ];
  const end = [`what you have, what to apply and the way back: ${page}`];
  if (report === undefined) return [...head, ...end].join("\n");
  const table = renderTable(
    ["run by", "figures", "over the objective", "cost per hour", "pods"].map((title) => ({
      title,
      align: "left" as const,
    })),
    outcomes(report).map(({ cost, pods, slow, source, what }) => [what, source, slow, cost, pods]),
    paint,
  );
  return [...head, ...errorLines(report), "", replayedTime(report), table, "", ...end].join("\n");
}

type Show = (what: string, doneRatio: number) => void;

function progressWithTime(progress: Progress): Show {
  const beganMs = performance.now();
  return (what, doneRatio) => {
    const seconds = Math.round((performance.now() - beganMs) / 1e3);
    progress.show(`${what}: ${Math.round(100 * doneRatio)} %, ${seconds} s so far`);
  };
}

async function look(flags: Flags, show: Show): Promise<Looked> {
  if (flags.demo === true) {
    show("simulating the incident", 0);
    const { recordedIncident } = await import("../try/demo.ts");
    return {
      ...(await recordedIncident()),
      source: "the demonstration's recording, made by the simulator",
      notes: [],
      metrics: undefined,
    };
  }
  return flags.recording === undefined
    ? lookAtServer(flags, show)
    : lookAtFolder(flags.recording, flags.namespace);
}

async function lookAtServer(flags: Flags, show: Show): Promise<Looked> {
  const { namespace } = flags;
  const nowMs = systemClock.nowMs();
  await using stack = new AsyncDisposableStack();
  show("looking at the cluster", 0);
  const cluster = await lookAtCluster(flags, stack);
  const url = flags.prometheus ?? cluster?.forwarded?.url ?? "";
  const open = (namespaces: readonly string[]): PrometheusSource => {
    const options = parseWith(
      PrometheusOptions,
      {
        url,
        namespaces,
        resources: true,
        matchers: flags.matcher,
        ...(flags.bearerTokenFile !== undefined && { bearerTokenFile: flags.bearerTokenFile }),
        timeoutSeconds: 60,
        backfill: { concurrency: 4 },
      },
      "--prometheus",
    );
    const source = new PrometheusSource(options, { namespace, entries: () => [] });
    stack.defer(async () => source.close());
    return source;
  };
  show("looking for metrics", 0);
  const query = { fromMs: flags.from ?? nowMs - WEEK_MS, toMs: nowMs };
  const { detected, source } = await detectIn(query, open([namespace]), open([]));
  const { windows } = await readSource(
    source,
    StoreOptions.parse({}),
    query,
    { log: createLog("try", "warn"), onProgress: (done) => show("reading the past", done) },
    1,
  );
  const sets = intervalsOf(windows);
  const called = calledServices(sets);
  const state =
    cluster === undefined
      ? await readState(source.client, namespace, scopeOf(source.options), detected.lastMs)
      : [];
  const isStateless = cluster === undefined && state.length === 0;
  return {
    found: cluster?.found ?? foundInState(state, namespace, called),
    sets,
    source: `${new URL(url).host}, request metrics of ${detected.mapping.name}`,
    notes: [
      ...(cluster?.notes ?? []),
      ...source.remarks().map(({ message, remedy }) => `${message}: ${remedy}`),
      ...(isStateless
        ? [
            "kube-state-metrics has nothing of this namespace: workloads and replicas are guessed; give --kubeconfig",
          ]
        : []),
    ],
    metrics: {
      url: cluster?.forwarded?.inCluster ?? url,
      isOfCluster: cluster?.forwarded !== undefined || !LOOPBACK.has(new URL(url).hostname),
      namespaces: source.options.namespaces,
      matchers: flags.matcher,
    },
  };
}

/**
 * Request metrics of now, else those that ended within the time; of the namespace, else of those that say none, as span metrics
 * and SDKs often do.
 */
async function detectIn(
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  within: PrometheusSource,
  anywhere: PrometheusSource,
): Promise<{ readonly detected: Detected; readonly source: PrometheusSource }> {
  let problem: unknown;
  for (const sinceMs of [toMs, fromMs]) {
    for (const source of [within, anywhere]) {
      try {
        return { detected: await source.detect(toMs, undefined, sinceMs), source };
      } catch (error) {
        if (!(error instanceof TradewindError) || error.code !== "no-series") throw error;
        problem = error;
      }
    }
  }
  throw problem;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** What the cluster has, and the way to its Prometheus where no address was given. */
interface ClusterLook extends Pick<Looked, "found" | "notes"> {
  readonly forwarded?: { readonly url: string; readonly inCluster: string };
}

/** @param stack ends the forwarded port */
async function lookAtCluster(
  { context, kubeconfig, namespace, prometheus }: Flags,
  stack: AsyncDisposableStack,
): Promise<ClusterLook | undefined> {
  if (kubeconfig === undefined && context === undefined) return undefined;
  const client = new ApiClient(await connect({ kubeconfig, context, environment: process.env }));
  stack.defer(async () => client.close());
  const read = await readCluster(client, namespace);
  if (prometheus !== undefined) return read;
  const { pod, url } = await findPrometheus(client);
  const { readKubeconfig } = await import("@tradewind/kubernetes/client/kubeconfig.ts");
  const { forwardPort } = await import("@tradewind/kubernetes/port-forward/forward.ts");
  const forwarded = await forwardPort(readKubeconfig(kubeconfig, context).config, pod);
  stack.defer(async () => forwarded.close());
  return { ...read, forwarded: { url: `http://127.0.0.1:${forwarded.port}`, inCluster: url } };
}

async function lookAtFolder(folder: string, namespace: string): Promise<Looked> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new TradewindError("invalid-input", `${folder} cannot be read`, { cause: error });
  });
  const history = [join(folder, HISTORY_FILE), join(folder, "predictor", HISTORY_FILE)].some((path) =>
    existsSync(path),
  );
  const lines = names.filter((name) => name.endsWith(".jsonl")).sort();
  const sets = history
    ? readStored(folder, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER })
    : await readLines(
        lines.map((name) => join(folder, name)),
        namespace,
      );
  if (sets.length === 0)
    throw new TradewindError(
      "invalid-input",
      `${folder} holds no windows of namespace '${namespace}': tradewind export --format jsonl prints them`,
    );
  const manifests = names.filter((name) => /\.ya?ml$/.test(name.slice(-5))).map((name) => join(folder, name));
  const read =
    manifests.length === 0
      ? undefined
      : await readManifests(manifests, namespace, async () => Promise.resolve(""));
  return {
    found: read?.found ?? foundInState([], namespace, calledServices(sets)),
    sets,
    source: folder,
    notes: read?.notes ?? ["no manifests in the folder: workloads and replicas are guessed"],
    metrics: undefined,
  };
}

async function readLines(paths: readonly string[], namespace: string): Promise<WindowSet[]> {
  const windows: Window[] = [];
  for (const path of paths) {
    let number = 0;
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
      number += 1;
      if (line.trim() === "") continue;
      let value: unknown;
      try {
        value = JSON.parse(line);
      } catch (error) {
        throw new TradewindError("invalid-input", `${path} line ${number}: not JSON`, { cause: error });
      }
      const window = parseWith(Window, value, `${path} line ${number}`);
      if (window.namespace === namespace) windows.push(window);
    }
  }
  return intervalsOf(windows);
}

function objective(text: string): number {
  try {
    return parseObjectiveSeconds(text);
  } catch (error) {
    throw new InvalidArgumentError(describeError(error));
  }
}

function matcher(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("write label=value, such as cluster=eu");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

const names = (text: string): string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
