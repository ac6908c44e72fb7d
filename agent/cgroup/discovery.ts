import { readdirSync, statSync } from "node:fs";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { readFailure } from "../read/file-error.ts";
import type { Hierarchies } from "./hierarchies.ts";
import { searchTrees } from "./hierarchies.ts";
import { classify, isKubepods, qosOf } from "./name.ts";
import type { QosClass } from "./name.ts";

/**
 * The cgroup that counts what a container uses: its own; its pod's, when it is the only container of a sandbox (gVisor,
 * Kata); `shared`: its pod's, together with the other containers of the sandbox.
 */
export type CountedIn = "own" | "pod" | "shared";

/** A container's place in the cgroup trees. Paths start with `/` and hold in every tree. */
export interface FoundContainer {
  readonly id: string;
  readonly path: string;
  /** Its absolute directory in the tree where it was found. */
  readonly directory: string;
  readonly podUid: string;
  /** The pod's own cgroup, which encloses it; undefined for a container in a flat directory. */
  readonly podPath: string | undefined;
  readonly runtime: string | undefined;
  readonly qosClass: QosClass | undefined;
  readonly countedIn: CountedIn;
  /** Kata's cgroup for the part of the sandbox outside its pod. */
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
/** Docker in a container of a pod, and a kubelet in that: docker/ID/kubelet/kubepods. */
const DEEPEST_NESTED = 4;
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
  /** Ids of Kata's sandboxes that have a part outside their pods. */
  readonly overheads: Set<string>;
  unreadable: number;
}

/**
 * Looks for pods and containers.
 * @param askedRoots paths inside the trees; empty without `flatFolders`: look for kubelet's roots, everywhere
 * @param flatFolders paths of the cgroups outside the roots in which containers are, in flat directories
 */
export function discover(
  hierarchies: Hierarchies,
  askedRoots: readonly string[],
  flatFolders?: readonly string[],
): Discovery {
  const containers = new Map<string, FoundContainer>();
  const directories: string[] = [];
  const roots = new Set<string>();
  let unreadable = 0;
  const pending = new Set(askedRoots);
  const isEverywhere = askedRoots.length === 0 && flatFolders === undefined;
  for (const tree of searchTrees(hierarchies)) {
    const search: Search = { tree, containers, directories, overheads: new Set(), unreadable: 0 };
    for (const id of subdirectories(search, KATA_OVERHEAD) ?? []) search.overheads.add(id);
    for (const folder of flatFolders ?? []) {
      for (const name of subdirectories(search, folder) ?? []) addFlat(search, name, `${folder}/${name}`);
    }
    const searchRoots = (some: Iterable<string>): void => {
      for (const root of some) {
        if (roots.has(root) || subdirectories(search, root) === undefined) continue;
        roots.add(root);
        pending.delete(root);
        searchSlice(search, root, 0);
      }
    };
    searchRoots(isEverywhere ? kubeletRoots(search, [""], DEEPEST_ROOT) : pending);
    if (isEverywhere) searchRoots(kubeletRoots(search, parents(search), DEEPEST_NESTED));
    unreadable += search.unreadable;
    if (askedRoots.length > 0 && pending.size === 0) break;
  }
  // A container that a kubelet of its own runs in is a node: what its pods use is not counted twice.
  const rootPaths = [...roots];
  const ownContainers = [...containers.values()].filter(
    ({ path }) => !rootPaths.some((root) => root.startsWith(`${path}/`)),
  );
  return { containers: ownContainers, directories, roots: rootPaths, unreadable };
}

/** Containers found in a tree that have cgroups below them: a directory has a link for itself, for its name and for each of these. */
const parents = ({ containers, tree }: Search): string[] =>
  [...containers.values()].flatMap(({ directory, path }) =>
    directory.startsWith(tree) && hasChildren(directory) ? [path] : [],
  );

/** Where that cannot be read nothing is looked for below. */
function hasChildren(directory: string): boolean {
  try {
    return statSync(directory).nlink !== 2;
  } catch {
    return false;
  }
}

