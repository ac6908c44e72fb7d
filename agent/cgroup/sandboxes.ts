import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { FoundContainer } from "./discovery.ts";
import { classify } from "./name.ts";
import { processFolders } from "./process-folders.ts";

/** Program of the sandbox that containerd, CRI-O and dockershim keep in each pod: the binary of the pause images. */
const PAUSE = "pause";
/** gVisor's sandbox starts itself anew as `/proc/self/exe`. */
const REEXECUTED = "exe";
/** A sandbox is made before its program runs in it: so long a container is looked at again. */
const STARTING_MS = 10_000;

interface Judged {
  readonly firstMs: number;
  isPause: boolean;
  /** gVisor's sandbox runs in it. */
  isGuard: boolean;
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
  #judged = new Map<string, Judged>();

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
        before.get(directory) ?? { firstMs: nowMs, isPause: false, isGuard: false, isSettled: false },
      ]),
    );
    if ([...this.#judged.values()].some(({ isSettled }) => !isSettled)) this.#judge(found, nowMs);
    const judgedOf = ({ directory }: FoundContainer): Judged | undefined => this.#judged.get(directory);
    const shells = found.filter((each) => !judgedOf(each)?.isPause && !judgedOf(each)?.isGuard);
    const guarded = new Set(shells.map(({ podUid }) => podUid));
    return found.filter((each) => {
      const { isPause, isGuard } = judgedOf(each) ?? { isPause: false, isGuard: false };
      // What its containers' cgroups do not count is found at the pod; alone it stands for them.
      return (
        isNamed(each.id) || !(isPause || (isGuard && each.podPath !== undefined && guarded.has(each.podUid)))
      );
    });
  }

  #judge(found: readonly FoundContainer[], nowMs: number): void {
    const { pausing, guarding } = this.#running();
    for (const { directory, id } of found) {
      const judged = this.#judged.get(directory);
      if (judged === undefined || judged.isSettled) continue;
      judged.isPause = pausing.has(id) && processesIn(directory) <= 1;
      judged.isGuard = guarding.has(id);
      judged.isSettled = judged.isPause || judged.isGuard || nowMs - judged.firstMs >= STARTING_MS;
    }
  }

  /** Ids of the containers in which a process called `pause`, or a sandbox of gVisor's, runs. */
  #running(): { readonly pausing: ReadonlySet<string>; readonly guarding: ReadonlySet<string> } {
    const pausing = new Set<string>();
    const guarding = new Set<string>();
    for (const name of processesOf(this.#procfs)) {
      const folder = `${this.#procfs}/${name}`;
      const comm = textOf(`${folder}/comm`).trimEnd();
      if (comm === PAUSE) for (const id of containersOf(folder)) pausing.add(id);
      else if (isGuard(comm, folder)) for (const id of containersOf(folder)) guarding.add(id);
    }
    return { pausing, guarding };
  }
}

/** Whether a process is gVisor's sandbox (`runsc-sandbox --root=… boot …`), and not one of its file servers. */
function isGuard(comm: string, folder: string): boolean {
  if (comm !== REEXECUTED && !comm.startsWith("runsc")) return false;
  const words = textOf(`${folder}/cmdline`).slice(0, 4096).split("\0");
  const [program = ""] = words;
  if (program === "") return true;
  return basename(program).startsWith("runsc") && !words.some((word) => word.endsWith("gofer"));
}

/** The containers that a process is in. */
function containersOf(folder: string): string[] {
  const ids: string[] = [];
  for (const line of textOf(`${folder}/cgroup`).split("\n")) {
    // Its own cgroup, or one below it; no other above it, in which the pods of a nested node may run.
    for (const name of line.split("/").slice(-2)) {
      const place = classify(name, true);
      if (place.kind === "container" || place.kind === "flat") ids.push(place.id);
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
