import { Table } from "../expose/table.ts";
import { readFailure } from "../read/file-error.ts";
import type { SignalId } from "../sampling/signal.ts";
import type { Schedule } from "../read/schedule.ts";
import { COLUMN_COUNT } from "./columns.ts";
import { Pod, POD_COLUMNS } from "./pod.ts";
import { makeProbe, POD_PROBES, ROOT_PROBES } from "./probes/list.ts";
import { NetworkProbe } from "./probes/network.ts";
import { LimitsProbe } from "./probes/limits.ts";
import type { CgroupPlace, Probe, ProbeName, ProbeSchedule, ProbeTarget } from "./probes/probe.ts";
import { ContainerRates } from "./rates.ts";

/** A cgroup around containers whose own counters can prove that none of them moved. */
export interface Group {
  readonly path: string;
  readonly probes: Map<ProbeName, { readonly probe: Probe; readonly signalId: SignalId }>;
  /** Directories of its containers. */
  readonly members: Set<string>;
  /** Undefined for a root. */
  readonly pod: Pod | undefined;
}

export interface GroupSurroundings {
  readonly schedule: Schedule;
  readonly procfs: string;
  /** Interfaces of the node itself. */
  readonly nodeInterfaces: ReadonlySet<string>;
}

/** Three reads every other second save one for each container whenever it is due: a proof reaches to the group's last read. */
const ROOT_PACE = { minSeconds: 1, maxSeconds: 2 } as const;
/** Missing for so many reads in a row, a source is not looked for any more. */
const MOST_FAILURES = 3;

/** The enclosing cgroups of the containers, kept as long as one of their containers is. */
export class Groups {
  /** By pod. */
  readonly table = new Table(POD_COLUMNS);
  readonly #surroundings: GroupSurroundings;
  readonly #groups = new Map<string, Group>();
  /** Of a root only the judged value counts; its other values are not used. */
  readonly #rootTarget = { values: new Float64Array(COLUMN_COUNT), rates: new ContainerRates() };

  constructor(surroundings: GroupSurroundings) {
    this.#surroundings = surroundings;
  }

  /** @param member directory of the container that joins its root */
  joinRoot(place: CgroupPlace, member: string): Group {
    return this.#enter(place.path, member) ?? this.#open(place, member, this.#rootTarget, undefined);
  }

  /** @param member directory of the container that joins its pod */
  joinPod(place: CgroupPlace, uid: string, member: string): Group {
    const { procfs, nodeInterfaces, schedule } = this.#surroundings;
    const entered = this.#enter(place.path, member);
    const pod = entered?.pod ?? new Pod(this.table, uid, (target) => new LimitsProbe(place, target));
    pod.changedSeconds = schedule.now().seconds;
    if (entered !== undefined) return entered;
    const group = this.#open(place, member, pod, pod);
    pod.cpu = group.probes.get("cpu")?.probe;
    const probe = new NetworkProbe({
      reader: place.reader,
      procfs,
      nodeInterfaces,
      traffic: pod,
      folder: () => firstOf(group.members),
    });
    this.#add(group, probe, {});
    return group;
  }

  leave(group: Group, member: string): void {
    group.members.delete(member);
    if (group.pod !== undefined) group.pod.changedSeconds = this.#surroundings.schedule.now().seconds;
    if (group.members.size > 0) return;
    for (const name of group.probes.keys()) this.#drop(group, name);
    group.pod?.close();
    this.#groups.delete(group.path);
  }

  #enter(path: string, member: string): Group | undefined {
    const group = this.#groups.get(path);
    group?.members.add(member);
    return group;
  }

  #open(place: CgroupPlace, member: string, target: ProbeTarget, pod: Pod | undefined): Group {
    const group: Group = { path: place.path, probes: new Map(), members: new Set([member]), pod };
    this.#groups.set(place.path, group);
    const [names, pace] = pod === undefined ? [ROOT_PROBES, ROOT_PACE] : [POD_PROBES, {}];
    for (const name of names) this.#add(group, makeProbe(name, place, target), pace);
    return group;
  }

  #add(group: Group, probe: Probe, pace: Partial<ProbeSchedule>): void {
    let failures = 0;
    const signalId = this.#surroundings.schedule.add(
      { ...probe.schedule, ...pace, pruning: "none" },
      {
        read: (time) => {
          const value = probe.read(time);
          failures = 0;
          return value;
        },
        failed: (error) => {
          failures += 1;
          if (readFailure(error) === "unreadable" || failures >= MOST_FAILURES) this.#drop(group, probe.name);
        },
      },
    );
    group.probes.set(probe.name, { probe, signalId });
  }

  /** Without the group's reading its containers are read for themselves. */
  #drop(group: Group, name: ProbeName): void {
    const kept = group.probes.get(name);
    if (kept === undefined) return;
    group.probes.delete(name);
    this.#surroundings.schedule.remove(kept.signalId);
    kept.probe.close();
    if (name === "network") group.pod?.forgetNetwork();
    if (name === "cpu" && group.pod !== undefined) group.pod.cpu = undefined;
  }
}

function firstOf(members: ReadonlySet<string>): string | undefined {
  for (const member of members) return member;
  return undefined;
}
