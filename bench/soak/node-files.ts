import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { v2Files } from "../../test/agent/tree/cgroup-text.ts";
import { nodeFiles, QUIET_NODE } from "../../test/agent/tree/node.ts";
import { POD_CORES } from "./application.ts";
import type { SoakApplication, SoakPod } from "./application.ts";

const MEMORY_BYTES = 256e6;
const SLICE = "cgroup/kubepods.slice";

/** The files of a node that runs the application, as an agent reads them: cgroup v2 under the systemd driver. */
export class NodeFiles {
  readonly root: string;
  private readonly lengths = new Map<string, number>();
  private present = new Map<string, string>();
  private seconds = 0;

  constructor(root: string) {
    this.root = root;
    this.write("cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
  }

  /** Flags of the agent. */
  get paths(): Record<string, string> {
    return Object.fromEntries(
      ["proc", "sys", "cgroup"].map((part) => [`path.${part}fs`, join(this.root, part)]),
    );
  }

  /** Writes what has changed, makes what is new and removes what is gone. */
  update({ services }: SoakApplication, elapsedSeconds: number): void {
    this.seconds += elapsedSeconds;
    const pods = [...services.values()].flatMap((service) => service.pods);
    const all = pods.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
    const state = {
      ...QUIET_NODE,
      cpus: 16,
      busySeconds: 400 + all,
      idleSeconds: 4_000 + 16 * this.seconds - all,
    };
    for (const [path, text] of Object.entries(nodeFiles(state))) this.write(path, text);
    this.writeGroup(SLICE, { cpuSeconds: all, memoryBytes: MEMORY_BYTES * pods.length });
    const present = new Map(pods.map((pod) => [pod.container, podFolder(pod)]));
    for (const [container, folder] of this.present) if (!present.has(container)) this.remove(folder);
    this.present = present;
    for (const pod of pods) this.writePod(pod);
  }

  private writePod(pod: SoakPod): void {
    const { container, cpuSeconds } = pod;
    const use = { cpuSeconds, memoryBytes: MEMORY_BYTES * 0.4 };
    this.writeGroup(podFolder(pod), use);
    this.writeGroup(`${podFolder(pod)}/cri-containerd-${container}.scope`, {
      ...use,
      cpuLimitCores: POD_CORES,
      memoryLimitBytes: MEMORY_BYTES,
    });
  }

  private remove(folder: string): void {
    rmSync(join(this.root, folder), { recursive: true, force: true });
    for (const path of this.lengths.keys()) if (path.startsWith(folder)) this.lengths.delete(path);
  }

  private writeGroup(folder: string, use: Parameters<typeof v2Files>[1]): void {
    for (const [path, text] of Object.entries(v2Files(folder, use))) this.write(path, text);
  }

  /** Overwrites from the start, as a reader with a held descriptor must never see an empty file. */
  private write(path: string, text: string): void {
    const file = join(this.root, path);
    const length = this.lengths.get(path);
    if (length === undefined) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    } else {
      const descriptor = openSync(file, "r+");
      const padded =
        text.length < length ? `${text.slice(0, -1)}${" ".repeat(length - text.length)}\n` : text;
      writeSync(descriptor, padded, 0, "latin1");
      closeSync(descriptor);
    }
    this.lengths.set(path, Math.max(length ?? 0, text.length));
  }
}

const podFolder = ({ container }: SoakPod): string =>
  `${SLICE}/kubepods-pod${container.slice(0, 8)}_${container.slice(8, 12)}_4000_8000_${container.slice(12, 24)}.slice`;
