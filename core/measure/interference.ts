import type { Interference, InterferenceComponent, InterferenceName } from "../contract/interference.ts";

/** The components in the order of the contract, whose schema the agent does not load. */
export const COMPONENTS = [
  "cpu",
  "memoryCapacity",
  "memoryBandwidth",
  "network",
] as const satisfies readonly InterferenceName[];

/** Rates and levels of the whole node at one time. What is not known is absent. */
export interface NodeUse {
  readonly cpuCores: number | undefined;
  readonly cpuBusyCores: number | undefined;
  /** Share of time some task waited for a CPU (PSI some). */
  readonly cpuWaitRatio: number | undefined;
  /** Share of CPU time the hypervisor gave to others. */
  readonly stealRatio: number | undefined;
  readonly memoryTotalBytes: number | undefined;
  readonly memoryAvailableBytes: number | undefined;
  readonly memoryWaitRatio: number | undefined;
  readonly refaultsPerSecond: number | undefined;
  readonly bandwidthBytesPerSecond: number | undefined;
  readonly bandwidthPeakBytesPerSecond: number | undefined;
  /** Interfaces that carry traffic to other machines. */
  readonly networkInterfaces: number | undefined;
  /** The busier direction of the link that is used most, and its speed. */
  readonly linkUsedBytesPerSecond: number | undefined;
  readonly linkBytesPerSecond: number | undefined;
  /** Packets dropped over packets seen, and packets seen per second; where the latter is absent every drop counts in full. */
  readonly dropRatio: number | undefined;
  readonly packetsPerSecond?: number | undefined;
  /** TCP segments sent again over segments sent, and segments sent per second. */
  readonly retransmitRatio: number | undefined;
  readonly sentSegmentsPerSecond: number | undefined;
}

/** What one container itself uses; for the node as a whole nothing is its own. */
export interface OwnUse {
  readonly cpuCores?: number | undefined;
  /** Share of time some task of the container waited for a CPU, its own throttling included. */
  readonly cpuWaitRatio?: number | undefined;
  /** Seconds of throttling per second, summed over CPUs. */
  readonly throttledRatio?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly memoryWaitRatio?: number | undefined;
  readonly bandwidthBytesPerSecond?: number | undefined;
  readonly receivedBytesPerSecond?: number | undefined;
  readonly sentBytesPerSecond?: number | undefined;
}

const UNSUPPORTED: InterferenceComponent = { supported: false };
/** A source is there and has been read once: a rate needs two reads. */
const PENDING: InterferenceComponent = { supported: true };

/** Refaulted pages per second at which their part is one half: 40 MiB/s of 4-KiB pages, what one busy cloud disk reads. */
const HALF_REFAULTS_PER_SECOND = 10_000;
/** Loss at which its part is one half. TCP's rate falls with 1/sqrt(loss) (Mathis et al. 1997): 1 % is a tenth of 0.01 %. */
const HALF_LOSS_RATIO = 0.01;
/** Segments per second below which a few retransmits say little: one lost SYN of an idle node is no congestion. */
const FEW_SEGMENTS_PER_SECOND = 100;
/**
 * Packets per second below which a few drops say little: Linux counts frames that nobody handles as dropped (rx_dropped,
 * Documentation/networking/statistics.rst), and a switch sends such frames for ever (STP every 2 s, LLDP every 30 s). One a
 * second comes to 0.05 at most, half the movement that makes an event: 1 / 2,000 over (1 / 2,000 + 1 %).
 */
const FEW_PACKETS_PER_SECOND = 2_000;

/**
 * What others do to a container: I = (cpu, memoryCapacity, memoryBandwidth, network), each in [0, 1] (DESIGN.md section 2).
 *
 * Every component blends independent disturbances d as 1 - Π(1 - d): 0 when there is none, 1 when one of them takes
 * everything, and never lower when one of them grows.
 */
export function interference(node: NodeUse, own: OwnUse = {}): Interference {
  return {
    cpu: cpuInterference(node, own),
    memoryCapacity: memoryCapacityInterference(node, own),
    memoryBandwidth: memoryBandwidthInterference(node, own),
    network: networkInterference(node, own),
  };
}

/**
 * cpu: others' share of the CPUs (/proc/stat busy time less the container's usage, over the CPUs), steal (/proc/stat,
 * proc(5)), and time waited for a CPU (PSI some, Documentation/accounting/psi.rst). The wait is the container's own where
 * its cgroup tells, less its throttling, which PSI counts as waiting and which no other tenant causes; else the node's.
 * It is laid to others in proportion to their part of the busy time.
 */
export function cpuInterference(node: NodeUse, own: OwnUse): InterferenceComponent {
  const { cpuCores, cpuBusyCores } = node;
  if (cpuCores === undefined) return waitOnly(node.cpuWaitRatio, "psi");
  if (cpuBusyCores === undefined) return PENDING;
  const others = Math.max(0, cpuBusyCores - (own.cpuCores ?? 0));
  const blame = part(others, others + (own.cpuCores ?? 0));
  const wait =
    own.cpuWaitRatio === undefined
      ? node.cpuWaitRatio
      : Math.max(0, own.cpuWaitRatio - (own.throttledRatio ?? 0));
  const parts = [others / cpuCores, node.stealRatio, wait === undefined ? undefined : wait * blame];
  return component(blend(parts), wait === undefined ? "others-share+steal" : "others-share+psi+steal");
}

