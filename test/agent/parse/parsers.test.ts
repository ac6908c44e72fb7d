import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { TradewindError } from "@tradewind/core/values/errors.ts";
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
import { hardwareOf } from "@tradewind/agent/parse/inventory.ts";
import { parseMemInfo } from "@tradewind/agent/parse/meminfo.ts";
import { parseNetCounters } from "@tradewind/agent/parse/net-counters.ts";
import { parseNetDev } from "@tradewind/agent/parse/net-dev.ts";
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

describe("texts of no kernel", () => {
  const digits = "9".repeat(400);

  it("a counter of more digits than the kernel writes is missing, not infinite", () => {
    expect(flatValue(`oom_kill ${digits}\n`, "oom_kill")).toBeUndefined();
    expect(() => parsePressure(`some avg10=0.00 total=${digits}\n`)).toThrow("pressure stall information");
    expect(parseResidentBytes(`Name:\tnode\nVmRSS:\t ${digits.slice(0, 28)} kB\n`)).toBeUndefined();
    expect(() => parseIoStat(`254:0 rbytes=${digits} wbytes=0 rios=3 wios=0\n`)).toThrow("io.stat");
  });

  it("a link speed that would not be finite in bytes is missing from the inventory", () => {
    const networkInterfaces = [
      { iface: "eth0", speed: 1e304 },
      { iface: "eth1", speed: 1_000 },
    ];
    expect(hardwareOf({ cpu: {}, networkInterfaces })).toEqual({
      networkInterfaces: [{ name: "eth0" }, { name: "eth1", bytesPerSecond: 125e6 }],
    });
  });
});

