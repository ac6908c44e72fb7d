import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { FoundContainer } from "./discovery.ts";
import { classify } from "./name.ts";
import { processFolders } from "./process-folders.ts";

/** Program of the sandbox that containerd, CRI-O and dockershim keep in each pod: the binary of the pause images. */
const PAUSE = "pause";
/** A sandbox is made before its program runs in it: so long a container is looked at again. */
const STARTING_MS = 10_000;

interface Judged {
  readonly firstMs: number;
  isSandbox: boolean;
  isSettled: boolean;
}

/**
 * Tells the sandbox ("pause" container) of a pod from its containers. It has a cgroup like theirs, but does no work. Its only
 * process is called `pause`; what Kubernetes names as a container is none. Processes are found through `/proc`, since
 * `cgroup.procs` does not show those outside the reader's process namespace.
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
        before.get(directory) ?? { firstMs: nowMs, isSandbox: false, isSettled: false },
      ]),
    );
    if ([...this.#judged.values()].some(({ isSettled }) => !isSettled)) this.#judge(found, nowMs);
    return found.filter(
      ({ directory, id }) => isNamed(id) || this.#judged.get(directory)?.isSandbox !== true,
    );
  }

  #judge(found: readonly FoundContainer[], nowMs: number): void {
    const pausing = this.#pausing();
    for (const { directory, id } of found) {
      const judged = this.#judged.get(directory);
      if (judged === undefined || judged.isSettled) continue;
      judged.isSandbox = pausing.has(id) && processesIn(directory) <= 1;
      judged.isSettled = judged.isSandbox || nowMs - judged.firstMs >= STARTING_MS;
    }
  }

  /** Ids of the containers in which a process called `pause` runs. */
  #pausing(): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const name of processesOf(this.#procfs)) {
      const folder = `${this.#procfs}/${name}`;
      if (textOf(`${folder}/comm`).trimEnd() !== PAUSE) continue;
      for (const line of textOf(`${folder}/cgroup`).split("\n")) {
        // Its own cgroup, or one below it; no other above it, in which the pods of a nested node may run.
        for (const name of line.split("/").slice(-2)) {
          const place = classify(name, true);
          if (place.kind === "container" || place.kind === "flat") ids.add(place.id);
        }
      }
    }
    return ids;
  }
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
