/** What a container is called; every part may be unknown. */
export interface ContainerNames {
  readonly podUid?: string;
  readonly podName?: string;
  readonly namespace?: string;
  readonly containerName?: string;
}

/** A bare process that a workload source names as a container. */
export interface NamedProcess {
  readonly id: string;
  readonly pid: number;
}

/** Everything the sources of names know. Containers are found by their own id, else by their pod's. */
export interface NameIndex {
  readonly byContainerId: ReadonlyMap<string, ContainerNames>;
  readonly byPodUid: ReadonlyMap<string, ContainerNames>;
  /** Ids of the running containers of each pod, by its uid in cgroup paths. */
  readonly running: ReadonlyMap<string, readonly string[]>;
  readonly processes: readonly NamedProcess[];
}

export const NO_NAMES: NameIndex = {
  byContainerId: new Map(),
  byPodUid: new Map(),
  running: new Map(),
  processes: [],
};

export function namesOf(index: NameIndex, id: string, podUid: string | undefined): ContainerNames {
  const pod = podUid === undefined ? undefined : index.byPodUid.get(podUid);
  return { ...pod, ...index.byContainerId.get(id) };
}

/** One index out of several; where two know the same container, the later one wins. */
export function mergeNames(indexes: readonly NameIndex[]): NameIndex {
  const [first] = indexes;
  if (indexes.length === 1 && first !== undefined) return first;
  return {
    byContainerId: new Map(indexes.flatMap(({ byContainerId }) => [...byContainerId])),
    byPodUid: new Map(indexes.flatMap(({ byPodUid }) => [...byPodUid])),
    running: new Map(indexes.flatMap(({ running }) => [...running])),
    processes: indexes.flatMap(({ processes }) => processes),
  };
}
