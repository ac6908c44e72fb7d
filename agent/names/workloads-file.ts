import { readFileSync, statSync } from "node:fs";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { ContainerNames, NamedProcess, NameIndex } from "../container/names.ts";
import { systemCode } from "../read/file-error.ts";

const LARGEST_FILE_BYTES = 64 * 1024 * 1024;

/**
 * The names in a static workloads file (core/contract/workload.ts). Its writer replaces it by renaming; it is read
 * again when inode, size or time of change differ. Only pods on this node count.
 */
export class WorkloadsFile {
  readonly #path: string;
  readonly #node: string;
  #version = "";

  constructor(path: string, node: string) {
    this.#path = path;
    this.#node = node;
  }

  /**
   * @returns the new names, undefined when nothing changed; no file yet is no names
   * @throws TradewindError when the file cannot be read or is not a workload list; it is tried again when it changes
   */
  async poll(): Promise<NameIndex | undefined> {
    const version = this.#stat();
    if (version === this.#version) return undefined;
    this.#version = version;
    return version === "" ? indexWorkloads([], this.#node) : indexWorkloads(await this.#read(), this.#node);
  }

  #stat(): string {
    try {
      const { ino, size, mtimeMs } = statSync(this.#path);
      return `${ino} ${size} ${mtimeMs}`;
    } catch (error) {
      if (systemCode(error) === "ENOENT") return "";
      throw new TradewindError("unreadable-workloads", `cannot look at ${this.#path}`, { cause: error });
    }
  }

  async #read(): Promise<WorkloadList["workloads"]> {
    const { size } = statSync(this.#path);
    if (size > LARGEST_FILE_BYTES) {
      throw new TradewindError("file-too-large", `${this.#path} is larger than ${LARGEST_FILE_BYTES} bytes`);
    }
    const schema = (await import("@tradewind/core/contract/workload.ts")).WorkloadList;
    return parseJsonWith(schema, readFileSync(this.#path, "utf8"), `workloads file ${this.#path}`).workloads;
  }
}

/** The names of the pods on `node`. */
export function indexWorkloads(workloads: WorkloadList["workloads"], node: string): NameIndex {
  const byContainerId = new Map<string, ContainerNames>();
  const byPodUid = new Map<string, ContainerNames>();
  const running = new Map<string, readonly string[]>();
  const processes: NamedProcess[] = [];
  for (const { namespace, pods } of workloads) {
    for (const pod of pods) {
      if (pod.node !== node) continue;
      const names = { podUid: pod.uid, podName: pod.name, namespace };
      byPodUid.set(pod.uid, names);
      running.set(
        pod.uid,
        pod.containers.map(({ id }) => id),
      );
      for (const { id, name, pid } of pod.containers) {
        byContainerId.set(id, { ...names, containerName: name });
        if (pid !== undefined) processes.push({ id, pid });
      }
    }
  }
  return { byContainerId, byPodUid, running, processes };
}
