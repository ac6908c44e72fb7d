import type { ServerResponse } from "node:http";
import type { Interference } from "@tradewind/core/contract/interference.ts";
import { describeError } from "@tradewind/core/errors.ts";
import { discover } from "./cgroup/discovery.ts";
import type { Hierarchies } from "./cgroup/hierarchies.ts";
import { detectHierarchies } from "./cgroup/hierarchies.ts";
import { DiscoveryWatch } from "./cgroup/watch.ts";
import { COLLECTORS } from "./collectors/list.ts";
import { ContainerRegistry } from "./container/registry.ts";
import type { AgentSurroundings } from "./agent.ts";
import { evaluateContainer, largestMove, nodeUse } from "./evaluation.ts";
import type { TextFormat } from "./expose/format.ts";
import { render } from "./expose/render.ts";
import { Histogram } from "./expose/histogram.ts";
import { Table } from "./expose/table.ts";
import type { Exposed } from "./http.ts";
import { COMPONENTS, interference } from "./interference.ts";
import type { NodeUse } from "./interference.ts";
import type { Cycle } from "./loop.ts";
import { WorkloadsFile } from "./names/workloads-file.ts";
import { NodeCollectors } from "./node.ts";
import type { AgentOptions } from "./options.ts";
import { Reader } from "./read/reader.ts";
import { Schedule } from "./schedule.ts";
import { SelfMetrics } from "./self.ts";
import { Signals } from "./signals.ts";
import { renderSnapshot } from "./snapshot.ts";

/** Signals that nobody has sampled for so long describe nothing any more. */
const FORGET_SECONDS = 90;

/** Cycles between garbage collections, the first of which clears away what starting left. */
const COLLECT_EVERY = 20;
const FIRST_COLLECT = 2;

/** 0.1 ms to 10 s, five steps a decade. */
const CYCLE_BOUNDS_SECONDS = Array.from({ length: 26 }, (_, step) =>
  Number((1e-4 * 10 ** (step / 5)).toPrecision(3)),
);

