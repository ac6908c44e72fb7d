import { AddressFollower } from "@tradewind/core/net/addresses.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { HttpDoor } from "@tradewind/core/net/http-door.ts";
import { registerRefused } from "@tradewind/core/net/refusals.ts";
import { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { Counter, Gauge } from "prom-client";
import { createLog } from "@tradewind/core/process/log.ts";
import { serveProbes } from "@tradewind/core/net/probe-server.ts";
import type { ProbeServer } from "@tradewind/core/net/probe-server.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { FollowedApplications } from "@tradewind/kubernetes/application/followed.ts";
import { applicationSources } from "@tradewind/kubernetes/application/sources.ts";
import { startApi } from "./api/server.ts";
import type { Api } from "./api/server.ts";
import { registerApplications } from "./run/applications-metrics.ts";
import { OnlyApplication, SeveralApplications } from "./run/applications.ts";
import type { Applications } from "./run/applications.ts";
import { ModelConnection } from "./answers/language-model/model.ts";
import { Webhook } from "./answers/language-model/webhook.ts";
import { Gathering } from "./run/application/gathering.ts";
import { InOrder } from "./run/in-order.ts";
import { PredictorMetrics } from "./run/process/metrics.ts";
import { NodeRoom } from "./nodes/node-room.ts";
import { PredictorOptions } from "./run/process/options.ts";
import type { PredictorOptionsInput } from "./run/process/options.ts";
import type { Graces, SharedParts } from "./run/application/parts.ts";
import { Agents } from "./sources/agents.ts";
import { ContainerRates } from "./sources/container-rates.ts";
import { registerEndpointMetrics } from "./sources/endpoint-metrics.ts";
import { parseListen } from "./sources/otlp/listen-address.ts";
import { startReceivers } from "./sources/otlp/start.ts";
import { OpenCostPrices } from "./sources/opencost/prices.ts";
import { readSections } from "./sources/sources-config.ts";
import type { Sections } from "./sources/sources-config.ts";
import type { WorkloadSource } from "./sources/workload-source.ts";
import { joinPeers } from "./run/process/join-peers.ts";
import { followWorkloads, openSurroundings } from "./run/process/surroundings.ts";
import type { Surroundings } from "./run/process/surroundings.ts";
import { WindowClock } from "./run/application/window-clock.ts";
import type { ClosedWindow } from "./run/application/window-clock.ts";
import type { AddResult } from "./window/drops.ts";
import type { OnDurations } from "./sources/otlp/pushed-metrics/metric-intake.ts";
import type { SpanBatch } from "./window/span.ts";

/** Between one look at how workloads are scaled and the next. */
const SCALED_MS = 1_000;
const MAX_CONTAINERS = 100_000;
/** A plan older than this many windows, the grace aside, is no longer what a predictor at work would say. */
const READY_WINDOWS = 4;
/** How often names of agents are resolved again: nodes come and go within minutes. */
const RESOLVE_MS = 10_000;
/** Late spans are waited for so long, or a third of a window where that is less. */
const GRACE_SECONDS = 5;
/** Where spans come later, windows wait for them up to this: tail samplers hold traces for 30 s. */
const MAX_GRACE_SECONDS = 60;

/** What every part is made with. */
interface Setting {
  readonly options: PredictorOptions & Graces;
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
    metrics: new PredictorMetrics(),
    readiness: { notReady: (): string | undefined => "the predictor is starting" },
    ends: [] as Setting["ends"],
  };
  const stop = async (): Promise<void> => {
    for (const end of edges.ends.splice(0).reverse()) await end();
  };
  try {
    const probes = await startProbes(given.probeListen, edges);
    const tls = await openTls(given.httpTls, edges);
    const sections = await readSections(given.sources ?? (await ownSections(given.config)));
    const surroundings = await openSurroundings({ options: given, tls, ...edges });
    const spanGraceSeconds = given.graceSeconds ?? Math.min(GRACE_SECONDS, given.windowSeconds / 3);
    const graceSeconds = Gathering.graceSeconds(sections.sources, spanGraceSeconds);
    // What spans of one application come late shall not delay others, and what is asked for comes late by itself.
    const { jaeger, tempo } = sections.sources;
    const isLearnt =
      given.graceSeconds === undefined &&
      surroundings.only !== undefined &&
      jaeger.length + tempo.length === 0;
    const maxGraceSeconds = isLearnt ? Math.max(graceSeconds, MAX_GRACE_SECONDS) : graceSeconds;
    const options = { ...given, graceSeconds, maxGraceSeconds };
    const addresses = await startParts({ ...edges, tls, options, surroundings, sections });
    return { addresses: { ...addresses, ...(probes && { probe: probes.address }) }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The file of the only application may hold them; of several none does. */
async function ownSections(config: readonly string[]): Promise<string | undefined> {
  const [source, ...others] = await applicationSources(config);
  return source?.kind === "file" && others.length === 0 ? source.path : undefined;
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
  const rates = makeRates(setting);
  const nodes = new NodeRoom();
  const applications = await openApplications(setting, { rates, nodes });
  followAgents(setting, applications, { nodes, rates });
  const onSpans = (batch: SpanBatch): AddResult => applications.take(batch);
  const onDurations: OnDurations = (points) => applications.takeDurations(points);
  const state = (): string | undefined => applications.remembered();
  const { address: peersAddress, peers } = await joinPeers({ ...setting, state }, onSpans, onDurations);
  await applications.begin(peers);
  const section = setting.sections.sources.otlp;
  const receivers = await startReceivers({ ...setting, section, onDurations, onSpans, exchange: peers });
  const closing = new InOrder();
  const windows = new WindowClock({
    windowSeconds,
    graceSeconds: () => presentGrace(applications, graceSeconds),
    clock,
    onStep: (stepMs) => {
      log.warn({ stepMs }, "the wall clock was set; windows begin anew");
      metrics.clockStepped(stepMs);
      rates.clear();
      for (const each of applications.planned()) each.clockStepped(stepMs);
    },
    onClose: (window) => {
      const missing = [...(peers?.missing(window.fromMs, window.toMs) ?? []), ...missingHere(window)];
      closing.add(async () => {
        applications.windowClosed();
        await decideOn(window, { applications, missing, isCurrent: () => windows.isCurrent(window) });
      });
    },
  });
  const api = await openApi(setting, applications);
  ends.push(() => windows.stop());
  windows.start();
  const addresses = { http: api.address, ...receivers, ...(peersAddress && { peers: peersAddress }) };
  const planned = surroundings.only === undefined ? { applications: applications.planned().length } : {};
  log.info(
    { addresses, policy: options.policy, windowSeconds, graceSeconds, ...planned },
    "the predictor is up",
  );
  return addresses;
}

interface DecidingOn {
  readonly applications: Applications;
  /** What is known to be missing of the window's spans, in words. */
  readonly missing: readonly string[];
  readonly isCurrent: () => boolean;
}

/** The sources of all applications are asked at once, so that none waits for another's; then one after the other decides. */
async function decideOn(
  window: ClosedWindow,
  { applications, isCurrent, missing }: DecidingOn,
): Promise<void> {
  const gathering = applications.planned().map((each) => ({ each, gathered: each.gather(window) }));
  for (const { each, gathered } of gathering) {
    const repeated =
      each.isGathering && window.repeated
        ? ["the wall clock was set back: sources tell of two times at once"]
        : [];
    await each.decide(window, await gathered, [...missing, ...repeated], isCurrent);
  }
}

/** What is planned, ready to take spans. */
async function openApplications(
  setting: Setting,
  { nodes, rates }: { readonly nodes: NodeRoom; readonly rates: ContainerRates },
): Promise<Applications> {
  const { clock, ends, log, metrics, options, surroundings } = setting;
  const { cluster, only, sources = [] } = surroundings;
  const known = (): readonly Application[] =>
    only === undefined ? (followed?.planned() ?? []) : [only.current()].filter((each) => each !== undefined);
  let followed: FollowedApplications | undefined;
  const source = await followWorkloads(setting, surroundings, known);
  const workloads = (): WorkloadList | undefined => source?.current();
  const several = only === undefined;
  const webhook = openWebhook(setting);
  const shared: SharedParts = {
    ...setting,
    several,
    rates: several ? rememberedRates(rates) : rates,
    nodes,
    workloadProblem: (application) => source?.lacks?.(application),
    webhook,
    reasoner: openReasoner(setting),
    prices: followPrices(setting),
  };
  const follow = (onChange: () => void): FollowedApplications =>
    (followed = new FollowedApplications({
      sources,
      client: cluster?.client,
      observer: cluster?.metrics,
      clock,
      log,
      onChange,
    }));
  const applications: Applications =
    only === undefined
      ? new SeveralApplications(
          { shared, workloads, plannersPerApplication: options.plannersPerApplication },
          follow,
        )
      : await OnlyApplication.open(
          shared,
          { ...only, workloads, directory: options.state },
          {
            text: options.config.join(),
            problem: () => only.problem() ?? shared.workloadProblem(only.application),
          },
        );
  ends.push(async () => applications.stop());
  if (source !== undefined) lookAtScalings(source, applications, ends);
  // Before applications are, which wait for their trainings.
  registerApplications(metrics.registry, applications);
  return applications;
}

/** Once for all applications: to put together how workloads are scaled takes as long as there are workloads. */
function lookAtScalings(
  source: Pick<WorkloadSource, "scalings">,
  applications: Applications,
  ends: Setting["ends"],
): void {
  const timer = setInterval(() => {
    const scalings = source.scalings() ?? [];
    for (const each of applications.planned()) each.scaled(scalings);
  }, SCALED_MS);
  ends.push(() => clearInterval(timer));
}

/** Until they are read, the prices of the applications hold. */
function followPrices({ ends, log, sections }: Setting): SharedParts["prices"] {
  const { opencost } = sections.sources;
  if (opencost === undefined) return undefined;
  const prices = new OpenCostPrices(opencost);
  ends.push(async () => prices.stop());
  void prices.follow(log);
  return () => prices.last;
}

function openReasoner({ clock, ends, metrics, options }: Setting): ModelConnection | undefined {
  if (options.reasoner === undefined) return undefined;
  const monotonicMs = (): number => clock.monotonicMs();
  const connection = new ModelConnection(options.reasoner, { registry: metrics.registry, monotonicMs });
  ends.push(async () => connection.stop());
  return connection;
}

function openWebhook({ clock, ends, log, metrics, options }: Setting): Webhook | undefined {
  if (options.webhookFile === undefined) return undefined;
  const webhook = new Webhook({
    file: options.webhookFile,
    registry: metrics.registry,
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    rng: Math.random,
    log,
  });
  ends.push(async () => webhook.stop());
  return webhook;
}

/** Every application asks about the same window, one after the other. */
function rememberedRates(rates: ContainerRates): Pick<ContainerRates, "over"> {
  let last: { readonly times: string; readonly uses: ReturnType<ContainerRates["over"]> } | undefined;
  return {
    over: (startMs, endMs) => {
      const times = `${startMs} ${endMs}`;
      if (last?.times !== times) last = { times, uses: rates.over(startMs, endMs) };
      return last.uses;
    },
  };
}

/** How long windows wait now: as long as the application does whose spans come latest. */
function presentGrace(applications: Applications, graceSeconds: number): number {
  return Math.max(graceSeconds, ...applications.planned().map((each) => each.graceSeconds));
}

/** What clients may have sent in vain because this process did not run. */
function missingHere({ stoodStillMs }: ClosedWindow): string[] {
  if (stoodStillMs === 0) return [];
  return [
    `this predictor stood still for ${(stoodStillMs / 1e3).toFixed(0)} s: spans sent to it then are missing`,
  ];
}

function makeRates({ metrics, options }: Setting): ContainerRates {
  return new ContainerRates({
    keepSeconds: 2 * options.windowSeconds + options.maxGraceSeconds,
    maxContainers: MAX_CONTAINERS,
    onDrop: (reason) => metrics.measurementDropped(reason),
  });
}

function followAgents(
  { clock, ends, log, metrics, options }: Setting,
  applications: Applications,
  { nodes, rates }: { readonly nodes: NodeRoom; readonly rates: ContainerRates },
): void {
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
    fresh: () => new Map(applications.planned().flatMap((each) => Array.from(each.fresh()))),
    onSnapshot: (url, snapshot, exchange) => {
      rates.record(url, snapshot, exchange);
      nodes.seen(snapshot.node, snapshot.capacity, exchange.answeredAtMs, snapshot.inventory);
    },
  });
  registerEndpointMetrics(metrics.registry, () => agents.health());
  ends.push(async () => {
    follower.stop();
    await agents.stop();
  });
  agents.start();
  void follower.start();
}

async function openApi(
  { clock, ends, log, metrics, options, readiness, tls }: Setting,
  applications: Applications,
): Promise<Api> {
  const notReady = (): string | undefined => {
    const graceSeconds = presentGrace(applications, options.graceSeconds);
    return whyNotReady(applications, READY_WINDOWS * options.windowSeconds + graceSeconds);
  };
  readiness.notReady = notReady;
  const { allowedHosts, httpTokenFile: tokenFile, listen, maxSenderWork } = options;
  const monotonicMs = (): number => clock.monotonicMs();
  const door = new HttpDoor({ allowedHosts, tokenFile, monotonicMs, log });
  const work = new SenderWork({ maxSenderWork, byToken: tokenFile !== undefined, monotonicMs, log });
  const { registry } = metrics;
  registerRefused(registry, { Counter, Gauge }, "tradewind_predictor_refused_total", {
    http: () => work.refused,
  });
  const api = await startApi({ listen, tls, registry, notReady, door, work, log, applications });
  ends.push(async () => api.stop());
  return api;
}

/** One application that is planned is enough, and so is none to be planned: what is wrong with one keeps no other from being served. */
function whyNotReady(applications: Applications, oldSeconds: number): string | undefined {
  const unknown = applications.whyNot();
  if (unknown !== undefined) return unknown;
  const ages = applications.planned().map(({ published }) => published.ageSeconds());
  const youngest = Math.min(...ages.map((age) => age ?? Infinity));
  if (ages.length === 0 || youngest <= oldSeconds) return undefined;
  if (youngest === Infinity) return "no window has closed since the start";
  return `the last plan is ${youngest.toFixed(0)} s old`;
}
