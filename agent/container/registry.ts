import { existsSync } from "node:fs";
import type { Freshness } from "@tradewind/core/contract/freshness.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { FoundContainer } from "../cgroup/discovery.ts";
import type { Hierarchies } from "../cgroup/hierarchies.ts";
import { Table } from "../expose/table.ts";
import { AbsentSource, readFailure } from "../read/file-error.ts";
import type { Reader } from "../read/reader.ts";
import type { SignalState } from "../sampling/sampler.ts";
import type { Schedule } from "../read/schedule.ts";
import { COLUMN, containerColumns } from "./columns.ts";
import type { ContainerSeries } from "./columns.ts";
import type { Container } from "./container.ts";
import { namesOf, NO_NAMES } from "./names.ts";
import type { NamedProcess, NameIndex } from "./names.ts";
import { ProbeMetrics } from "./probe-metrics.ts";
import { ProbeReading } from "./probe-reading.ts";
import type { ProbeFailures } from "./probe-reading.ts";
import { CONTAINER_PROBES, makeProbe } from "./probes/list.ts";
import type { CgroupPlace, Probe, ProbeName } from "./probes/probe.ts";
import { ProcessGone, ProcessProbe } from "./probes/process.ts";
import { SandboxCpu } from "./probes/sandbox-cpu.ts";
import type { Pod } from "./pod.ts";
import { Pods } from "./pods.ts";
import type { KeptPod } from "./pods.ts";
import { ContainerRates } from "./rates.ts";
import { SandboxedPods } from "./sandboxed-pods.ts";
import type { ContainerEvidence, JudgedContainer, JudgedPod } from "./sandboxed-pods.ts";

export interface RegistryOptions {
  readonly reader: Reader;
  readonly procfs: string;
  /** Undefined on a node without cgroups: then only bare processes are sampled. */
  readonly hierarchies: Hierarchies | undefined;
  readonly schedule: Schedule;
  /** Interfaces of the node itself. */
  readonly nodeInterfaces: ReadonlySet<string>;
  /** Series of containers that are exposed. */
  readonly series: ContainerSeries;
  readonly log: Logger;
}

interface RegisteredContainer {
  readonly container: Container;
  readonly readings: ProbeReading[];
  /** Undefined for a bare process, and in a flat directory. */
  readonly pod: KeptPod | undefined;
}

const INFO = {
  name: "tradewind_container_info",
  help: "Always 1; names the container, its pod and its quality of service class.",
  kind: "gauge",
} as const;

/** Keeps the pod of a container while it is taken out and put in again. */
const PLACEHOLDER = "";
/** Whether a cgroup without a name is a sandbox depends on its age. */
const RESETTLE_SECONDS = 10;

/** A source that is missing this often in a row is not looked for again while the container lives. */
const MOST_ABSENT = 3;

