import { classify, isKubepods, qosOf } from "@tradewind/agent/cgroup/name.ts";
import {
  parseBlkio,
  parseCfsQuota,
  parseCpuMax,
  parseIoStat,
  parseLimitBytes,
  parseSingle,
} from "@tradewind/agent/parse/cgroup-files.ts";
import { parseDiskStats } from "@tradewind/agent/parse/diskstats.ts";
import { flatValue } from "@tradewind/agent/parse/flat-keyed.ts";
import { disksOf, hardwareOf } from "@tradewind/agent/parse/inventory.ts";
import { parseMemInfo } from "@tradewind/agent/parse/meminfo.ts";
import { parseNetCounters } from "@tradewind/agent/parse/net-counters.ts";
import { parseNetDev } from "@tradewind/agent/parse/net-dev.ts";
import { parsePodEvent, parsePodList } from "@tradewind/agent/parse/pod-event.ts";
import { parsePressure } from "@tradewind/agent/parse/pressure.ts";
import { parseProcStat } from "@tradewind/agent/parse/proc-stat.ts";
import {
  parseProcessIo,
  parseProcessStat,
  parseResidentBytes,
} from "@tradewind/agent/parse/process-files.ts";
import { parseMonitored } from "@tradewind/agent/parse/resctrl.ts";
import { parseSchedStat } from "@tradewind/agent/parse/schedstat.ts";
import { parseSoftNet } from "@tradewind/agent/parse/softnet.ts";
import { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { v1Files, v2Files } from "../../agent/tree/cgroup-text.ts";
import * as kernel from "../../agent/tree/kernel-text.ts";
import { attempt, documented, expect, expectNumbers, jsonText, never } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget, valueTarget } from "./kinds.ts";

const malformedFile = documented("malformed-file");

/** A file of the kernel: a record of finite numbers that are not negative, or `malformed-file`. */
function kernelFile(
  name: string,
  seeds: readonly string[],
  parse: (text: string) => unknown,
  words: readonly string[] = [],
): Target {
  return textTarget(
    `agent/${name}`,
    seeds,
    (text) => {
      const record = attempt(() => parse(text), malformedFile);
      expectNumbers(record);
    },
    { words, encoding: "latin1" },
  );
}

const USE = {
  cpuSeconds: 5.124,
  cpuLimitCores: 0.5,
  throttledPeriods: 3,
  throttledSeconds: 0.2,
  memoryBytes: 52_428_800,
  memoryLimitBytes: 104_857_600,
};
const CGROUP_FILES = {
  ...v2Files("", USE),
  ...v1Files("", "/pod", USE, true),
};
const named = (end: string): string[] =>
  Object.entries(CGROUP_FILES)
    .filter(([path]) => path.endsWith(end))
    .map(([, text]) => text);

const PROC_STAT = kernel.procStat(4, {
  user: 144.26,
  system: 101.9,
  idle: 1_963.22,
  iowait: 8.09,
  steal: 0.2,
});
const FLAT = [kernel.vmstat(), ...named("cpu.stat"), ...named("memory.stat"), ...named("memory.events")];
const FLAT_KEYS = [
  "usage_usec",
  "nr_throttled",
  "pgfault",
  "workingset_refault_file",
  "oom_kill",
  "nr_periods",
];

const PROCESS_STAT =
  "4213 (node (main)) S 1 4213 4213 0 -1 4194304 9120 0 3 0 152 31 0 0 20 0 11 0 8812 1186562048 11976 18446744073709551615 1 1 0 0\n";
const PROCESS_STATUS = "Name:\tnode\nVmPeak:\t 1158752 kB\nVmRSS:\t   47904 kB\nThreads:\t11\n";
const PROCESS_IO = "rchar: 3980\nwchar: 17\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n";