/**
 * memoryCapacity: others' share of the memory (MemTotal - MemAvailable less the container's own, over MemTotal), time
 * waited for memory (PSI some, own where the cgroup tells), and refaults of the node, r / (r + 10,000/s). Waits and
 * refaults are laid to others in proportion to their part of the memory in use.
 */
export function memoryCapacityInterference(node: NodeUse, own: OwnUse): InterferenceComponent {
  const { memoryTotalBytes, memoryAvailableBytes } = node;
  if (memoryTotalBytes === undefined || memoryAvailableBytes === undefined) {
    return waitOnly(node.memoryWaitRatio, "psi");
  }
  const ownBytes = own.memoryBytes ?? 0;
  const others = Math.max(0, memoryTotalBytes - memoryAvailableBytes - ownBytes);
  const blame = part(others, others + ownBytes);
  const wait = own.memoryWaitRatio ?? node.memoryWaitRatio;
  const parts = [
    others / memoryTotalBytes,
    wait === undefined ? undefined : wait * blame,
    saturating(node.refaultsPerSecond, HALF_REFAULTS_PER_SECOND, blame),
  ];
  return component(blend(parts), wait === undefined ? "others-share+refaults" : "others-share+psi+refaults");
}

/**
 * memoryBandwidth: others' bytes per second (resctrl mbm_total_bytes of the node less the container's group,
 * Documentation/filesystems/resctrl.rst) over the machine's peak. Without resctrl nothing on the node tells.
 */
export function memoryBandwidthInterference(node: NodeUse, own: OwnUse): InterferenceComponent {
  const { bandwidthBytesPerSecond, bandwidthPeakBytesPerSecond } = node;
  if (bandwidthBytesPerSecond === undefined || !(Number(bandwidthPeakBytesPerSecond) > 0)) return UNSUPPORTED;
  const others = Math.max(0, bandwidthBytesPerSecond - (own.bandwidthBytesPerSecond ?? 0));
  return component(clamp(others / Number(bandwidthPeakBytesPerSecond)), "resctrl");
}

/**
 * network: others' traffic in the busier direction of the link that is used most (/proc/net/dev less the container's) over
 * its speed, packets dropped, and TCP segments sent again, each loss p as p / (p + 1 %). A loss counts by how much it is a part
 * of: drops by n / (n + 2,000) of n packets per second, segments sent again by s / (s + 100) of s segments per second. Without
 * a link speed only the losses tell.
 */
export function networkInterference(node: NodeUse, own: OwnUse): InterferenceComponent {
  const { linkUsedBytesPerSecond, linkBytesPerSecond } = node;
  const ownBytes = Math.max(own.receivedBytesPerSecond ?? 0, own.sentBytesPerSecond ?? 0);
  const share =
    linkUsedBytesPerSecond !== undefined && linkBytesPerSecond !== undefined && linkBytesPerSecond > 0
      ? Math.max(0, linkUsedBytesPerSecond - ownBytes) / linkBytesPerSecond
      : undefined;
  const drops = loss(node.dropRatio, node.packetsPerSecond ?? Infinity, FEW_PACKETS_PER_SECOND);
  const again = loss(node.retransmitRatio, node.sentSegmentsPerSecond ?? 0, FEW_SEGMENTS_PER_SECOND);
  if (share === undefined && drops === undefined && again === undefined) {
    return Number(node.networkInterfaces) > 0 ? PENDING : UNSUPPORTED;
  }
  return component(blend([share, drops, again]), share === undefined ? "loss" : "others-share+loss");
}

function component(value: number, source: string): InterferenceComponent {
  return { supported: true, value, source };
}

function waitOnly(waitRatio: number | undefined, source: string): InterferenceComponent {
  return waitRatio === undefined ? UNSUPPORTED : component(clamp(waitRatio), source);
}

/** 1 - Π(1 - d) over the parts that are known. */
function blend(parts: readonly (number | undefined)[]): number {
  let calm = 1;
  for (const disturbance of parts) if (disturbance !== undefined) calm *= 1 - clamp(disturbance);
  return clamp(1 - calm);
}

function saturating(value: number | undefined, half: number, blame: number): number | undefined {
  return value === undefined ? undefined : (value / (value + half)) * blame;
}

/** The part of a loss out of so many a second, of which few say little. */
function loss(lossRatio: number | undefined, perSecond: number, few: number): number | undefined {
  const trust = perSecond === Infinity ? 1 : perSecond / (perSecond + few);
  return lossRatio === undefined ? undefined : saturating(lossRatio * trust, HALF_LOSS_RATIO, 1);
}

function part(of: number, whole: number): number {
  return whole > 0 ? of / whole : 0;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
