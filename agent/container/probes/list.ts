import { cpuProbe } from "./cpu.ts";
import { ioProbe } from "./io.ts";
import { LimitsProbe } from "./limits.ts";
import { MemoryProbe } from "./memory.ts";
import { PressureProbe } from "./pressure.ts";
import type { CgroupPlace, Probe, ProbeName, ProbeTarget } from "./probe.ts";

type Make = (place: CgroupPlace, target: ProbeTarget) => Probe;

/** Every probe of a cgroup, in alphabetical order. */
const PROBES = {
  cpu: cpuProbe,
  cpuPressure: (place, target) => new PressureProbe("cpuPressure", place, target),
  io: ioProbe,
  ioPressure: (place, target) => new PressureProbe("ioPressure", place, target),
  limits: (place, target) => new LimitsProbe(place, target),
  memory: (place, target) => new MemoryProbe(place, target),
  memoryPressure: (place, target) => new PressureProbe("memoryPressure", place, target),
} as const satisfies Partial<Record<ProbeName, Make>>;

export type CgroupProbeName = keyof typeof PROBES;

/** Probes of a container. Those whose files are not there fail as absent and are dropped by the caller. */
export const CONTAINER_PROBES = Object.keys(PROBES) as CgroupProbeName[];

export function makeProbe(name: CgroupProbeName, place: CgroupPlace, target: ProbeTarget): Probe {
  return PROBES[name](place, target);
}
