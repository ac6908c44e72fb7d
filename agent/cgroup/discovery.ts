import { readdirSync } from "node:fs";
import { readFailure } from "../read/file-error.ts";
import type { Hierarchies } from "./hierarchies.ts";
import { searchTrees } from "./hierarchies.ts";
import { classify, isKubepods, mayHoldKubepods, qosOf } from "./name.ts";
import type { QosClass } from "./name.ts";

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

/** kind on systemd: /system.slice/docker-ID.scope/kubelet.slice/kubelet-kubepods.slice. */
const DEEPEST_ROOT = 4;
const DEEPEST_SLICE = 3;
/** A node holds a few hundred; this bounds what a broken or hostile tree can make of us. */
const MOST_CONTAINERS = 20_000;

interface Search {
  readonly tree: string;
  readonly containers: Map<string, FoundContainer>;
  readonly directories: string[];
  unreadable: number;
}

/**
 * Looks for pods and containers.
 * @param askedRoots paths inside the trees; empty: look for kubelet's roots
 */
export function discover(hierarchies: Hierarchies, askedRoots: readonly string[]): Discovery {
  const containers = new Map<string, FoundContainer>();
  const directories: string[] = [];
  const roots = new Set<string>();
  let unreadable = 0;
  const pending = new Set(askedRoots);
  for (const tree of searchTrees(hierarchies)) {
    const search: Search = { tree, containers, directories, unreadable: 0 };
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

/** Kubelet's roots, and containers in flat directories at the top of the tree. */
function kubeletRoots(search: Search, known: ReadonlySet<string>): string[] {
  const found: string[] = [];
  const visit = (path: string, depth: number): void => {
    for (const name of subdirectories(search, path) ?? []) {
      const below = `${path}/${name}`;
      if (isKubepods(name)) found.push(below);
      else if (name.includes(":")) addFlat(search, name, below);
      else if (depth < DEEPEST_ROOT && mayHoldKubepods(name)) visit(below, depth + 1);
    }
  };
  visit("", 1);
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
