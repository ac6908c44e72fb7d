import { readdirSync } from "node:fs";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { readFailure } from "../read/file-error.ts";
import type { Hierarchies } from "./hierarchies.ts";
import { searchTrees } from "./hierarchies.ts";
import { classify, isKubepods, qosOf } from "./name.ts";
import type { QosClass } from "./name.ts";

/**
 * Where what a container uses is counted: in its own cgroup; in its pod's, where it is the only container of a sandbox
 * (gVisor, Kata); or, of several in one sandbox, nowhere apart from the others.
 */
export type CountedIn = "own" | "pod" | "shared";

/** A container's place in the cgroup trees. Paths start with `/` and hold in every tree. */
export interface FoundContainer {
  readonly id: string;
  readonly path: string;
  /** Its absolute directory in the tree where it was found. */
  readonly directory: string;
  readonly podUid: string;
  /** The pod's and the root's own cgroups, which enclose it; undefined for a container in a flat directory. */
  readonly podPath: string | undefined;
  readonly rootPath: string | undefined;
  readonly runtime: string | undefined;
  readonly qosClass: QosClass | undefined;
  readonly countedIn: CountedIn;
  /** Kata's cgroup for what of the sandbox is outside its pod. */
  readonly overheadPath: string | undefined;
}

export interface Discovery {
  readonly containers: readonly FoundContainer[];
  /** Absolute directories in which pods and containers come and go. */
  readonly directories: readonly string[];
  /** Roots that were asked for or found. */
  readonly roots: readonly string[];
  /** Directories that could not be listed although they are there. */
  readonly unreadable: number;
}

/**
 * kind in rootless Podman: /user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/container/kubelet.slice/
 * kubelet-kubepods.slice.
 */
const DEEPEST_ROOT = 8;
/** A machine has a few hundred cgroups beside its pods'; in a broken tree the search for roots ends here. */
const MOST_VISITED = 5_000;
const DEEPEST_SLICE = 3;
const KATA_OVERHEAD = "/kata_overhead";
/** A node holds a few hundred; this bounds what a broken or hostile tree can make of us. */
const MOST_CONTAINERS = 20_000;

interface Search {
  readonly tree: string;
  readonly containers: Map<string, FoundContainer>;
  readonly directories: string[];
  /** Ids of Kata's sandboxes of which a part is outside their pods. */
  readonly overheads: Set<string>;
  unreadable: number;
}

/**
 * Looks for pods and containers.
 * @param askedRoots paths inside the trees; empty: look for kubelet's roots, everywhere
 */
export function discover(hierarchies: Hierarchies, askedRoots: readonly string[]): Discovery {
  const containers = new Map<string, FoundContainer>();
  const directories: string[] = [];
  const roots = new Set<string>();
  let unreadable = 0;
  const pending = new Set(askedRoots);
  for (const tree of searchTrees(hierarchies)) {
    const search: Search = { tree, containers, directories, overheads: new Set(), unreadable: 0 };
    for (const id of subdirectories(search, KATA_OVERHEAD) ?? []) search.overheads.add(id);
    const here = askedRoots.length === 0 ? kubeletRoots(search, roots) : [...pending];
    for (const root of here) {
      if (roots.has(root) || subdirectories(search, root) === undefined) continue;
      roots.add(root);
      pending.delete(root);
      searchSlice(search, root, root, 0);
    }
    unreadable += search.unreadable;
    if (askedRoots.length > 0 && pending.size === 0) break;
  }
  return { containers: [...containers.values()], directories, roots: [...roots], unreadable };
}

/** Kubelet's roots wherever they are, level by level, and containers in flat directories beside them. */
function kubeletRoots(search: Search, known: ReadonlySet<string>): string[] {
  const found: string[] = [];
  let level = [""];
  let visited = 0;
  for (let depth = 1; depth <= DEEPEST_ROOT && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const path of level.slice(0, MOST_VISITED - visited)) {
      visited += 1;
      for (const name of subdirectories(search, path) ?? []) {
        const below = `${path}/${name}`;
        if (isKubepods(name)) found.push(below);
        else if (name.includes(":")) addFlat(search, name, below);
        else next.push(below);
      }
    }
    level = next;
  }
  return found.filter((root) => !known.has(root));
}