/** Kubelet's roots below some cgroups, level by level; adds the containers in flat directories beside them. */
function kubeletRoots(search: Search, from: readonly string[], deepest: number): string[] {
  const roots: string[] = [];
  let level = from;
  let visited = 0;
  for (let depth = 1; depth <= deepest && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const path of level.slice(0, MOST_VISITED - visited)) {
      visited += 1;
      for (const name of subdirectories(search, path) ?? []) {
        const below = `${path}/${name}`;
        if (isKubepods(name)) roots.push(below);
        else if (name.includes(":")) addFlat(search, name, below);
        else next.push(below);
      }
    }
    level = next;
  }
  return roots;
}

function searchSlice(search: Search, path: string, depth: number): void {
  search.directories.push(`${search.tree}${path}`);
  for (const name of subdirectories(search, path) ?? []) {
    const below = `${path}/${name}`;
    const cgroup = classify(name, false);
    if (cgroup.kind === "pod") searchPod(search, below, cgroup.uid);
    else if (cgroup.kind === "flat") addFlat(search, name, below);
    else if (cgroup.kind === "slice" && depth < DEEPEST_SLICE) searchSlice(search, below, depth + 1);
  }
}

function searchPod(search: Search, podPath: string, podUid: string): void {
  search.directories.push(`${search.tree}${podPath}`);
  for (const name of subdirectories(search, podPath) ?? []) {
    const cgroup = classify(name, true);
    if (cgroup.kind !== "container") continue;
    const path = `${podPath}/${name}`;
    add(search, {
      id: cgroup.id,
      path,
      directory: `${search.tree}${path}`,
      podUid,
      podPath,
      runtime: cgroup.runtime,
      qosClass: qosOf(podPath),
      countedIn: "own",
      overheadPath: search.overheads.has(cgroup.id) ? `${KATA_OVERHEAD}/${cgroup.id}` : undefined,
    });
  }
}

function addFlat(search: Search, name: string, path: string): void {
  const cgroup = classify(name, false);
  if (cgroup.kind !== "flat") return;
  add(search, {
    id: cgroup.id,
    path,
    directory: `${search.tree}${path}`,
    podUid: cgroup.uid,
    podPath: undefined,
    runtime: cgroup.runtime,
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

/** Kubelet's roots and flat directories hardly ever move: all cgroups of the machine are searched for them this often. */
const SEARCH_EVERYWHERE_MS = 30_000;
/** Pause after such a search, in multiples of its duration: it takes at most 1 % of the time. */
const REST_PER_SEARCH = 100;
/** Kubelet makes its root as it starts: a root that is missing this long is somewhere else. */
const ROOTLESS_MS = 60_000;

/** Looks for containers again and again. */
export class ContainerSearch {
  readonly #hierarchies: Hierarchies;
  readonly #asked: readonly string[];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #startedMs: number;
  #roots: readonly string[] = [];
  #flatFolders: readonly string[] = [];
  /** Next search of all cgroups, monotonic. */
  #dueMs = Number.NEGATIVE_INFINITY;
  /** The earliest one, should roots and flat directories all go. */
  #restUntilMs = Number.NEGATIVE_INFINITY;
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
    const discovery = this.#discover(nowMs);
    this.#roots = discovery.roots;
    if (discovery.containers.length === 0 && discovery.roots.length === 0) this.#warn(nowMs);
    return discovery;
  }

  #discover(nowMs: number): Discovery {
    if (this.#asked.length > 0) return discover(this.#hierarchies, this.#asked);
    const hasPlaces = this.#roots.length + this.#flatFolders.length > 0;
    if (nowMs < (hasPlaces ? this.#dueMs : this.#restUntilMs)) {
      return discover(this.#hierarchies, this.#roots, this.#flatFolders);
    }
    const discovery = discover(this.#hierarchies, []);
    const endMs = this.#clock.monotonicMs();
    this.#restUntilMs = endMs + (endMs - nowMs) * REST_PER_SEARCH;
    this.#dueMs = Math.max(nowMs + SEARCH_EVERYWHERE_MS, this.#restUntilMs);
    const flat = discovery.containers.filter(({ podPath }) => podPath === undefined);
    this.#flatFolders = [...new Set(flat.map(({ path }) => path.slice(0, path.lastIndexOf("/"))))];
    return discovery;
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