/** The containers of the node: adds and removes them with everything they hold. */
export class ContainerRegistry implements ProbeFailures {
  readonly table: Table;
  readonly infoTable: Table;
  readonly metrics = new ProbeMetrics();
  readonly #options: RegistryOptions;
  readonly #pods: Pods;
  readonly #kept = new Map<string, RegisteredContainer>();
  readonly #sandboxed = new SandboxedPods();
  /** Undefined after a container came or went. */
  #judgedPods: readonly JudgedPod[] | undefined;
  #found: readonly FoundContainer[] = [];
  #settledSeconds = Number.NEGATIVE_INFINITY;
  #names: NameIndex = NO_NAMES;
  #removed = 0;
  #failures = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.table = new Table(containerColumns(options.series));
    this.infoTable = new Table([{ ...INFO, hidden: options.series === "none" }]);
    this.#pods = new Pods(options);
  }

  /** Traffic by pod. */
  get podTable(): Table {
    return this.#pods.table;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Containers in a sandbox with others: their own use is not known. */
  get shared(): number {
    let count = 0;
    for (const { container } of this.#kept.values()) if (container.found?.countedIn === "shared") count += 1;
    return count;
  }

  get removedTotal(): number {
    return this.#removed;
  }

  /** Reads that failed although the source is there. */
  get failuresTotal(): number {
    return this.#failures;
  }

  *containers(): Generator<Container> {
    for (const { container } of this.#kept.values()) yield container;
  }

  /** Reads containers of these pods at least so often for a minute. @param pods seconds by pod uid */
  hasten(pods: Freshness): void {
    for (const { container, readings } of this.#kept.values()) {
      const seconds = pods.get(container.names.podUid ?? container.found?.podUid ?? "");
      if (seconds === undefined) continue;
      for (const { signalId } of readings) this.#options.schedule.hasten(signalId, seconds);
    }
  }

  /** The sampling state of every probe, by kind. */
  *states(): Generator<readonly [ProbeName, SignalState | undefined]> {
    for (const { readings } of this.#kept.values()) {
      for (const { probe, signalId } of readings) yield [probe.name, this.#options.schedule.state(signalId)];
    }
  }

  /** Whether a source of names knows the container itself, not only its pod. */
  isNamed(id: string): boolean {
    return this.#names.byContainerId.has(id);
  }

  /** Takes what is there now: new containers are sampled at once, missing ones leave nothing behind. */
  update(found: readonly FoundContainer[]): void {
    this.#found = found;
    this.#settle();
    for (const process of this.#names.processes) this.#addProcess(process);
  }

  /**
   * Looks for pods whose use is counted at the pod, once everything due was read.
   * @returns true when something is to be read that was not before
   */
  reconcile(): boolean {
    const time = this.#options.schedule.now();
    let isNew = false;
    this.#judgedPods ??= this.#podsToJudge();
    for (const pod of this.#judgedPods) isNew = this.#sandboxed.judge(pod, time) || isNew;
    const isDue = this.#names.running.size > 0 && time.seconds - this.#settledSeconds >= RESETTLE_SECONDS;
    return (isNew || isDue) && this.#settle();
  }

  #podsToJudge(): JudgedPod[] {
    const pods = new Map<Pod, JudgedPod & { readonly members: JudgedContainer[] }>();
    for (const { container, readings } of this.#kept.values()) {
      const { found, pod, rates } = container;
      if (found?.podPath === undefined || pod === undefined || found.countedIn !== "own") continue;
      const judged = pods.get(pod) ?? { path: found.podPath, pod, members: [] };
      pods.set(pod, judged);
      judged.members.push({
        rates,
        readCpu: (time) => readings.find(({ probe }) => probe.name === "cpu")?.attempt(time),
      });
    }
    return [...pods.values()];
  }

  /**
   * Decides in which cgroup each container is read, adds those that are new there and removes those that ended.
   * @returns whether a container is new, or is read in another cgroup than before
   */
  #settle(): boolean {
    const { seconds } = this.#options.schedule.now();
    this.#settledSeconds = seconds;
    const settled = this.#sandboxed.settle(this.#found, this.#evidence(), seconds);
    let isChanged = false;
    for (const found of settled) {
      if (this.#isReadAs(found)) continue;
      this.#addAgain(found);
      isChanged = true;
    }
    // Containers that ended are removed last: their pod stays for those that came into it.
    const present = new Set([...settled, ...this.#names.processes].map(({ id }) => id));
    for (const id of this.#kept.keys()) if (!present.has(id)) this.remove(id);
    return isChanged;
  }

  /** What names and reads say of containers, by which sandboxes are told. */
  #evidence(): ContainerEvidence {
    return {
      isNamed: (id) => this.isNamed(id),
      running: (podUid) => this.#names.running.get(podUid),
      hasRun: ({ id }) => {
        const container = this.#kept.get(id)?.container;
        if (container?.found === undefined) return true;
        return container.found.countedIn === "own" && container.rates.cpuRead.totalSeconds !== 0;
      },
    };
  }

  #isReadAs({ countedIn, directory, id }: FoundContainer): boolean {
    const readNow = this.#kept.get(id)?.container.found;
    return readNow?.directory === directory && readNow.countedIn === countedIn;
  }

  /** A process that now has a cgroup, or a container that moved or is counted elsewhere, starts again; its pod keeps its last reads. */
  #addAgain(found: FoundContainer): void {
    const kept = this.#kept.get(found.id);
    const pod = kept?.pod;
    pod?.members.add(PLACEHOLDER);
    this.remove(found.id);
    this.#addFound(found, kept?.container.values);
    if (pod !== undefined) this.#pods.leave(pod, PLACEHOLDER);
  }

  /** Takes new names; processes they list come and go with them. */
  rename(names: NameIndex): void {
    this.#names = names;
    const listed = new Map(names.processes.map(({ id, pid }) => [id, pid]));
    for (const { container } of this.#kept.values()) {
      if (container.found === undefined && listed.get(container.id) !== container.pid) {
        this.remove(container.id);
        continue;
      }
      container.names = namesOf(names, container.id, container.found?.podUid);
      this.#label(container);
    }
    this.#settle();
    for (const process of names.processes) this.#addProcess(process);
  }

  remove(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    this.#judgedPods = undefined;
    this.#removed += 1;
    for (const reading of kept.readings) this.#release(reading);
    this.table.delete(id);
    this.infoTable.delete(id);
    if (kept.pod !== undefined) this.#pods.leave(kept.pod, kept.container.found?.directory ?? "");
  }

  close(): void {
    for (const id of this.#kept.keys()) this.remove(id);
  }

  /** A probe failed: its container ended, its source is missing for good, or it is unreadable for now. */
  failed(reading: ProbeReading, error: unknown): void {
    const { container, probe, failures } = reading;
    if (error instanceof ProcessGone || (container.found && !existsSync(container.found.directory))) {
      this.remove(container.id);
      return;
    }
    if (error instanceof AbsentSource || readFailure(error) === "absent") {
      if (failures >= MOST_ABSENT) this.#drop(reading);
      return;
    }
    this.#forget(reading);
    this.#failures += 1;
    if (failures > 1) return;
    const which = { container: container.id, probe: probe.name };
    this.#options.log.warn(which, `cannot read: ${describeError(error)}`);
  }

  /** @param shown its values before it was counted elsewhere, by {@link COLUMN} */
  #addFound(found: FoundContainer, shown: Float64Array | undefined): void {
    const { reader, hierarchies } = this.#options;
    if (hierarchies === undefined) return;
    const place = (path: string): CgroupPlace => ({
      reader,
      hierarchies,
      path,
      besidePath: found.overheadPath,
    });
    const { path, directory, podPath, podUid, countedIn } = found;
    const joined = podPath === undefined ? undefined : this.#pods.join(place(podPath), podUid, directory);
    const container = this.#create(found.id, { found, pod: joined?.pod });
    const { pod } = container;
    if (pod === undefined || podPath === undefined || countedIn === "own") {
      const probes = CONTAINER_PROBES.map((name) => makeProbe(name, place(path), container));
      this.#sample({ container, readings: [], pod: joined }, probes);
      return;
    }
    pod.hideUse();
    const isOnly = countedIn === "pod";
    const user = isOnly ? container : pod;
    const probes = CONTAINER_PROBES.map((name) => {
      if (name === "cpu") return new SandboxCpu(pod, container, isOnly, shown);
      if (name === "limits") return makeProbe(name, place(path), container);
      return makeProbe(name, place(podPath), user);
    });
    this.#sample({ container, readings: [], pod: joined }, probes);
  }

  #addProcess({ id, pid }: NamedProcess): void {
    if (this.#kept.has(id)) return;
    const { reader, procfs } = this.#options;
    if (!existsSync(`${procfs}/${pid}`)) return;
    const container = this.#create(id, { pid });
    const probe = new ProcessProbe(reader, procfs, pid, container);
    this.#sample({ container, readings: [], pod: undefined }, [probe]);
  }

  #create(id: string, { found, pid, pod }: Partial<Pick<Container, "found" | "pid" | "pod">>): Container {
    const container: Container = {
      id,
      found,
      pid,
      names: namesOf(this.#names, id, found?.podUid),
      values: this.table.row(id, { container_id: id }).values,
      rates: found?.countedIn === "own" ? new ContainerRates() : (pod?.rates ?? new ContainerRates()),
      pod,
      lastRead: undefined,
      changed: false,
      interference: undefined,
      evaluatedSeconds: undefined,
    };
    this.#label(container);
    return container;
  }

  #label({ id, names, found }: Container): void {
    const labels = {
      container_id: id,
      container: names.containerName,
      pod: names.podName,
      namespace: names.namespace,
    };
    this.table.relabel(id, labels);
    this.infoTable.row(id).values[0] = 1;
    this.infoTable.relabel(id, {
      ...labels,
      pod_uid: names.podUid ?? found?.podUid,
      qos_class: found?.qosClass,
      runtime: found?.runtime,
      counted_in: found?.countedIn === "own" ? undefined : found?.countedIn,
    });
  }

  #sample(kept: RegisteredContainer, probes: readonly Probe[]): void {
    this.#kept.set(kept.container.id, kept);
    this.#judgedPods = undefined;
    for (const probe of probes) {
      const reading = new ProbeReading(kept.container, probe, this);
      reading.signalId = this.#options.schedule.add(probe.schedule, reading);
      kept.readings.push(reading);
    }
  }

  #drop(reading: ProbeReading): void {
    const readings = this.#kept.get(reading.container.id)?.readings;
    readings?.splice(readings.indexOf(reading), 1);
    this.#forget(reading);
    this.#release(reading);
  }

  /** What was read before is no longer true. */
  #forget({ container, probe }: ProbeReading): void {
    for (const column of probe.fills) container.values[COLUMN[column]] = Number.NaN;
    probe.forget?.();
    container.changed = true;
  }

  #release({ probe, signalId }: ProbeReading): void {
    const { schedule } = this.#options;
    this.metrics.depart(probe.name, schedule.state(signalId));
    schedule.remove(signalId);
    probe.close();
  }
}
