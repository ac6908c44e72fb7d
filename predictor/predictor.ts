import { setImmediate as nextTurn } from "node:timers/promises";
import { AddressFollower } from "@tradewind/core/addresses.ts";
import { systemClock } from "@tradewind/core/clock.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { parseWith } from "@tradewind/core/config.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { HttpDoor } from "@tradewind/core/http-door.ts";
import { createLog } from "@tradewind/core/log.ts";
import { serveProbes } from "@tradewind/core/probe-server.ts";
import type { ProbeServer } from "@tradewind/core/probe-server.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { ReloadingTls } from "@tradewind/core/reloading-tls.ts";
import type { Running } from "@tradewind/core/running.ts";
import { startApi } from "./api/server.ts";
import type { Api, ApiOptions } from "./api/server.ts";
import { Deciding } from "./deciding.ts";
import { Gathering, NOTHING_GATHERED } from "./gathering.ts";
import { History } from "./history.ts";
import { InOrder } from "./in-order.ts";
import { InputsArchive } from "./inputs-archive.ts";
import type { Learning } from "./learning/learning.ts";
import { LearningMetrics } from "./learning/metrics.ts";
import { startLearning } from "./learning/start.ts";
import { PredictorMetrics } from "./metrics.ts";
import { firstState, openMemory } from "./memory.ts";
import { NodeRoom } from "./node-room.ts";
import { PredictorOptions } from "./options.ts";
import type { PredictorOptionsInput } from "./options.ts";
import { Published } from "./published.ts";
import { Agents } from "./sources/agents.ts";
import { ContainerRates } from "./sources/container-rates.ts";
import type { EndpointHealth } from "@tradewind/core/endpoint/health.ts";
import { registerEndpointMetrics } from "./sources/endpoint-metrics.ts";
import { LastSensitivities } from "./sensitivities/last-sensitivities.ts";
import { registerSensitivityMetrics } from "./sensitivities/metrics.ts";
import { parseListen } from "./sources/otlp/listen-address.ts";
import { startReceivers } from "./sources/otlp/start.ts";
import { readSections } from "./sources/sources-config.ts";
import type { Sections } from "./sources/sources-config.ts";
import { joinPeers } from "./sources/peers/join.ts";
import { PUSHED, SpanOrigins } from "./sources/span-origins.ts";
import { countArrivals, SurgeWatch } from "./surge-watch.ts";
import { followWorkloads, openSurroundings } from "./surroundings.ts";
import type { Surroundings } from "./surroundings.ts";
import type { WorkloadSource } from "./sources/workload-source.ts";
import { WindowClock } from "./window-clock.ts";
import type { ClosedWindow } from "./window-clock.ts";
import type { AddResult } from "./window/drops.ts";
import type { SpanBatch } from "./window/span.ts";
import { WindowBuilder } from "./window/window-builder.ts";

const MAX_CONTAINERS = 100_000;
const ARCHIVED_INPUTS = 64;
const ARCHIVED_BYTES = 64 * 1024 * 1024;
/** A plan older than this many windows, the grace aside, is no longer what a predictor at work would say. */
const READY_WINDOWS = 4;
/** How often names of agents are resolved again: nodes come and go within minutes. */
const RESOLVE_MS = 10_000;
/** Late spans are waited for so long, or a third of a window where that is less. */
const GRACE_SECONDS = 5;
/** Spans that are asked for come a window and its grace late, and may have begun before. */
const PAST_SECONDS = 120;

/** What every part is made with. */
interface Setting {
  readonly options: PredictorOptions & { readonly graceSeconds: number };
  readonly application: Application;
  readonly surroundings: Surroundings;
  readonly sections: Sections;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PredictorMetrics;
  /** Of the port `listen`. */
  readonly tls: ReloadingTls | undefined;
  /** Why nobody can rely on this predictor yet, or any more. */
  readonly readiness: { notReady: () => string | undefined };
  /** Called in reverse order to stop what has been started. */
  readonly ends: (() => Promise<void> | void)[];
}

