import type { SignalId } from "../sampling/signal.ts";
import type { Schedule } from "../schedule.ts";
import { CONTAINER_COLUMNS } from "./columns.ts";
import { makeProbe } from "./probes/list.ts";
import type { CgroupProbeName } from "./probes/list.ts";
import type { CgroupPlace, Probe, ProbeName, ProbeSchedule } from "./probes/probe.ts";
import { ContainerRates } from "./rates.ts";

/** A cgroup around containers whose own counters can prove that none of them moved. */
export interface Group {
  readonly path: string;
  readonly probes: Map<ProbeName, { readonly probe: Probe; readonly signalId: SignalId }>;
  members: number;
}

/** The enclosing cgroups of the containers, kept as long as one of their containers is. */
export class Groups {
  readonly #schedule: Schedule;
  readonly #groups = new Map<string, Group>();
  /** Nobody looks at a group's values: only the judged value counts. */
  readonly #target = { values: new Float64Array(CONTAINER_COLUMNS.length), rates: new ContainerRates() };

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** @param pace what differs from the probes' own schedule */
  join(place: CgroupPlace, names: readonly CgroupProbeName[], pace: Partial<ProbeSchedule>): Group {
    const known = this.#groups.get(place.path);
    if (known !== undefined) {
      known.members += 1;
      return known;
    }
    const group: Group = { path: place.path, probes: new Map(), members: 1 };
    this.#groups.set(place.path, group);
    for (const name of names) {
      const probe = makeProbe(name, place, this.#target);
      const signalId = this.#schedule.add(
        { ...probe.schedule, ...pace, pruning: "none" },
        { read: (time) => probe.read(time), failed: () => this.#drop(group, name) },
      );
      group.probes.set(name, { probe, signalId });
    }
    return group;
  }

  leave(group: Group): void {
    group.members -= 1;
    if (group.members > 0) return;
    for (const name of group.probes.keys()) this.#drop(group, name);
    this.#groups.delete(group.path);
  }

  /** Without the group's reading its containers are read for themselves. */
  #drop(group: Group, name: ProbeName): void {
    const kept = group.probes.get(name);
    if (kept === undefined) return;
    group.probes.delete(name);
    this.#schedule.remove(kept.signalId);
    kept.probe.close();
  }
}
