import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { FoundContainer } from "./discovery.ts";
import { classify } from "./name.ts";
import { processFolders } from "./process-folders.ts";

/** Program of the sandbox that containerd, CRI-O and dockershim keep in each pod: the binary of the pause images. */
const PAUSE = "pause";
/** gVisor's sandbox starts itself again as `/proc/self/exe`. */
const REEXECUTED = "exe";
/** A sandbox is made before its program runs in it: until a container is this old it is looked at again. */
const STARTING_MS = 10_000;

type SandboxKind = "pause" | "gvisor";

interface SandboxState {
  readonly firstMs: number;
  /** Undefined for a container. */
  kind: SandboxKind | undefined;
  isSettled: boolean;
}

/**
 * Tells the sandbox of a pod from its containers. It has a cgroup like theirs. A "pause" container does no work, and its only
 * process is called `pause`; gVisor's does the work of all containers. What Kubernetes names as a container is none.
 * Processes are found through `/proc`, since `cgroup.procs` does not show those outside the reader's process namespace.
 */
export class Sandboxes {
  readonly #procfs: string;
  readonly #clock: Clock;
  /** By directory. */
  #judged = new Map<string, SandboxState>();

  constructor(procfs: string, clock: Clock) {
    this.#procfs = procfs;
    this.#clock = clock;
  }

  /** @param isNamed whether a source of names knows the container of this id */
  without(found: readonly FoundContainer[], isNamed: (id: string) => boolean): FoundContainer[] {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#judged;
    this.#judged = new Map(
      found.map(({ directory }) => [
        directory,
        before.get(directory) ?? { firstMs: nowMs, kind: undefined, isSettled: false },
      ]),
    );
    if ([...this.#judged.values()].some(({ isSettled }) => !isSettled)) this.#judge(found, nowMs);
    const kindOf = ({ directory }: FoundContainer): SandboxKind | undefined =>
      this.#judged.get(directory)?.kind;
    const podsWithContainers = new Set(
      found.filter((each) => kindOf(each) === undefined).map(({ podUid }) => podUid),
    );
    return found.filter((each) => {
      const kind = kindOf(each);
      if (kind === undefined || isNamed(each.id)) return true;
      if (kind === "pause") return false;
      // Beside containers its use is counted at the pod; alone it stands for them.
      return each.podPath === undefined || !podsWithContainers.has(each.podUid);
    });
  }

  #judge(found: readonly FoundContainer[], nowMs: number): void {
    const running = this.#running();
    for (const { directory, id } of found) {
      const judged = this.#judged.get(directory);
      if (judged === undefined || judged.isSettled) continue;
      const kind = running.get(id);
      judged.kind = kind === "pause" && processesIn(directory) > 1 ? undefined : kind;
      judged.isSettled = judged.kind !== undefined || nowMs - judged.firstMs >= STARTING_MS;
    }
  }

  /** The kind of sandbox whose process runs in a container, by the container's id. */
  #running(): ReadonlyMap<string, SandboxKind> {
    const kinds = new Map<string, SandboxKind>();
    for (const name of processesOf(this.#procfs)) {
      const folder = `${this.#procfs}/${name}`;
      const kind = sandboxKind(folder);
      if (kind !== undefined) for (const id of containersOf(folder)) kinds.set(id, kind);
    }
    return kinds;
  }
}

/** gVisor's sandbox is `runsc-sandbox --root=… boot …`; its file servers are none. */
function sandboxKind(folder: string): SandboxKind | undefined {
  const comm = textOf(`${folder}/comm`).trimEnd();
  if (comm === PAUSE) return "pause";
  if (comm !== REEXECUTED && !comm.startsWith("runsc")) return undefined;
  const words = textOf(`${folder}/cmdline`).slice(0, 4096).split("\0");
  const [program = ""] = words;
  if (program === "") return "gvisor";
  const isSandbox = basename(program).startsWith("runsc") && !words.some((word) => word.endsWith("gofer"));
  return isSandbox ? "gvisor" : undefined;
}

/** Ids of the containers that a process is in. */
function containersOf(folder: string): string[] {
  const ids: string[] = [];
  for (const line of textOf(`${folder}/cgroup`).split("\n")) {
    // Its own cgroup, or one below it; no other above it, in which the pods of a nested node may run.
    for (const name of line.split("/").slice(-2)) {
      const cgroup = classify(name, true);
      if (cgroup.kind === "container" || cgroup.kind === "flat") ids.push(cgroup.id);
    }
  }
  return ids;
}

function processesOf(procfs: string): string[] {
  try {
    return readdirSync(procfs).filter((name) => /^[1-9]\d*$/.test(name));
  } catch {
    return [];
  }
}

/** Processes outside the reader's process namespace are listed as 0 in v2, and not at all in v1. */
function processesIn(directory: string): number {
  let count = 0;
  for (const folder of processFolders(directory)) {
    const lines = textOf(`${folder}/cgroup.procs`).split("\n");
    count += lines.filter((line) => line !== "").length;
  }
  return count;
}

/** Empty where the process, or the file, is gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