const CGROUP_NAMES = [
  "kubepods",
  "kubepods-burstable.slice",
  "kubepods-burstable-pod0f8b2c1e_5d1a_4e3b_9c55_3f1d2a7b6c11.slice",
  "pod0f8b2c1e-5d1a-4e3b-9c55-3f1d2a7b6c11",
  `cri-containerd-${"a1".repeat(32)}.scope`,
  `kubepods-besteffort-podab12.slice:cri-containerd:${"0f".repeat(32)}`,
  `crio-conmon-${"b2".repeat(32)}.scope`,
  "/kubepods.slice/kubepods-besteffort.slice/x",
];

const POD = {
  metadata: {
    uid: "0f8b2c1e-5d1a-4e3b-9c55-3f1d2a7b6c11",
    name: "cart-7c9d8f6b5-x2x4v",
    namespace: "shop",
    resourceVersion: "12345",
    annotations: { "kubernetes.io/config.hash": "abc123" },
  },
  status: {
    containerStatuses: [{ name: "main", containerID: `containerd://${"a1".repeat(32)}` }],
    initContainerStatuses: [{ name: "init", containerID: "" }],
  },
};
const WATCH_LINES = [
  { type: "ADDED", object: POD },
  { type: "DELETED", object: POD },
  { type: "BOOKMARK", object: { metadata: { resourceVersion: "12346" } } },
  { type: "ERROR", object: { code: 410, reason: "Expired" } },
].map((line) => JSON.stringify(line));
const POD_LIST = JSON.stringify({
  metadata: { resourceVersion: "9", continue: "token" },
  items: [POD, POD],
});

const cpuMax = textTarget(
  "agent/cgroup-limits",
  ["50000 100000\n", "max 100000\n", "-1\n", "9223372036854771712\n", "max\n", "104857600\n"],
  (text) => {
    for (const parse of [parseCpuMax, parseLimitBytes, parseSingle]) {
      expectNumbers([attempt(() => parse(text), malformedFile)]);
    }
    const cores = attempt(() => parseCfsQuota(text, "100000\n"), malformedFile);
    expect(
      cores === undefined || (cores > 0 && Number.isFinite(cores)),
      "number",
      () => `quota of ${cores} cores`,
    );
    expectNumbers([attempt(() => parseCfsQuota("50000", text), malformedFile)]);
  },
  { encoding: "latin1" },
);

const names = textTarget(
  "agent/cgroup-names",
  CGROUP_NAMES,
  (text) => {
    for (const inPod of [true, false]) {
      const name = classify(text, inPod);
      if (name.kind === "container" || name.kind === "flat") {
        expect(
          name.id !== "" && name.id.length <= 128,
          "id",
          () => `container id ${JSON.stringify(name.id)}`,
        );
      }
      if (name.kind === "pod" || name.kind === "flat") {
        expect(
          /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/.test(name.uid),
          "uid",
          () => `pod uid ${JSON.stringify(name.uid)}`,
        );
      }
    }
    qosOf(text);
    isKubepods(text);
  },
  { words: ["pod", "kubepods", ".slice", ".scope", "-", ":", "cri-containerd-"] },
);

const podEvents = textTarget(
  "agent/pod-events",
  WATCH_LINES,
  (line) => {
    const event = attempt(() => parsePodEvent(line), never);
    if (event?.type !== "set") return;
    const { containers, namespace, name: podName, uid } = event.pod;
    for (const text of [uid, podName, namespace, ...containers.flatMap((each) => [each.id, each.name])]) {
      expect(text !== "" && text.length <= 253, "name", () => `a name of ${text.length} characters`);
    }
    expect(containers.length <= 256, "containers", () => `${containers.length} containers`);
  },
  { words: ['"type"', '"object"', '"metadata"', "null", "[]", '"ADDED"', '"uid"', "\\ud800"] },
);

const podList = valueTarget("agent/pod-list", [JSON.parse(POD_LIST)], (value) => {
  const page = attempt(() => parsePodList(jsonText(value) ?? ""), never);
  if (page !== undefined)
    expect(page.next.length <= 8_192, "continue", () => `a token of ${page.next.length}`);
});

