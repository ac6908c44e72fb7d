import type { FoundContainer } from "../cgroup/discovery.ts";
import type { SampleTime } from "../sampling/sample-time.ts";
import type { Pod } from "./pod.ts";
import type { ContainerRates } from "./rates.ts";

/** A pod and those of its containers that are counted in cgroups of their own. */
export interface JudgedPod {
  readonly path: string;
  readonly pod: Pod;
  readonly members: readonly JudgedContainer[];
}

export interface JudgedContainer {
  /** Of its own cgroup. */
  readonly rates: ContainerRates;
  /** Reads its CPU counter out of turn. */
  readonly readCpu: (time: SampleTime) => void;
}

/** What the names and the reads so far say of containers. */
export interface ContainerEvidence {
  isNamed(id: string): boolean;
  /** Ids of the running containers of the pod with this uid in cgroup paths; undefined without names. */
  running(podUid: string): readonly string[] | undefined;
  /** Whether anything ever ran in the container's own cgroup; true before it was read. */
  readonly hasRun: (container: FoundContainer) => boolean;
}

interface PodHistory {
  /** The pod's last judged read. */
  readonly atSeconds: number;
  /** Since when its containers have less than half of what the pod uses; undefined while they have more. */
  readonly unownedSeconds: number | undefined;
}

/** Part of a pod's use that none of its containers has, above which it belongs to a sandbox around them. */
const UNOWNED_RATIO = 0.5;
/** A pod uses less than this by itself; cores. */
const LEAST_CORES = 0.02;
/** How long the use must be without an owner: containers come and go between two reads. */
const LEAST_SECONDS = 5;
/** Names come later than cgroups: until then a cgroup without a name may be a container's. */
const UNNAMED_SECONDS = 30;
/** Reads this close together count as simultaneous: those of one cycle. */
const APART_SECONDS = 0.5;

/**
 * Pods whose containers run in one sandbox, so that the kernel counts their use at the pod: the sentry of gVisor runs in the
 * pod's cgroup or in one of its own, the virtual machine of Kata too, and the containers' own have little or nothing.
 *
 * A pod is one of them when for 5 s more than half of its use was in no container's cgroup. Counters only rise, so that a
 * container read less often than its pod used at most what it used in its own, longer time.
 */
export class SandboxedPods {
  readonly #judged = new Set<string>();
  /** By the pod's path. */
  readonly #histories = new Map<string, PodHistory>();
  /** When a container was found first, by directory. */
  #firstSeconds = new Map<string, number>();

