import {
  diskstats,
  meminfo,
  netDev,
  netstat,
  pressure,
  procStat,
  schedstat,
  snmp,
  softnetStat,
  vmstat,
} from "./kernel-text.ts";
import type { Files } from "./plant.ts";

/** Everything a node did so far; the rest of its files follows from it. */
export interface NodeState {
  readonly cpus: number;
  readonly busySeconds: number;
  readonly idleSeconds: number;
  readonly stealSeconds: number;
  readonly cpuWaitSeconds: number;
  readonly memoryBytes: number;
  readonly availableBytes: number;
  readonly memoryWaitSeconds: number;
  readonly refaults: number;
  readonly ioSeconds: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly drops: number;
  readonly sentSegments: number;
  readonly retransmits: number;
}

export const GIB = 1024 ** 3;

/** A quiet node of 4 CPUs and 16 GiB that has been up for a while. */
export const QUIET_NODE: NodeState = {
  cpus: 4,
  busySeconds: 400,
  idleSeconds: 4000,
  stealSeconds: 0,
  cpuWaitSeconds: 3,
  memoryBytes: 16 * GIB,
  availableBytes: 15 * GIB,
  memoryWaitSeconds: 0,
  refaults: 200_000,
  ioSeconds: 15,
  receivedBytes: 1e9,
  sentBytes: 3e6,
  drops: 0,
  sentSegments: 25_000,
  retransmits: 10,
};

/** The node's files under `proc` and `sys`, with one 10-Gbit/s card `eth0`, a loopback and a virtual bridge. */
export function nodeFiles(state: NodeState): Files {
  const { cpus, busySeconds, idleSeconds, stealSeconds } = state;
  return {
    "proc/stat": procStat(cpus, {
      user: busySeconds * 0.75,
      system: busySeconds * 0.25,
      idle: idleSeconds,
      steal: stealSeconds,
    }),
    "proc/meminfo": meminfo(state.memoryBytes, state.availableBytes),
    "proc/vmstat": vmstat({ workingset_refault_file: state.refaults }),
    "proc/diskstats": diskstats(state.ioSeconds, state.ioSeconds * 2),
    "proc/schedstat": schedstat(cpus, busySeconds, state.cpuWaitSeconds),
    "proc/pressure/cpu": pressure(state.cpuWaitSeconds),
    "proc/pressure/io": pressure(state.ioSeconds * 0.1),
    "proc/pressure/memory": pressure(state.memoryWaitSeconds),
    "proc/1/net/dev": netDev({
      lo: { receivedBytes: 3193, sentBytes: 3193 },
      cni0: { receivedBytes: 5e8, sentBytes: 5e8 },
      eth0: { receivedBytes: state.receivedBytes, sentBytes: state.sentBytes, receiveDrops: state.drops },
    }),
    "proc/1/net/snmp": snmp(state.sentSegments, state.retransmits),
    "proc/1/net/netstat": netstat(),
    "proc/1/net/softnet_stat": softnetStat(
      Array.from({ length: cpus }, () => ({ processed: 38_429, dropped: state.drops })),
    ),
    "sys/class/net/eth0/speed": "10000\n",
    "sys/class/net/eth0/device/uevent": "DRIVER=ixgbe\n",
    "sys/class/net/cni0/speed": "10000\n",
    "sys/class/net/lo/mtu": "65536\n",
  };
}