describe("texts of real kernels", () => {
  test("pressure totals are seconds", () => {
    const text =
      "some avg10=1.73 avg60=1.10 avg300=2.86 total=52435528\nfull avg10=0.16 avg60=0.07 avg300=0.08 total=6759990\n";
    expect(parsePressure(text)).toEqual({ someSeconds: 52.435528, fullSeconds: 6.75999 });
  });

  test("cpu pressure before Linux 5.13 has no full line", () => {
    expect(parsePressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n")).toEqual({
      someSeconds: 7e-6,
      fullSeconds: undefined,
    });
  });

  test("irq pressure has only a full line", () => {
    expect(parsePressure("full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n").fullSeconds).toBe(9e-6);
  });

  test("a some line without a total does not borrow the total of the full line", () => {
    expect(() => parsePressure("some avg10=0.00\nfoo total=9\n")).toThrow("pressure stall information");
  });

  test("/proc/stat counts guest time once and finds the CPUs", () => {
    const text =
      "cpu  14426 7 10190 196322 809 3 147 23 400 5\ncpu0 6091 0 4687 100113 62 0 33 7 0 0\ncpu1 8335 0 5503 96209 747 0 114 15 0 0\nintr 1 2\nctxt 3545301\nprocs_running 2\nprocs_blocked 1\n";
    expect(parseProcStat(text)).toEqual({
      cpu: {
        user: 144.26,
        nice: 0.07,
        system: 101.9,
        idle: 1963.22,
        iowait: 8.09,
        irq: 0.03,
        softirq: 1.47,
        steal: 0.23,
      },
      cpus: 2,
      contextSwitches: 3_545_301,
      processesRunning: 2,
      processesBlocked: 1,
    });
  });

  test("/proc/meminfo is in bytes", () => {
    const info = parseMemInfo(
      "MemTotal:       24684096 kB\nMemFree:        24191248 kB\nMemAvailable:   24236952 kB\n",
    );
    expect(info.totalBytes).toBe(24_684_096 * 1024);
    expect(info.availableBytes).toBe(24_236_952 * 1024);
    expect(info.cachedBytes).toBeUndefined();
  });

  test("available memory before Linux 3.14 is free memory and page cache", () => {
    const info = parseMemInfo("MemTotal: 100 kB\nMemFree: 40 kB\nCached: 30 kB\n");
    expect(info.availableBytes).toBe(70 * 1024);
  });

  test("/proc/diskstats leaves out partitions and virtual devices", () => {
    const row = (name: string): string =>
      ` 254       0 ${name} 54736 8464 3257722 23681 20426 62090 4976280 12864 3 15708 38650 31813 40 1660008 2059 1341 45`;
    const names = [
      "vda",
      "vda1",
      "nvme0n1",
      "nvme0n1p2",
      "loop0",
      "ram1",
      "zram0",
      "sdb",
      "sdb12",
      "mmcblk0",
      "mmcblk0p1",
      "dm-0",
    ];
    const disks = parseDiskStats(`${names.map(row).join("\n")}\n`);
    expect(disks.map(({ device }) => device)).toEqual(["vda", "nvme0n1", "sdb", "mmcblk0", "dm-0"]);
    expect(disks[0]).toMatchObject({
      reads: 54_736,
      readBytes: 3_257_722 * 512,
      readSeconds: 23.681,
      inFlight: 3,
      ioSeconds: 15.708,
      weightedIoSeconds: 38.65,
    });
  });

  test("/proc/diskstats of Linux 2.6 to 4.17 has fourteen columns", () => {
    expect(parseDiskStats("   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n")).toHaveLength(1);
  });

  test("/proc/net/dev takes names with colons and counters glued to them", () => {
    const header = "Inter-|   Receive   |  Transmit\n face |bytes    packets errs\n";
    const [first, second] = parseNetDev(
      `${header}  eth0:1343598388   38417    1    2    0     0          0         0  3305719   25310    3    4    0     0       0          0\neth0:1: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n`,
    );
    expect(first).toEqual({
      device: "eth0",
      receivedBytes: 1_343_598_388,
      receivedPackets: 38_417,
      receiveErrors: 1,
      receiveDrops: 2,
      sentBytes: 3_305_719,
      sentPackets: 25_310,
      sendErrors: 3,
      sendDrops: 4,
    });
    expect(second?.device).toBe("eth0:1");
  });

  test("TCP counters are found by name, whatever the kernel's columns", () => {
    const text = "Ip: A B\nIp: 1 2\nTcp: OutSegs New RetransSegs\nTcp: 24990 5 11\n";
    expect(parseNetCounters(text, "Tcp", ["RetransSegs", "OutSegs", "Absent"])).toEqual(
      new Map([
        ["RetransSegs", 11],
        ["OutSegs", 24_990],
      ]),
    );
  });

  it.each([
    [9, undefined],
    [11, undefined],
    [13, 7],
    [15, 7],
  ])("softnet rows of %i columns are of CPU %s", (columns, cpu) => {
    const row = [
      "0000961d",
      "00000002",
      "00000003",
      ...Array<string>(9).fill("00000000"),
      "00000007",
      "00000000",
      "00000000",
    ];
    const rows = parseSoftNet(`${"0".repeat(8)} 00000000 00000000\n${row.slice(0, columns).join(" ")}\n`);
    expect(rows[1]).toEqual({ cpu, processed: 0x961d, dropped: 2, timesSqueezed: 3 });
  });

  test("/proc/schedstat has the CPUs by number and passes over domains", () => {
    const text =
      "version 15\ntimestamp 4295003402\ncpu0 0 0 0 0 0 0 38621430912 5316310231 174230\ndomain0 3 0 0 0 0\ncpu12 0 0 0 0 0 0 1000000000 683689769 10\n";
    expect(parseSchedStat(text)).toEqual([
      { cpu: 0, runningSeconds: 38.621430912, waitingSeconds: 5.316310231, timeslices: 174_230 },
      { cpu: 12, runningSeconds: 1, waitingSeconds: 0.683689769, timeslices: 10 },
    ]);
  });

  test("flat keys are whole words", () => {
    const text = "nr_throttled 3\nthrottled_usec 120\nx_usage_usec 9\nusage_usec 5124\n";
    expect(flatValue(text, "usage_usec")).toBe(5124);
    expect(flatValue(text, "nr_throttled")).toBe(3);
    expect(flatValue(text, "throttled")).toBeUndefined();
    expect(flatValue(text, "")).toBeUndefined();
  });

  it.each([
    ["max 100000\n", undefined],
    ["50000 100000\n", 0.5],
    ["250000 50000\n", 5],
  ])("cpu.max %j", (text, cores) => {
    expect(parseCpuMax(text)).toBe(cores);
  });

  it.each([
    ["-1\n", undefined],
    ["150000\n", 1.5],
  ])("cpu.cfs_quota_us %j", (text, cores) => {
    expect(parseCfsQuota(text, "100000\n")).toBe(cores);
  });

  it.each([
    ["max\n", undefined],
    ["9223372036854771712\n", undefined],
    ["1073741824\n", 1_073_741_824],
  ])("memory limit %j", (text, bytes) => {
    expect(parseLimitBytes(text)).toBe(bytes);
  });

  test("io.stat is read by device, and nothing yet is no device", () => {
    const text =
      "254:0 rbytes=12288 wbytes=10 rios=3 wios=1 dbytes=0 dios=0\n8:16 \n253:0 rbytes=1 wbytes=2 rios=1 wios=1 dbytes=0 dios=0 cost.wait=5\n";
    expect([...parseIoStat(text)]).toEqual([
      ["254:0", { readBytes: 12_288, writtenBytes: 10, reads: 3, writes: 1 }],
      ["253:0", { readBytes: 1, writtenBytes: 2, reads: 1, writes: 1 }],
    ]);
    expect(parseIoStat("").size).toBe(0);
  });

  test("io.stat without a key has 0 for it, and several bare devices on one line have nothing", () => {
    const text =
      "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n8:16  cost.usage=0\n253:0 8:0 \n252:0 8:32\n";
    expect([...parseIoStat(text)]).toEqual([
      ["8:0", { readBytes: 4096, writtenBytes: 0, reads: 1, writes: 0 }],
      ["8:16", { readBytes: 0, writtenBytes: 0, reads: 0, writes: 0 }],
    ]);
  });

  test("io.stat with bare devices before one that has statistics: the statistics are the last one's", () => {
    const text = "8:16 253:0 8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n";
    expect([...parseIoStat(text).keys()]).toEqual(["8:0"]);
  });

  it.each(["8:0 rbytes= wbytes=0 rios=1 wios=0\n", "8:0 wios=x\n", "253:0 8\n", "8:0 8:\n"])(
    "io.stat of %j is malformed",
    (text) => {
      expect(() => parseIoStat(text)).toThrow("io.stat");
    },
  );

  test("blkio statistics", () => {
    expect(
      parseBlkio(
        "254:0 Read 12288\n254:0 Write 5\n254:0 Sync 7\n254:0 Total 12293\n8:0 Read 2\nTotal 12295\n",
      ),
    ).toEqual(
      new Map([
        ["254:0", { read: 12_288, write: 5 }],
        ["8:0", { read: 2, write: 0 }],
      ]),
    );
    expect(parseBlkio("Total 0\n").size).toBe(0);
  });

  test("a process name may hold brackets and blanks", () => {
    const text = "4213 (node (a) b) R 1 4213 4213 0 -1 4194304 9120 0 3 0 152 31 0 0 20 0 11 0 8812 1 2 3\n";
    expect(parseProcessStat(text)).toEqual({ cpuSeconds: 1.83, majorFaults: 3, startTicks: 8812 });
  });

  test("resident memory of a process, and a kernel thread without one", () => {
    expect(parseResidentBytes("Name:\tnode\nVmHWM:\t   50000 kB\nVmRSS:\t   47904 kB\n")).toBe(47_904 * 1024);
    expect(parseResidentBytes("Name:\tkthreadd\nState:\tS (sleeping)\n")).toBeUndefined();
  });

  it.each(["Unavailable\n", "Unassigned\n", "Error\n"])("resctrl answers %j: no value", (text) => {
    expect(parseMonitored(text)).toBeUndefined();
  });

  test("resctrl counts bytes", () => {
    expect(parseMonitored("123456789\n")).toBe(123_456_789);
  });
});

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  blkio: parseBlkio,
  cfsQuota: (text) => parseCfsQuota(text, "100000\n"),
  cfsPeriod: (text) => parseCfsQuota("100000\n", text),
  cpuMax: parseCpuMax,
  diskstats: parseDiskStats,
  flatValue: (text) => flatValue(text, "pgfault"),
  ioStat: parseIoStat,
  limit: parseLimitBytes,
  meminfo: parseMemInfo,
  monitored: parseMonitored,
  netCounters: (text) => parseNetCounters(text, "Tcp", ["OutSegs"]),
  netDev: parseNetDev,
  pressure: parsePressure,
  procStat: parseProcStat,
  processIo: parseProcessIo,
  processStat: parseProcessStat,
  resident: parseResidentBytes,
  schedstat: parseSchedStat,
  single: parseSingle,
  softnet: parseSoftNet,
};