  /** @returns whether the pod is now known to be one of them, and was not before */
  judge({ path, pod, members }: JudgedPod, time: SampleTime): boolean {
    const { sinceSeconds, atSeconds } = pod.rates.cpuRead;
    const history = this.#histories.get(path);
    if (this.#judged.has(path) || history?.atSeconds === atSeconds) return false;
    if (isSuspect(pod, members)) {
      for (const { rates, readCpu } of members) {
        if (rates.cpuRead.atSeconds < atSeconds - APART_SECONDS) readCpu(time);
      }
    }
    const ratio = unownedRatio(pod, members);
    const isUnowned = ratio !== undefined && ratio > UNOWNED_RATIO;
    const unownedSeconds = isUnowned
      ? Math.max(history?.unownedSeconds ?? sinceSeconds, pod.changedSeconds)
      : ratio === undefined
        ? history?.unownedSeconds
        : undefined;
    this.#histories.set(path, { atSeconds, unownedSeconds });
    if (!isUnowned || unownedSeconds === undefined || atSeconds - unownedSeconds < LEAST_SECONDS)
      return false;
    this.#judged.add(path);
    return true;
  }

  /** The containers as they are to be read: those of sandboxed pods in their pod's cgroup, their sandboxes left out. */
  settle(found: readonly FoundContainer[], evidence: ContainerEvidence, seconds: number): FoundContainer[] {
    this.#firstSeconds = new Map(
      found.map(({ directory }) => [directory, this.#firstSeconds.get(directory) ?? seconds]),
    );
    const pods = new Map<string | undefined, FoundContainer[]>();
    for (const each of found) {
      const members = pods.get(each.podPath);
      if (members === undefined) pods.set(each.podPath, [each]);
      else members.push(each);
    }
    for (const path of this.#judged) if (!pods.has(path)) this.#judged.delete(path);
    for (const path of this.#histories.keys()) if (!pods.has(path)) this.#histories.delete(path);
    return [...pods].flatMap(([path, members]) =>
      path === undefined ? members : this.#settlePod(path, members, evidence, seconds),
    );
  }

  #settlePod(
    path: string,
    members: readonly FoundContainer[],
    evidence: ContainerEvidence,
    seconds: number,
  ): readonly FoundContainer[] {
    const [first] = members;
    if (first === undefined) return members;
    const running = evidence.running(first.podUid) ?? [];
    const named = members.filter(({ id }) => evidence.isNamed(id));
    const isNamedElsewhere =
      named.length === 0
        ? members.every((each) => this.#isSandbox(each, seconds))
        : !named.some(evidence.hasRun);
    if (!this.#judged.has(path) && (running.length === 0 || !isNamedElsewhere)) return members;
    const overheadPath = members.find((each) => each.overheadPath !== undefined)?.overheadPath;
    const inside = running.length === 0 ? members : running.map((id) => memberOf(members, first, id));
    const countedIn = inside.length === 1 ? "pod" : "shared";
    return inside.map((each) => Object.assign({}, each, { countedIn, overheadPath } as const));
  }

  /** Whether a cgroup that Kubernetes does not name is a sandbox: Kata's says so, others are by their age. */
  #isSandbox({ runtime, directory }: FoundContainer, seconds: number): boolean {
    return runtime === "kata" || seconds - (this.#firstSeconds.get(directory) ?? seconds) >= UNNAMED_SECONDS;
  }
}

/** A container that is named, in the pod's cgroup where it has none of its own. */
function memberOf(members: readonly FoundContainer[], first: FoundContainer, id: string): FoundContainer {
  const directory = first.directory.slice(0, first.directory.lastIndexOf("/"));
  const path = first.podPath ?? first.path;
  return members.find((each) => each.id === id) ?? { ...first, id, path, directory };
}

/** Whether, by the last reads, a pod may use far more than its containers. */
function isSuspect({ rates }: Pod, members: readonly JudgedContainer[]): boolean {
  if (rates.cpuCores === undefined) return false;
  let owned = 0;
  for (const { rates: own } of members) owned += own.cpuCores ?? 0;
  const isUsed = rates.cpuCores >= LEAST_CORES || members.every(({ rates: own }) => hasNothing(own));
  return isUsed && owned <= (1 - UNOWNED_RATIO) * rates.cpuCores;
}

function hasNothing({ cpuRead }: ContainerRates): boolean {
  return cpuRead.totalSeconds === 0;
}

/** The least part of a pod's use between its last two reads that none of its containers has; undefined: not known. */
function unownedRatio(pod: Pod, members: readonly JudgedContainer[]): number | undefined {
  const { sinceSeconds, atSeconds, usedSeconds } = pod.rates.cpuRead;
  if (!(atSeconds > sinceSeconds) || !(usedSeconds > 0)) return undefined;
  if (pod.changedSeconds > sinceSeconds + APART_SECONDS) return undefined;
  let owned = 0;
  const isIdle = usedSeconds / (atSeconds - sinceSeconds) < LEAST_CORES;
  if (isIdle && !members.every(({ rates }) => hasNothing(rates))) return undefined;
  for (const { rates } of members) {
    const own = rates.cpuRead;
    if (own.atSeconds < atSeconds - APART_SECONDS) return undefined;
    if (hasNothing(rates)) continue;
    if (!(own.sinceSeconds <= sinceSeconds + APART_SECONDS)) return undefined;
    owned += Math.max(0, own.usedSeconds);
  }
  return 1 - owned / usedSeconds;
}