/** The agent without its network side: what it samples and what it can tell. */
export class NodeAgent implements Exposed, Cycle {
  readonly #options: AgentOptions;
  readonly #surroundings: AgentSurroundings;
  readonly #reader: Reader;
  readonly #schedule: Schedule;
  readonly #signals = new Signals();
  readonly #collectors: NodeCollectors;
  readonly #registry: ContainerRegistry;
  readonly #discovery: DiscoveryWatch | undefined;
  readonly #workloads: WorkloadsFile | undefined;
  readonly #self = new SelfMetrics();
  readonly #cycles = new Histogram(
    "tradewind_agent_cycle_duration_seconds",
    "Duration of a sampling cycle: reading everything that is due and working out interference.",
    CYCLE_BOUNDS_SECONDS,
  );
  readonly #interferenceTable = new Table([
    {
      name: "tradewind_node_interference_ratio",
      help: "What others do to the node by component, 0 undisturbed to 1 fully taken; absent where nothing tells.",
      kind: "gauge",
    },
    {
      name: "tradewind_node_interference_supported",
      help: "1 when a source on this node can tell the component.",
      kind: "gauge",
    },
  ]);
  readonly #startedAtMs: number;
  readonly #startedSeconds: number;
  readonly #startedCpu = process.cpuUsage();
  #nameFailures = 0;
  #cycle = 0;
  #node: Interference = interference(nodeUse(this.#signals));
  #evaluated: Interference | undefined;

  constructor(options: AgentOptions, surroundings: AgentSurroundings) {
    const { clock, log, rng } = surroundings;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#startedAtMs = clock.nowMs();
    this.#startedSeconds = clock.monotonicMs() / 1e3;
    this.#reader = new Reader(options.maxOpenFiles);
    this.#schedule = new Schedule(clock, rng, options.costBudgetRatio);
    const source = {
      reader: this.#reader,
      procfs: options.procfs,
      sysfs: options.sysfs,
      linkBytesPerSecond: new Map(Object.entries(options.linkBytesPerSecond)),
      memoryBandwidthBytesPerSecond: options.memoryBandwidthBytesPerSecond,
    };
    const sink = {
      signals: this.#signals,
      wake: (channels: number) => this.#schedule.wake(channels),
    };
    this.#collectors = new NodeCollectors(COLLECTORS, source, this.#schedule, sink, log);
    const hierarchies = this.#detect();
    this.#registry = new ContainerRegistry({
      reader: this.#reader,
      procfs: options.procfs,
      hierarchies,
      schedule: this.#schedule,
      memoryToleranceBytes: 32 * 1024 * 1024,
      log,
    });
    this.#workloads =
      options.workloads === undefined ? undefined : new WorkloadsFile(options.workloads, options.node);
    if (hierarchies !== undefined) {
      this.#discovery = new DiscoveryWatch(
        clock,
        () => discover(hierarchies, options.cgroupRoots),
        ({ containers }) => this.#registry.update(containers),
      );
      this.#discovery.scan();
    }
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
    const isDone = this.#schedule.run(sliceMs);
    if (isDone) this.#evaluate();
    return isDone;
  }

  sampled(durationMs: number): void {
    this.#cycles.observe(durationMs / 1e3);
    this.#cycle += 1;
    if (this.#cycle % COLLECT_EVERY === FIRST_COLLECT) this.#surroundings.collectGarbage();
  }

  /** Looks whether names changed; never throws. */
  async pollNames(): Promise<void> {
    try {
      const names = await this.#workloads?.poll();
      if (names !== undefined) this.#registry.rename(names);
    } catch (error) {
      this.#nameFailures += 1;
      this.#surroundings.log.warn(describeError(error));
    }
  }

  #evaluate(): void {
    this.#signals.forgetBefore(this.#schedule.now().seconds - FORGET_SECONDS);
    const use = nodeUse(this.#signals);
    this.#node = interference(use);
    const { eventTolerance } = this.#options;
    const moved =
      this.#evaluated === undefined || largestMove(this.#evaluated, this.#node) > eventTolerance / 4;
    if (moved) this.#evaluated = this.#node;
    this.#evaluateContainers(use, moved);
  }

  #evaluateContainers(use: NodeUse, all: boolean): void {
    for (const container of this.#registry.containers()) {
      if (all || container.changed || container.interference === undefined) evaluateContainer(use, container);
    }
  }

  *metrics(format: TextFormat): Generator<string> {
    this.#evaluateContainers(nodeUse(this.#signals), true);
    this.#refresh();
    yield* render(
      [
        ...this.#collectors.tables,
        this.#interferenceTable,
        this.#registry.infoTable,
        this.#registry.table,
        this.#registry.metrics.table,
        this.#self.table,
        this.#cycles,
      ],
      format,
    );
  }

  *snapshot(): Generator<string> {
    const { clock } = this.#surroundings;
    this.#evaluateContainers(nodeUse(this.#signals), true);
    const cpu = process.cpuUsage(this.#startedCpu);
    const cpuSecondsTotal = (cpu.user + cpu.system) / 1e6;
    const seconds = clock.monotonicMs() / 1e3;
    yield* renderSnapshot({
      node: this.#options.node,
      agentStartedAtMs: this.#startedAtMs,
      nowMs: clock.nowMs(),
      seconds,
      capacity: {
        cpuCores: this.#signals.get("cpu.cores") ?? 1,
        memoryBytes: this.#signals.get("memory.totalBytes") ?? 1,
      },
      inventory: undefined,
      interference: this.#node,
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

  notReady(): string | undefined {
    return this.#signals.get("cpu.cores") === undefined ? "no sample taken yet" : undefined;
  }

  subscribe(_response: ServerResponse): boolean {
    return false;
  }

  close(): void {
    this.#discovery?.close();
    this.#registry.close();
    this.#collectors.close();
  }

  #refresh(): void {
    this.#collectors.refresh();
    this.#registry.metrics.refresh(this.#registry.states());
    for (const component of COMPONENTS) {
      const { supported, value } = this.#node[component];
      this.#interferenceTable
        .row(component, { component })
        .values.set([value ?? Number.NaN, supported ? 1 : 0]);
    }
    const cpu = process.cpuUsage();
    const plan = this.#schedule.totals();
    this.#self.set({
      startSeconds: this.#startedAtMs / 1e3,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      residentBytes: process.memoryUsage.rss(),
      openFiles: this.#reader.openDescriptors,
      reads: this.#reader.readsTotal,
      samples: this.#schedule.samplesTotal,
      sampleFailures: this.#schedule.failuresTotal,
      signals: plan.signals,
      plannedCost: plan.plannedCostRatio,
      costBudget: plan.costBudgetRatio,
      stretchedSignals: plan.stretchedSignals,
      containers: this.#registry.size,
      containersRemoved: this.#registry.removedTotal,
      containerFailures: this.#registry.failuresTotal,
      scans: this.#discovery?.scansTotal ?? 0,
      watchedDirectories: this.#discovery?.watchedDirectories ?? 0,
      nameFailures: this.#nameFailures,
    });
  }
}
