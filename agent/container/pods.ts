import { Table } from "../expose/table.ts";
import { readFailure } from "../read/file-error.ts";
import type { SignalId } from "../sampling/signal.ts";
import type { Schedule } from "../read/schedule.ts";
import { Pod, POD_COLUMNS } from "./pod.ts";
import { cpuProbe } from "./probes/cpu.ts";
import { NetworkProbe } from "./probes/network.ts";
import { LimitsProbe } from "./probes/limits.ts";
import type { CgroupPlace, Probe, ProbeName } from "./probes/probe.ts";

/** A pod with what is read of all its containers together. */
export interface KeptPod {
  readonly path: string;
  readonly pod: Pod;
  readonly probes: Map<ProbeName, { readonly probe: Probe; readonly signalId: SignalId }>;
  /** Directories of its containers. */
  readonly members: Set<string>;
}

export interface PodSurroundings {
  readonly schedule: Schedule;
  readonly procfs: string;
  /** Interfaces of the node itself. */
  readonly nodeInterfaces: ReadonlySet<string>;
}

/** Missing for so many reads in a row, a source is not looked for any more. */
const MOST_FAILURES = 3;

/** The pods of the containers, kept as long as one of their containers is. */
export class Pods {
  /** By pod. */
  readonly table = new Table(POD_COLUMNS);
  readonly #surroundings: PodSurroundings;
  readonly #pods = new Map<string, KeptPod>();

  constructor(surroundings: PodSurroundings) {
    this.#surroundings = surroundings;
  }

  /** @param member directory of the container that joins its pod */
  join(place: CgroupPlace, uid: string, member: string): KeptPod {
    const kept = this.#pods.get(place.path) ?? this.#open(place, uid, member);
    kept.members.add(member);
    kept.pod.changedSeconds = this.#surroundings.schedule.now().seconds;
    return kept;
  }

  leave(kept: KeptPod, member: string): void {
    kept.members.delete(member);
    kept.pod.changedSeconds = this.#surroundings.schedule.now().seconds;
    if (kept.members.size > 0) return;
    for (const name of kept.probes.keys()) this.#drop(kept, name);
    kept.pod.close();
    this.#pods.delete(kept.path);
  }

  #open(place: CgroupPlace, uid: string, member: string): KeptPod {
    const { procfs, nodeInterfaces } = this.#surroundings;
    const pod = new Pod(this.table, uid, (target) => new LimitsProbe(place, target));
    const kept: KeptPod = { path: place.path, pod, probes: new Map(), members: new Set([member]) };
    this.#pods.set(place.path, kept);
    this.#add(kept, cpuProbe(place, pod));
    pod.cpu = kept.probes.get("cpu")?.probe;
    const folder = (): string | undefined => firstOf(kept.members);
    const { reader } = place;
    this.#add(kept, new NetworkProbe({ reader, procfs, nodeInterfaces, traffic: pod, folder }));
    return kept;
  }

  #add(kept: KeptPod, probe: Probe): void {
    let failures = 0;
    const signalId = this.#surroundings.schedule.add(probe.schedule, {
      read: (time) => {
        const value = probe.read(time);
        failures = 0;
        return value;
      },
      failed: (error) => {
        failures += 1;
        if (readFailure(error) === "unreadable" || failures >= MOST_FAILURES) this.#drop(kept, probe.name);
      },
    });
    kept.probes.set(probe.name, { probe, signalId });
  }

  /** Reads it no more. */
  #drop({ pod, probes }: KeptPod, name: ProbeName): void {
    const dropped = probes.get(name);
    if (dropped === undefined) return;
    probes.delete(name);
    this.#surroundings.schedule.remove(dropped.signalId);
    dropped.probe.close();
    if (name === "network") pod.forgetNetwork();
    if (name === "cpu") pod.cpu = undefined;
  }
}

function firstOf(members: ReadonlySet<string>): string | undefined {
  for (const member of members) return member;
  return undefined;
}