const inventory = valueTarget(
  "agent/inventory",
  [
    {
      cpu: {
        manufacturer: "Intel",
        brand: "Xeon",
        family: "6",
        model: "85",
        vendor: "GenuineIntel",
        cores: 4,
      },
      networkInterfaces: [
        { iface: "eth0", speed: 10_000, internal: false },
        { iface: "lo", internal: true },
      ],
      disks: [
        { name: "nvme0n1", rotational: "0\n" },
        { name: "vda", rotational: "1" },
      ],
    },
  ],
  (value) => {
    const { cpu, disks, networkInterfaces } = (value ?? {}) as Record<string, unknown>;
    const found = attempt(() => hardwareOf({ cpu, networkInterfaces }), never);
    expect(
      Inventory.safeParse(found).success,
      "contract",
      () => `not an inventory: ${JSON.stringify(found)}`,
    );
    if (Array.isArray(disks) && disks.every(isBlockDevice)) disksOf(disks);
  },
);

const isBlockDevice = (value: unknown): value is { name: string; rotational: string | undefined } => {
  const { name, rotational } = (value ?? {}) as { name?: unknown; rotational?: unknown };
  return typeof name === "string" && (rotational === undefined || typeof rotational === "string");
};

export const AGENT_TARGETS: readonly Target[] = [
  kernelFile("blkio", named("service_bytes_recursive"), parseBlkio, ["Read", "Write", "Total", "254:0 "]),
  cpuMax,
  names,
  kernelFile("diskstats", [kernel.diskstats(15.7, 38.6)], parseDiskStats, ["vda", "nvme0n1", "loop0"]),
  kernelFile("flat-keyed", FLAT, (text) => FLAT_KEYS.map((key) => flatValue(text, key)), FLAT_KEYS),
  inventory,
  kernelFile("io-stat", named("io.stat"), parseIoStat, [" rbytes=", " wbytes=", "254:0", " rios=", "="]),
  kernelFile("meminfo", [kernel.meminfo(8e9, 5e9)], parseMemInfo, [
    "MemTotal:",
    "MemFree:",
    "Cached:",
    " kB",
  ]),
  kernelFile(
    "net-counters",
    [kernel.snmp(38_000, 12)],
    (text) => parseNetCounters(text, "Tcp", ["OutSegs", "RetransSegs"]),
    ["Tcp:", "OutSegs", "RetransSegs", " "],
  ),
  kernelFile("net-dev", [kernel.netDev({ eth0: { receivedBytes: 1e9, sentBytes: 3e6 } })], parseNetDev, [
    "eth0:",
    ":",
  ]),
  podEvents,
  podList,
  kernelFile("pressure", [kernel.pressure(52.4, 1), kernel.pressure(3, undefined)], parsePressure, [
    "some ",
    "full ",
    " total=",
    "avg10=",
  ]),
  kernelFile("proc-stat", [PROC_STAT], parseProcStat, ["cpu ", "cpu0", "ctxt ", "procs_running "]),
  kernelFile("process-io", [PROCESS_IO], parseProcessIo, ["read_bytes: ", "write_bytes: "]),
  kernelFile("process-stat", [PROCESS_STAT], parseProcessStat, [")", "(", " S "]),
  kernelFile("process-status", [PROCESS_STATUS], (text) => [parseResidentBytes(text)], [
    "\nVmRSS:",
    " kB",
    "\t",
  ]),
  kernelFile("resctrl", ["123456789\n", "Unavailable\n"], (text) => [parseMonitored(text)], [
    "Error",
    "Unassigned",
  ]),
  kernelFile("schedstat", [kernel.schedstat(4, 38.6, 5.3)], parseSchedStat, ["cpu0 ", "domain0"]),
  kernelFile("softnet", [kernel.softnetStat([{ processed: 38_429 }, { processed: 12 }])], parseSoftNet, [
    "00000001 ",
  ]),
];