/** Every number anywhere in a record. */
function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (value instanceof Map) return [...(value as Map<unknown, unknown>).values()].flatMap(numbersIn);
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(numbersIn);
  return [];
}

/** Kernel-like text broken in some way: cut off, with bytes changed, or lines swapped. */
const WORDS = [
  "cpu  1 2 3 4 5 6 7 8",
  "cpu0 1 2 3",
  "some avg10=0.00 total=12",
  "full total=",
  "Tcp: OutSegs RetransSegs",
  "Tcp: 5",
  "MemTotal: 100 kB",
  "MemFree: x kB",
  "254:0 rbytes=1 wbytes=2 rios=3 wios=4",
  "254:0 Read 5",
  "Inter-| Receive",
  " face |bytes",
  " eth0: 1 2 3 4 5 6 7 8 9 10 11 12",
  "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11",
  "0000961d 00000000 00000000",
  "max 100000",
  "-1",
  "18446744073709551615",
  "99999999999999999999999999",
  "1 (a) R 1 1 1 0 -1 4 9 0 3 0 15 3 0 0 20 0 1 0 88 1",
  "read_bytes: 4",
  "write_bytes: 5",
  "VmRSS: 5 kB",
  "NaN",
  "1e9",
  "0x10",
];
const brokenText = fc
  .tuple(
    fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }),
    fc.nat(400),
    fc.string({ unit: "binary", maxLength: 4 }),
  )
  .map(([lines, at, junk]) => {
    const text = lines.join("\n");
    return text.slice(0, at) + junk + text.slice(at + junk.length);
  });

describe.each(Object.entries(PARSERS))("%s of any bytes", (_name, parse) => {
  const isRecordOrError = (text: string): void => {
    let record: unknown;
    try {
      record = parse(text);
    } catch (error) {
      expect(error).toBeInstanceOf(TradewindError);
      expect((error as TradewindError).code).toBe("malformed-file");
      return;
    }
    for (const number of numbersIn(record)) {
      expect(number).toBeGreaterThanOrEqual(0);
      expect(Number.isFinite(number)).toBe(true);
    }
  };

  test("is a record of finite, non-negative numbers or a clear error", () => {
    fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), brokenText), isRecordOrError), {
      numRuns: 300,
    });
  });
});