function searchSlice(search: Search, rootPath: string, path: string, depth: number): void {
  search.directories.push(`${search.tree}${path}`);
  for (const name of subdirectories(search, path) ?? []) {
    const below = `${path}/${name}`;
    const found = classify(name, false);
    if (found.kind === "pod") searchPod(search, rootPath, below, found.uid);
    else if (found.kind === "flat") addFlat(search, name, below);
    else if (found.kind === "slice" && depth < DEEPEST_SLICE) searchSlice(search, rootPath, below, depth + 1);
  }
}

function searchPod(search: Search, rootPath: string, podPath: string, podUid: string): void {
  search.directories.push(`${search.tree}${podPath}`);
  for (const name of subdirectories(search, podPath) ?? []) {
    const found = classify(name, true);
    if (found.kind !== "container") continue;
    const path = `${podPath}/${name}`;
    add(search, {
      id: found.id,
      path,
      directory: `${search.tree}${path}`,
      podUid,
      podPath,
      rootPath,
      runtime: found.runtime,
      qosClass: qosOf(podPath),
      countedIn: "own",
      overheadPath: search.overheads.has(found.id) ? `${KATA_OVERHEAD}/${found.id}` : undefined,
    });
  }
}

function addFlat(search: Search, name: string, path: string): void {
  const found = classify(name, false);
  if (found.kind !== "flat") return;
  add(search, {
    id: found.id,
    path,
    directory: `${search.tree}${path}`,
    podUid: found.uid,
    podPath: undefined,
    rootPath: undefined,
    runtime: found.runtime,
    qosClass: qosOf(path),
    countedIn: "own",
    overheadPath: undefined,
  });
}

function add({ containers }: Search, container: FoundContainer): void {
  if (containers.size < MOST_CONTAINERS && !containers.has(container.id)) {
    containers.set(container.id, container);
  }
}

/** Undefined when there is no such directory. */
function subdirectories(search: Search, path: string): string[] | undefined {
  try {
    return readdirSync(`${search.tree}${path}`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if (readFailure(error) === "unreadable") search.unreadable += 1;
    return undefined;
  }
}

/** How long the places of kubelet's roots are taken for known: all cgroups of the machine are looked through for them. */
const ROOTS_KNOWN_MS = 30_000;
/** Kubelet makes its root as it starts: without one for so long, it is somewhere else. */
const ROOTLESS_MS = 60_000;

/** Looks for containers again and again. */
export class ContainerSearch {
  readonly #hierarchies: Hierarchies;
  readonly #asked: readonly string[];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #startedMs: number;
  #roots: readonly string[] = [];
  #searchedMs = Number.NEGATIVE_INFINITY;
  #hasWarned = false;

  constructor(hierarchies: Hierarchies, asked: readonly string[], clock: Clock, log: Logger) {
    this.#hierarchies = hierarchies;
    this.#asked = asked;
    this.#clock = clock;
    this.#log = log;
    this.#startedMs = clock.monotonicMs();
  }

  /** Roots that were found last. */
  get roots(): number {
    return this.#roots.length;
  }

  find(): Discovery {
    const nowMs = this.#clock.monotonicMs();
    const isKnown =
      this.#asked.length === 0 && this.#roots.length > 0 && nowMs - this.#searchedMs < ROOTS_KNOWN_MS;
    const found = discover(this.#hierarchies, isKnown ? this.#roots : this.#asked);
    // Containers in flat directories are beside the roots: they are found where roots are looked for.
    const isFlat = found.containers.some(({ rootPath }) => rootPath === undefined);
    if (!isKnown) this.#searchedMs = isFlat ? Number.NEGATIVE_INFINITY : nowMs;
    this.#roots = found.roots;
    if (found.containers.length === 0 && found.roots.length === 0) this.#warn(nowMs);
    return found;
  }

  #warn(nowMs: number): void {
    if (this.#hasWarned || nowMs - this.#startedMs < ROOTLESS_MS) return;
    this.#hasWarned = true;
    const where = this.#asked.length === 0 ? "no kubepods cgroup" : `none of ${this.#asked.join(", ")}`;
    this.#log.warn(
      `there is ${where} in the cgroup tree: containers are not sampled. Name the cgroup that holds the pods with --cgroup-root`,
    );
  }
}
