import type { Freshness } from "@tradewind/core/contract/freshness.ts";
import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { freeDescriptors } from "@tradewind/core/net/descriptors.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { ContainerSearch } from "../cgroup/discovery.ts";
import type { Hierarchies } from "../cgroup/hierarchies.ts";
import { detectHierarchies } from "../cgroup/hierarchies.ts";
import { Sandboxes } from "../cgroup/sandboxes.ts";
import { DiscoveryWatch } from "../cgroup/watch.ts";
import { COLLECTORS } from "../collectors/list.ts";
import { ContainerRegistry } from "../container/registry.ts";
import type { AgentSurroundings } from "../node/surroundings.ts";
import { Disturbance } from "../node/disturbance.ts";
import type { TextFormat } from "../expose/format.ts";
import { render } from "../expose/render.ts";
import { Histogram } from "../expose/histogram.ts";
import { describeHardware, hardwareTables } from "../node/hardware.ts";
import type { Exposed } from "./http.ts";
import type { Cycle } from "./loop.ts";
import { inClusterAccess, KubernetesNames } from "../names/kubernetes.ts";
import { NameSources } from "../names/sources.ts";
import { WorkloadsFile } from "../names/workloads-file.ts";
import { NodeCollectors } from "../node/node.ts";
import type { AgentOptions } from "../options.ts";
import { Reader } from "../read/reader.ts";
import { Schedule } from "../read/schedule.ts";
import { SelfMetrics } from "./self.ts";
import { Signals } from "../sampling/signals.ts";
import { renderSnapshot } from "../node/snapshot.ts";

/** Signals that nobody has sampled for so long describe nothing any more. */
const FORGET_SECONDS = 90;

/** Cycles between garbage collections, the first of which clears away what starting left. */
const COLLECT_EVERY = 30;
const FIRST_COLLECT = 2;

const LEAST_OPEN_FILES = 16;

/** 0.1 ms to 10 s, five steps a decade. */
const CYCLE_BOUNDS_SECONDS = Array.from({ length: 26 }, (_, step) =>
  Number((1e-4 * 10 ** (step / 5)).toPrecision(3)),
);

function nameSources(options: AgentOptions, { log, rng }: AgentSurroundings): NameSources {
  const access = options.kubernetes === "off" ? undefined : inClusterAccess(process.env);
  const kubernetes =
    access === undefined ? undefined : new KubernetesNames(access, { node: options.node, log, rng });
  const workloads =
    options.workloads === undefined ? undefined : new WorkloadsFile(options.workloads, options.node);
  return new NameSources(kubernetes, workloads, log);
}

/** Half of what may be opened is left for connections, and for files that are opened for one read. */
function mostOpenFiles({ maxOpenFiles }: AgentOptions): number {
  return Math.min(maxOpenFiles, Math.max(LEAST_OPEN_FILES, Math.floor((freeDescriptors() ?? Infinity) / 2)));
}

