import { existsSync } from "node:fs";
import type { Interference } from "@tradewind/core/contract/interference.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { FoundContainer } from "../cgroup/discovery.ts";
import type { Hierarchies } from "../cgroup/hierarchies.ts";
import type { SampleTime } from "../collectors/collector.ts";
import { Table } from "../expose/table.ts";
import { AbsentSource, readFailure } from "../read/file-error.ts";
import type { Reader } from "../read/reader.ts";
import type { SignalId } from "../sampling/signal.ts";
import { NONE } from "../sampling/signal.ts";
import type { Schedule } from "../schedule.ts";
import { containerProbes, podProbes } from "./cgroup-probes.ts";
import { COLUMN, CONTAINER_COLUMNS } from "./columns.ts";
import { namesOf, NO_NAMES } from "./names.ts";
import type { ContainerNames, NamedProcess, NameIndex } from "./names.ts";
import { ContainerRates } from "./probe.ts";
import type { Probe, ProbeName } from "./probe.ts";
import { ProcessGone, processProbe } from "./process-probe.ts";

/** One container being sampled. */
export interface Container {
  readonly id: string;
  readonly found: FoundContainer | undefined;
  readonly pid: number | undefined;
  names: ContainerNames;
  /** Values by {@link COLUMN}. */
  readonly values: Float64Array;
  readonly rates: ContainerRates;
  /** The probe whose read time stands for the container. */
  mainSignal: SignalId;
  lastRead: SampleTime | undefined;
  /** Read since its interference was worked out last. */
  changed: boolean;
  interference: Interference | undefined;
}

interface Kept {
  readonly container: Container;
  readonly probes: Map<ProbeName, { readonly probe: Probe; readonly signalId: SignalId }>;
  readonly pod: Pod | undefined;
}

interface Pod {
  readonly path: string;
  readonly signals: Map<ProbeName, { readonly probe: Probe; readonly signalId: SignalId }>;
  containers: number;
}

export interface RegistryOptions {
  readonly reader: Reader;
  readonly procfs: string;
  readonly hierarchies: Hierarchies | undefined;
  readonly schedule: Schedule;
  readonly memoryToleranceBytes: number;
  readonly log: Logger;
}

const INFO = [
  {
    name: "tradewind_container_info",
    help: "Always 1; names the container, its pod and its quality of service class.",
    kind: "gauge",
  },
] as const;

/** A source that is missing this often in a row is not looked for again while the container lives. */
const MOST_ABSENT = 3;

/** The containers of the node: adds and removes them with everything they hold. */
export class ContainerRegistry {
  readonly table = new Table(CONTAINER_COLUMNS);
  readonly infoTable = new Table(INFO);
  readonly #options: RegistryOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #pods = new Map<string, Pod>();
  #names: NameIndex = NO_NAMES;
  #removed = 0;
  #failures = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#kept.size;
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