/**
 * Starts the predictor: spans, snapshots and workloads in, one plan per window out, and further ones at surges.
 * @throws TradewindError `invalid-input`, `invalid-config` or `listen`, with nothing left running
 */
export async function startPredictor(input: PredictorOptionsInput): Promise<Running> {
  const given = parseWith(PredictorOptions, input, "the predictor's options");
  const edges = {
    clock: systemClock,
    log: createLog("predictor", given.logLevel),
    metrics: new PredictorMetrics(systemClock, given.policy),
    readiness: { notReady: (): string | undefined => "the predictor is starting" },
    ends: [] as Setting["ends"],
  };
  const stop = async (): Promise<void> => {
    for (const end of edges.ends.splice(0).reverse()) await end();
  };
  try {
    const probes = await startProbes(given.probeListen, edges);
    const tls = await openTls(given.httpTls, edges);
    const isResource = given.config.startsWith("crd:");
    const sections = await readSections(given.sources ?? (isResource ? undefined : given.config));
    const surroundings = await openSurroundings({ options: given, tls, ...edges });
    const { application } = surroundings;
    const spanGraceSeconds = given.graceSeconds ?? Math.min(GRACE_SECONDS, given.windowSeconds / 3);
    const graceSeconds = Gathering.graceSeconds(sections.sources, spanGraceSeconds);
    const options = { ...given, graceSeconds };
    const addresses = await startParts({ ...edges, tls, options, application, surroundings, sections });
    return { addresses: { ...addresses, ...(probes && { probe: probes.address }) }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startProbes(
  listen: string | undefined,
  { ends, readiness }: Pick<Setting, "ends" | "readiness">,
): Promise<ProbeServer | undefined> {
  if (listen === undefined) return undefined;
  const probes = await serveProbes(parseListen(listen), {
    dead: () => undefined,
    notReady: () => readiness.notReady(),
  });
  ends.push(async () => probes.stop());
  return probes;
}

async function openTls(
  files: PredictorOptions["httpTls"],
  { ends, log, metrics }: Pick<Setting, "ends" | "log" | "metrics">,
): Promise<ReloadingTls | undefined> {
  if (files === undefined) return undefined;
  const tls = await ReloadingTls.open(files, {
    everyMs: files.refreshMs,
    log,
    observer: metrics.tls("http"),
  });
  ends.push(() => tls.stop());
  return tls;
}

/** @returns the addresses listened on, by role */
async function startParts(setting: Setting): Promise<Record<string, string>> {
  const { clock, ends, log, metrics, options, surroundings } = setting;
  const { graceSeconds, windowSeconds } = options;
  const memory = await openMemory(setting);
  const workloads = await followWorkloads(setting, surroundings);
  const builder = makeBuilder(setting, workloads);
  const origins = new SpanOrigins();
  const gathering = makeGathering(setting, builder, origins);
  const nodes = new NodeRoom();
  const rates = followAgents(setting, nodes, () => gathering?.health() ?? []);
  const history = openHistory(setting);
  const graceMs = 1e3 * graceSeconds;
  const arrivals = countArrivals(() => surroundings.current()?.entry, {
    graceMs,
    windowMs: 1e3 * windowSeconds,
  });
  const onSpans = (batch: SpanBatch): AddResult => {
    const nowMs = clock.nowMs();
    origins.note(PUSHED, batch, clock.monotonicMs());
    const result = builder.add(batch, nowMs);
    // After the builder, which puts the weights of the spans right.
    arrivals.add(batch, nowMs);
    return result;
  };
  const { address: peersAddress, peers } = await joinPeers({ ...setting, state: memory.text }, onSpans);
  const state = memory.restored ?? firstState(setting, (await peers?.askStates()) ?? []);
  const section = setting.sections.sources.otlp;
  const receivers = await startReceivers({ ...setting, section, onSpans, exchange: peers });
  const published = new Published(clock);
  const archive = new InputsArchive(ARCHIVED_INPUTS, ARCHIVED_BYTES);
  const sensitivities = new LastSensitivities(() => clock.monotonicMs());
  registerSensitivityMetrics(metrics.registry, { last: sensitivities, log });
  const learningMetrics = new LearningMetrics(metrics.registry);
  const learning = learnProfiles(setting, history, learningMetrics);
  const deciding = new Deciding({
    application: surroundings.current,
    options: { choice: options.policy, settings: options.settings },
    state,
    builder,
    origins,
    rates,
    workloads: () => workloads?.current(),
    nodes,
    published,
    sensitivities,
    archive,
    metrics,
    clock,
    log,
    onState: memory.keep,
    onWindows: (set) => history.store.append(set),
    onChanges: (changes) => {
      for (const change of changes) history.store.appendDecision(change);
    },
    ...(learning && { learning, onTailError: (ratio) => learningMetrics.tailPredicted(ratio) }),
  });
  const closing = new InOrder();
  const windows = new WindowClock({
    windowSeconds,
    graceSeconds,
    clock,
    onStep: (stepMs) => {
      log.warn({ stepMs }, "the wall clock was set; windows begin anew");
      metrics.clockStepped(stepMs);
      builder.restart();
      arrivals.clear();
      rates.clear();
      deciding.clockStepped(stepMs);
      published.doubt("the wall clock was set, and no window has closed since");
    },
    onClose: (window) => {
      const missing = [...(peers?.missing(window.fromMs, window.toMs) ?? []), ...missingHere(window)];
      if (gathering !== undefined && window.repeated)
        missing.push("the wall clock was set back: sources tell of two times at once");
      closing.add(async () => {
        const gathered = (await gathering?.gather(window)) ?? NOTHING_GATHERED;
        // Requests and other traffic are served between two steps.
        for (const _ of builder.prepare(window.endMs, () => clock.nowMs())) await nextTurn();
        if (windows.isCurrent(window)) deciding.close(window, gathered, missing);
      });
    },
  });
  const modelText = (hash: string): string | undefined => learning?.modelText(hash);
  const { store } = history;
  const api = await openApi(setting, { published, archive, sensitivities, modelText, store });
  const surges = new SurgeWatch({
    arrivals,
    lastWindow: () => deciding.lastWindow,
    onSurge: (ratio) => deciding.surge(ratio),
    graceMs,
    clock,
  });
  ends.push(() => {
    windows.stop();
    surges.stop();
  });
  windows.start();
  surges.start();
  history.backfill(gathering?.sources.prometheus ?? []);
  const addresses = { http: api.address, ...receivers, ...(peersAddress && { peers: peersAddress }) };
  log.info({ addresses, policy: options.policy, windowSeconds, graceSeconds }, "the predictor is up");
  return addresses;
}

/** What clients may have sent in vain because this process did not run. */
function missingHere({ stoodStillMs }: ClosedWindow): string[] {
  if (stoodStillMs === 0) return [];
  return [
    `this predictor stood still for ${(stoodStillMs / 1e3).toFixed(0)} s: spans sent to it then are missing`,
  ];
}

function followAgents(
  { clock, ends, log, metrics, options }: Setting,
  nodes: NodeRoom,
  others: () => readonly EndpointHealth[],
): ContainerRates {
  const rates = new ContainerRates({
    keepSeconds: 2 * options.windowSeconds + options.graceSeconds,
    maxContainers: MAX_CONTAINERS,
    onDrop: (reason) => metrics.measurementDropped(reason),
  });
  const follower = new AddressFollower({
    targets: options.agents,
    everyMs: RESOLVE_MS,
    log,
    onChange: (addresses) => agents.follow(addresses),
  });
  const agents = new Agents({
    urls: follower.current(),
    pollMs: options.agentPollMs,
    timeoutMs: options.agentTimeoutMs,
    tokenFile: options.agentsTokenFile,
    caFile: options.agentsCaFile,
    nameOf: (url) => follower.nameOf(url),
    clock,
    rng: Math.random,
    log,
    onSnapshot: (url, snapshot, exchange) => {
      rates.record(url, snapshot, exchange);
      nodes.seen(snapshot.node, snapshot.capacity, exchange.answeredAtMs);
    },
    onEvent: () => metrics.interferenceMoved(),
  });
  registerEndpointMetrics(metrics.registry, () => [...agents.health(), ...others()]);
  ends.push(async () => {
    follower.stop();
    await agents.stop();
  });
  agents.start();
  void follower.start();
  return rates;
}

/** The sources that have to be asked; undefined when there are none. */
function makeGathering(
  setting: Setting,
  builder: WindowBuilder,
  origins: SpanOrigins,
): Gathering | undefined {
  const { application, clock, ends, log, options, sections } = setting;
  const { prometheus, jaeger, tempo } = sections.sources;
  if (prometheus.length + jaeger.length + tempo.length === 0) return undefined;
  const { windowSeconds } = options;
  const gathering = new Gathering({
    config: sections.sources,
    application,
    windowSeconds,
    builder,
    origins,
    clock,
    log,
  });
  ends.push(async () => gathering.stop());
  return gathering;
}

function openHistory({ clock, ends, log, metrics, options, sections }: Setting): History {
  const { state, windowSeconds } = options;
  const { registry } = metrics;
  const history = new History({ state, store: sections.store, windowSeconds, clock, log, registry });
  ends.push(async () => history.stop());
  return history;
}

function learnProfiles(
  { application: { namespace }, clock, ends, log, options, surroundings }: Setting,
  { store }: History,
  metrics: LearningMetrics,
): Learning | undefined {
  const { policy: choice, settings, windowSeconds } = options;
  const { youngSeconds } = settings.cost;
  const application = surroundings.current;
  const facts = { choice, namespace, application, windowSeconds, youngSeconds };
  const learning = startLearning({ ...facts, store, metrics, clock, log });
  ends.push(async () => learning?.stop());
  return learning;
}

function makeBuilder(
  { application, metrics, options, sections, surroundings }: Setting,
  workloads: WorkloadSource | undefined,
): WindowBuilder {
  const { windowSeconds, graceSeconds } = options;
  const { assumedSamplingRatio, maxSpanWeight } = sections.sources.otlp;
  const pulled = sections.sources.jaeger.length + sections.sources.tempo.length > 0;
  const builder = new WindowBuilder({
    windowSeconds,
    namespace: application.namespace,
    traceGraceSeconds: graceSeconds,
    assumedSamplingRatio,
    maxSpanWeight,
    ...(pulled ? { maxPastSeconds: PAST_SECONDS + windowSeconds + graceSeconds } : {}),
    hashSeed: Math.floor(Math.random() * 2 ** 32),
    objectiveSeconds: () => {
      const objective = surroundings.current()?.objective;
      return objective && objective.milliseconds / 1e3;
    },
    knownServices: () => knownServices(surroundings.current(), workloads?.current()),
  });
  metrics.follow(() => builder.totals(), graceSeconds);
  return builder;
}

/** Services that the application names or that have a workload. */
function* knownServices(
  application: Application | undefined,
  list: WorkloadList | undefined,
): Generator<string> {
  if (application !== undefined) yield application.entry;
  for (const { name } of application?.services ?? []) yield name;
  for (const { service } of list?.workloads ?? []) yield service;
}

async function openApi(
  { clock, ends, log, metrics, options, readiness, tls }: Setting,
  served: Pick<ApiOptions, "archive" | "modelText" | "published" | "sensitivities" | "store">,
): Promise<Api> {
  const notReady = (): string | undefined => {
    const ageSeconds = served.published.ageSeconds();
    if (ageSeconds === undefined) return "no window has closed since the start";
    return ageSeconds > READY_WINDOWS * options.windowSeconds + options.graceSeconds
      ? `the last plan is ${ageSeconds.toFixed(0)} s old`
      : undefined;
  };
  readiness.notReady = notReady;
  const { registry } = metrics;
  const { allowedHosts, httpTokenFile: tokenFile, listen } = options;
  const door = new HttpDoor({ allowedHosts, tokenFile, monotonicMs: () => clock.monotonicMs(), log });
  const api = await startApi({ listen, tls, registry, notReady, door, log, ...served });
  ends.push(async () => api.stop());
  return api;
}
