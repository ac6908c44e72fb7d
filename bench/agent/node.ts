import { mkdirSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { v2Files } from "../../test/agent/tree/cgroup-text.ts";
import { GIB, nodeFiles } from "../../test/agent/tree/node.ts";
import type { NodeState } from "../../test/agent/tree/node.ts";

const CPUS = 16;
const MEMORY_BYTES = 64 * GIB;
const SLICES = ["", "/kubepods-burstable.slice", "/kubepods-besteffort.slice"] as const;
const QOS = ["", "-burstable", "-besteffort"] as const;

interface Container {
  readonly folder: string;
  /** Mean use, cores; a third of the containers sleep, as on real nodes. */
  readonly meanCores: number;
  readonly memoryBytes: number;
  cpuSeconds: number;
  waitSeconds: number;
  readBytes: number;
}

/** Most containers of a node do little, some a lot: the mean is about an eighth of a core. */
function meanCores(rng: Rng): number {
  const kind = rng();
  if (kind < 0.35) return 0;
  return kind < 0.8 ? 0.002 + 0.02 * rng() : 0.1 + 0.4 * rng();
}

/**
 * A node of 16 CPUs with `pods` pods of `containersPerPod` containers each as files on disk: cgroup v2 under the systemd
 * driver, every file an agent reads, rewritten in place once a second as the kernel's would change.
 */
export class SyntheticNode {
  readonly root: string;
  readonly #rng: Rng;
  readonly #containers: Container[] = [];
  readonly #pods = new Map<string, Container[]>();
  readonly #descriptors = new Map<string, number>();
  readonly #lengths = new Map<string, number>();
  #state: NodeState;

  constructor(root: string, shape: { pods: number; containersPerPod: number }, rng: Rng) {
    this.root = root;
    this.#rng = rng;
    for (let pod = 0; pod < shape.pods; pod += 1) this.#addPod(pod, shape.containersPerPod);
    this.#state = {
      cpus: CPUS,
      busySeconds: 0,
      idleSeconds: 0,
      stealSeconds: 0,
      cpuWaitSeconds: 0,
      memoryBytes: MEMORY_BYTES,
      availableBytes: MEMORY_BYTES * 0.6,
      memoryWaitSeconds: 0,
      refaults: 0,
      ioSeconds: 0,
      receivedBytes: 1e9,
      sentBytes: 1e9,
      drops: 0,
      sentSegments: 1e6,
      retransmits: 100,
    };
    this.#write("cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
    this.advance(false);
  }

  get files(): number {
    return this.#descriptors.size;
  }

  /** One second passes; in a burst a quarter of the containers and the pressure rise steeply. */
  advance(burst: boolean): void {
    let busy = 0.2;
    for (const [index, container] of this.#containers.entries()) {
      const noise = 0.9 + 0.2 * this.#rng();
      const cores = burst && index % 4 === 0 ? 0.5 * noise : container.meanCores * noise;
      container.cpuSeconds += cores;
      container.waitSeconds += burst ? 0.2 * this.#rng() : cores > 0.1 ? 0.01 * this.#rng() : 0;
      container.readBytes += cores > 0.1 ? 65_536 : 0;
      busy += cores;
    }
    const s = this.#state;
    const used = Math.min(CPUS, busy);
    this.#state = {
      ...s,
      busySeconds: s.busySeconds + used,
      idleSeconds: s.idleSeconds + CPUS - used,
      cpuWaitSeconds: s.cpuWaitSeconds + (burst ? 0.5 : 0.03) * this.#rng(),
      ioSeconds: s.ioSeconds + 0.05 * this.#rng(),
      receivedBytes: s.receivedBytes + 2e7 * this.#rng(),
      sentBytes: s.sentBytes + 2e7 * this.#rng(),
      sentSegments: s.sentSegments + 20_000,
      retransmits: s.retransmits + this.#rng() * 5,
    };
    this.#writeAll();
  }

  dispose(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  #addPod(pod: number, containers: number): void {
    const kind = pod % 3;
    const uid = `${pod.toString(16).padStart(8, "0")}_0000_4000_8000_000000000000`;
    const podFolder = `cgroup/kubepods.slice${SLICES[kind] ?? ""}/kubepods${QOS[kind] ?? ""}-pod${uid}.slice`;
    const members: Container[] = [];
    for (let index = 0; index < containers; index += 1) {
      const id = (pod * containers + index).toString(16).padStart(64, "0");
      members.push({
        folder: `${podFolder}/cri-containerd-${id}.scope`,
        meanCores: meanCores(this.#rng),
        memoryBytes: Math.round((16 + 200 * this.#rng()) * 1024 * 1024),
        cpuSeconds: 10 * this.#rng(),
        waitSeconds: 0,
        readBytes: 0,
      });
    }
    this.#containers.push(...members);
    this.#pods.set(podFolder, members);
  }

  #writeAll(): void {
    for (const [path, text] of Object.entries(nodeFiles(this.#state))) this.#write(path, text);
    for (const container of this.#containers) {
      const { folder, cpuSeconds, waitSeconds, memoryBytes, readBytes, meanCores: cores } = container;
      this.#writeCgroup(folder, {
        cpuSeconds,
        cpuWaitSeconds: waitSeconds,
        memoryBytes,
        readBytes,
        ...(cores > 0.1 ? { cpuLimitCores: 1, memoryLimitBytes: GIB } : {}),
      });
    }
    for (const [folder, members] of [...this.#pods, ["cgroup/kubepods.slice", this.#containers] as const]) {
      const sum = (of: (member: Container) => number): number =>
        members.reduce((all, each) => all + of(each), 0);
      this.#writeCgroup(folder, {
        cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds),
        cpuWaitSeconds: Math.max(...members.map(({ waitSeconds }) => waitSeconds)),
        memoryBytes: sum(({ memoryBytes }) => memoryBytes),
        readBytes: sum(({ readBytes }) => readBytes),
      });
    }
  }

  #writeCgroup(folder: string, use: Parameters<typeof v2Files>[1]): void {
    for (const [path, text] of Object.entries(v2Files(folder, use))) this.#write(path, text);
  }

  /** Overwrites from the start, as a reader with a held descriptor must never see an empty file. */
  #write(path: string, text: string): void {
    let descriptor = this.#descriptors.get(path);
    if (descriptor === undefined) {
      const file = join(this.root, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, "");
      descriptor = openSync(file, "r+");
      this.#descriptors.set(path, descriptor);
    }
    const length = this.#lengths.get(path) ?? 0;
    this.#lengths.set(path, text.length);
    // A text that got shorter leaves nothing of the old one behind: blanks before its last line end.
    const padded = text.length < length ? `${text.slice(0, -1)}${" ".repeat(length - text.length)}\n` : text;
    writeSync(descriptor, padded, 0, "latin1");
  }
}