/** The agent without its network side: what it samples and what it can tell. */
export class NodeAgent implements Exposed, Cycle {
  readonly #options: AgentOptions;
  readonly #surroundings: AgentSurroundings;
  readonly #reader: Reader;
  readonly #schedule: Schedule;
  readonly #signals = new Signals();
  readonly #interfaces = new Set<string>();
  readonly #bandwidth = new Map<string, number>();
  readonly #collectors: NodeCollectors;
  readonly #registry: ContainerRegistry;
  readonly #search: ContainerSearch | undefined;
  readonly #discovery: DiscoveryWatch | undefined;
  readonly #names: NameSources;
  readonly #hardware = hardwareTables();
  #inventory: Inventory | undefined;
  readonly self = new SelfMetrics();
  readonly #cycles = new Histogram(
    "tradewind_agent_cycle_duration_seconds",
    "Duration of a sampling cycle: reading everything that is due and working out interference.",
    CYCLE_BOUNDS_SECONDS,
  );
  readonly #disturbance: Disturbance;
  readonly #startedAtMs: number;
  readonly #startedSeconds: number;
  readonly #startedCpu = process.cpuUsage();
  /** Last known: a snapshot must not lose its capacity when a file fails for a while. */
  readonly #capacity: { cpuCores?: number | undefined; memoryBytes?: number | undefined } = {};
  #polling: Promise<void> | undefined;
  #isClosed = false;
  #cycle = 0;

  constructor(options: AgentOptions, surroundings: AgentSurroundings) {
    const { clock, log } = surroundings;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#startedAtMs = clock.nowMs();
    this.#startedSeconds = clock.monotonicMs() / 1e3;
    this.#reader = new Reader(mostOpenFiles(options));
    this.#schedule = new Schedule(clock, options.costBudgetRatio, options.windowSeconds);
    this.#disturbance = new Disturbance(this.#signals, this.#bandwidth);
    const source = {
      reader: this.#reader,
      procfs: options.procfs,
      sysfs: options.sysfs,
      linkBytesPerSecond: new Map(Object.entries(options.linkBytesPerSecond)),
      memoryBandwidthBytesPerSecond: options.memoryBandwidthBytesPerSecond,
    };
    const sink = {
      signals: this.#signals,
      bandwidth: this.#bandwidth,
      interfaces: this.#interfaces,
      wake: (channels: number) => this.#schedule.wake(channels),
    };
    this.#collectors = new NodeCollectors(COLLECTORS, source, this.#schedule, sink, log);
    const hierarchies = this.#detect();
    this.#registry = new ContainerRegistry({
      reader: this.#reader,
      procfs: options.procfs,
      hierarchies,
      schedule: this.#schedule,
      nodeInterfaces: this.#interfaces,
      series: options.containerSeries,
      log,
    });
    this.#names = nameSources(options, surroundings);
    if (hierarchies !== undefined) {
      const sandboxes = new Sandboxes(options.procfs, clock);
      const isNamed = (id: string): boolean => this.#registry.isNamed(id);
      const search = new ContainerSearch(hierarchies, options.cgroupRoots, clock, log);
      this.#search = search;
      this.#discovery = new DiscoveryWatch(
        clock,
        () => search.find(),
        ({ containers }) => this.#registry.update(sandboxes.without(containers, isNamed)),
      );
      this.#discovery.scan();
    }
    this.#names.start();
    void this.pollNames();
  }

  #detect(): Hierarchies | undefined {
    try {
      return detectHierarchies(this.#options.cgroupfs);
    } catch (error) {
      this.#surroundings.log.warn(`containers are not sampled: ${describeError(error)}`);
      return undefined;
    }
  }

  /** Reads what is due, for at most `sliceMs`; true when all of it was read. */
  sample(sliceMs: number): boolean {
    const isDone = this.#schedule.run(sliceMs) && !this.#registry.reconcile();
    if (isDone) this.#evaluate();
    return isDone;
  }

  sampled(durationMs: number): void {
    this.#cycles.observe(durationMs / 1e3);
    this.#cycle += 1;
    if (this.#cycle % COLLECT_EVERY === FIRST_COLLECT) this.#surroundings.collectGarbage();
  }

  /** Looks at the hardware once; without an answer the inventory stays absent. */
  async lookAtHardware(): Promise<void> {
    try {
      const { readInventory } = await import("../node/inventory.ts");
      const { memoryBytes } = this.#capacity;
      const found = await readInventory(this.#options.sysfs);
      this.#inventory = { ...found, ...(memoryBytes !== undefined && { memoryBytes }) };
      describeHardware(this.#hardware, this.#inventory);
    } catch (error) {
      this.#surroundings.log.warn(describeError(error));
    }
  }

  /** Looks for containers now, without waiting for the kernel's word. */
  rescan(): void {
    this.#discovery?.scan();
  }

  /** Looks whether names changed; one look at a time, and never throws. */
  async pollNames(): Promise<void> {
    this.#polling ??= this.#pollNames().finally(() => {
      this.#polling = undefined;
    });
    await this.#polling;
  }

  async #pollNames(): Promise<void> {
    const names = await this.#names.poll();
    if (names !== undefined && !this.#isClosed) this.#registry.rename(names);
  }

  #evaluate(): void {
    const { seconds } = this.#schedule.now();
    this.#signals.forgetBefore(seconds - FORGET_SECONDS);
    this.#collectors.lookAgain(seconds);
    this.#disturbance.look(this.#registry.containers(), seconds);
  }

  *metrics(format: TextFormat): Generator<string> {
    this.#refresh();
    yield* render(
      [
        ...this.#collectors.tables,
        this.#disturbance.table,
        this.#registry.infoTable,
        this.#registry.table,
        this.#registry.podTable,
        this.#registry.metrics.table,
        ...this.#hardware,
        this.self.table,
        this.self.buildTable,
        ...this.self.tlsTables,
        this.#cycles,
      ],
      format,
    );
  }

  *snapshot(): Generator<string> {
    const { clock } = this.#surroundings;
    this.#disturbance.refresh(this.#registry.containers(), clock.monotonicMs() / 1e3);
    const cpu = process.cpuUsage(this.#startedCpu);
    const cpuSecondsTotal = (cpu.user + cpu.system) / 1e6;
    const seconds = clock.monotonicMs() / 1e3;
    yield* renderSnapshot({
      node: this.#options.node,
      agentStartedAtMs: this.#startedAtMs,
      nowMs: clock.nowMs(),
      seconds,
      capacity: {
        cpuCores: this.#capacity.cpuCores ?? 1,
        memoryBytes: this.#capacity.memoryBytes ?? 1,
      },
      inventory: this.#inventory,
      interference: this.#disturbance.node,
      interferenceIntegral: this.#disturbance.nodeIntegral,
      signals: this.#signals,
      containers: this.#registry.containers(),
      agent: {
        samplesTotal: this.#schedule.samplesTotal,
        cpuSecondsTotal,
        cpuRatio: cpuSecondsTotal / Math.max(1e-3, seconds - this.#startedSeconds),
        residentBytes: process.memoryUsage.rss(),
      },
    });
  }

  hasten(pods: Freshness): void {
    this.#registry.hasten(pods);
  }

  notReady(): string | undefined {
    this.#capacity.cpuCores = this.#signals.get("cpu.cores") ?? this.#capacity.cpuCores;
    this.#capacity.memoryBytes = this.#signals.get("memory.totalBytes") ?? this.#capacity.memoryBytes;
    if (this.#capacity.cpuCores === undefined) return "the number of CPUs is not known yet";
    if (this.#capacity.memoryBytes === undefined) return "the size of memory is not known yet";
    return this.#disturbance.hasLooked ? undefined : "not everything has been read once yet";
  }

  close(): void {
    this.#isClosed = true;
    this.#names.stop();
    this.#discovery?.close();
    this.#registry.close();
    this.#collectors.close();
  }

  #refresh(): void {
    this.#collectors.refresh();
    this.#registry.metrics.refresh(this.#registry.states());
    this.#disturbance.refresh(this.#registry.containers(), this.#surroundings.clock.monotonicMs() / 1e3);
    const cpu = process.cpuUsage();
    const plan = this.#schedule.totals();
    this.self.set({
      startSeconds: this.#startedAtMs / 1e3,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      residentBytes: process.memoryUsage.rss(),
      openFiles: this.#reader.openDescriptors,
      reads: this.#reader.readsTotal,
      samples: this.#schedule.samplesTotal,
      sampleFailures: this.#schedule.failuresTotal,
      slowSamples: this.#schedule.slowTotal,
      signals: plan.signals,
      plannedCost: plan.plannedCostRatio,
      costBudget: plan.costBudgetRatio,
      stretchedSignals: plan.stretchedSignals,
      containers: this.#registry.size,
      containersShared: this.#registry.shared,
      cgroupRoots: this.#search?.roots ?? 0,
      containersRemoved: this.#registry.removedTotal,
      containerFailures: this.#registry.failuresTotal,
      scans: this.#discovery?.scansTotal ?? 0,
      watchedDirectories: this.#discovery?.watchedDirectories ?? 0,
      nameFailures: this.#names.failuresTotal,
    });
  }
}