  /** Takes what is there now: new containers are sampled at once, missing ones leave nothing behind. */
  update(found: readonly FoundContainer[]): void {
    const present = new Set(found.map(({ id }) => id));
    for (const process of this.#names.processes) present.add(process.id);
    for (const id of this.#kept.keys()) if (!present.has(id)) this.remove(id);
    for (const each of found) {
      const known = this.#kept.get(each.id);
      if (known?.container.found?.path === each.path) continue;
      // A process that now has a cgroup, or a container that moved, starts anew.
      this.remove(each.id);
      this.#addFound(each);
    }
    for (const process of this.#names.processes) this.#addProcess(process);
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
    for (const process of names.processes) this.#addProcess(process);
  }

  remove(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    this.#removed += 1;
    for (const { probe, signalId } of kept.probes.values()) {
      this.#options.schedule.remove(signalId);
      probe.close();
    }
    this.table.delete(id);
    this.infoTable.delete(id);
    if (kept.pod !== undefined) this.#leavePod(kept.pod);
  }

  close(): void {
    for (const id of this.#kept.keys()) this.remove(id);
  }

  #addFound(found: FoundContainer): void {
    const { reader, hierarchies, memoryToleranceBytes } = this.#options;
    if (hierarchies === undefined) return;
    const container = this.#create(found.id, found, undefined);
    const pod = found.podPath === found.path ? undefined : this.#joinPod(found.podPath);
    const place = { reader, hierarchies, path: found.path, memoryToleranceBytes };
    this.#watch({ container, probes: new Map(), pod }, containerProbes(place, container));
  }

  #addProcess({ id, pid }: NamedProcess): void {
    if (this.#kept.has(id)) return;
    const container = this.#create(id, undefined, pid);
    const probe = processProbe(this.#options.reader, this.#options.procfs, pid, container);
    this.#watch({ container, probes: new Map(), pod: undefined }, [probe]);
  }

  #create(id: string, found: FoundContainer | undefined, pid: number | undefined): Container {
    const container: Container = {
      id,
      found,
      pid,
      names: namesOf(this.#names, id, found?.podUid),
      values: this.table.row(id, { container_id: id }).values,
      rates: new ContainerRates(),
      mainSignal: NONE,
      lastRead: undefined,
      changed: false,
      interference: undefined,
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
      pod_uid: names.podUid ?? found?.podUid,
      qos_class: found?.qosClass,
      runtime: found?.runtime,
    };
    this.infoTable.row(id).values[0] = 1;
    this.infoTable.relabel(id, labels);
  }

  #watch(kept: Kept, probes: readonly Probe[]): void {
    const { container, pod } = kept;
    this.#kept.set(container.id, kept);
    for (const probe of probes) {
      const parent = pod?.signals.get(probe.name)?.signalId;
      let absent = 0;
      const isMain = probe.name === "cpu" || probe.name === "process";
      const signalId = this.#options.schedule.add(
        { ...probe.schedule, ...(parent === undefined ? { pruning: "none" } : { parent }) },
        {
          read: (time) => {
            const value = probe.read(time);
            absent = 0;
            container.changed = true;
            if (isMain) {
              container.lastRead = time;
              container.values[COLUMN.lastSampleSeconds] = time.nowMs / 1e3;
            }
            return value;
          },
          failed: (error) => {
            absent += 1;
            this.#failed(kept, probe, error, absent);
          },
        },
      );
      if (isMain) container.mainSignal = signalId;
      kept.probes.set(probe.name, { probe, signalId });
    }
  }

  #failed({ container, probes }: Kept, probe: Probe, error: unknown, times: number): void {
    if (error instanceof ProcessGone || (container.found && !existsSync(container.found.directory))) {
      this.remove(container.id);
      return;
    }
    const absent = error instanceof AbsentSource || readFailure(error) === "absent";
    if (!absent) {
      this.#failures += 1;
      if (times === 1) {
        this.#options.log.warn(
          { container: container.id, probe: probe.name },
          `cannot read: ${describeError(error)}`,
        );
      }
    } else if (times >= MOST_ABSENT) {
      const signalId = probes.get(probe.name)?.signalId;
      if (signalId !== undefined) this.#options.schedule.remove(signalId);
      probes.delete(probe.name);
      probe.close();
    }
  }

  /** The pod's own signals, which let the controller leave unmoved containers unread. */
  #joinPod(path: string): Pod {
    const known = this.#pods.get(path);
    if (known !== undefined) {
      known.containers += 1;
      return known;
    }
    const { reader, hierarchies, schedule, memoryToleranceBytes } = this.#options;
    const pod: Pod = { path, signals: new Map(), containers: 1 };
    this.#pods.set(path, pod);
    if (hierarchies === undefined) return pod;
    const place = { reader, hierarchies, path, memoryToleranceBytes };
    const target = { values: new Float64Array(CONTAINER_COLUMNS.length), rates: new ContainerRates() };
    for (const probe of podProbes(place, target)) {
      const signalId = schedule.add(
        { ...probe.schedule, pruning: "none" },
        { read: (time) => probe.read(time), failed: () => this.#dropPodProbe(pod, probe.name) },
      );
      pod.signals.set(probe.name, { probe, signalId });
    }
    return pod;
  }

  /** Without the pod's reading its containers are read for themselves. */
  #dropPodProbe(pod: Pod, name: ProbeName): void {
    const signal = pod.signals.get(name);
    if (signal === undefined) return;
    pod.signals.delete(name);
    this.#options.schedule.remove(signal.signalId);
    signal.probe.close();
  }

  #leavePod(pod: Pod): void {
    pod.containers -= 1;
    if (pod.containers > 0) return;
    for (const name of pod.signals.keys()) this.#dropPodProbe(pod, name);
    this.#pods.delete(pod.path);
  }
}
