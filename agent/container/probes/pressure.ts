import type { SampleTime } from "../../sampling/sample-time.ts";
import { parsePressure } from "../../parse/pressure.ts";
import { AbsentSource } from "../../read/file-error.ts";
import type { HeldFile } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import type { ContainerColumn } from "../columns.ts";
import { put } from "./probe.ts";
import type { CgroupPlace, Probe, ProbeTarget } from "./probe.ts";

interface Kind {
  readonly file: string;
  readonly some: ContainerColumn;
  readonly full: ContainerColumn;
  readonly schedule: SignalOptions;
}

const schedule = (channels: number): SignalOptions => ({
  kind: "counter",
  tolerance: 0.05,
  channels,
});

const KINDS = {
  cpuPressure: {
    file: "cpu.pressure",
    some: "cpuWaitingSeconds",
    full: "cpuStalledSeconds",
    schedule: schedule(CHANNEL.cpu),
  },
  ioPressure: {
    file: "io.pressure",
    some: "ioWaitingSeconds",
    full: "ioStalledSeconds",
    schedule: schedule(CHANNEL.io),
  },
  memoryPressure: {
    file: "memory.pressure",
    some: "memoryWaitingSeconds",
    full: "memoryStalledSeconds",
    schedule: schedule(CHANNEL.memory),
  },
} as const satisfies Record<string, Kind>;

/** Pressure of one resource, from the v2 tree of a v2 or hybrid host; upstream v1 has none per cgroup. */
export class PressureProbe implements Probe {
  readonly name: keyof typeof KINDS;
  readonly #isThere: boolean;
  readonly #file: HeldFile;
  readonly #target: ProbeTarget;

  constructor(name: keyof typeof KINDS, { reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    this.name = name;
    this.#isThere = hierarchies.unified !== undefined;
    this.#file = reader.file(`${hierarchies.unified ?? ""}${path}`, KINDS[name].file);
    this.#target = target;
  }

  get schedule(): SignalOptions {
    return KINDS[this.name].schedule;
  }

  get fills(): readonly ContainerColumn[] {
    const { some, full } = KINDS[this.name];
    return [some, full];
  }

  read({ seconds }: SampleTime): number {
    if (!this.#isThere) throw new AbsentSource("pressure of cgroups");
    const { someSeconds, fullSeconds } = parsePressure(this.#file.text());
    const { some, full } = KINDS[this.name];
    put(this.#target, some, someSeconds);
    put(this.#target, full, fullSeconds);
    if (this.name === "cpuPressure") this.#target.rates.cpuPressure(someSeconds, seconds);
    else if (this.name === "memoryPressure") this.#target.rates.memoryPressure(someSeconds, seconds);
    return someSeconds;
  }

  forget(): void {
    if (this.name === "cpuPressure") this.#target.rates.forgetCpuPressure();
    else if (this.name === "memoryPressure") this.#target.rates.forgetMemoryPressure();
  }

  close(): void {
    this.#file.close();
  }
}
