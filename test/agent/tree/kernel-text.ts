/** Texts as the kernel writes them, from the figures a test or a benchmark wants to be true. */

export interface CpuSpent {
  readonly user: number;
  readonly system: number;
  readonly idle: number;
  readonly iowait?: number;
  readonly softirq?: number;
  readonly steal?: number;
}

const ticks = (seconds: number): number => Math.round(seconds * 100);

/** `/proc/stat` of `cpus` equal CPUs that together spent these seconds. */
export function procStat(cpus: number, spent: CpuSpent): string {
  const { user, system, idle, iowait = 0, softirq = 0, steal = 0 } = spent;
  const row = (share: number): string =>
    [user, 0, system, idle, iowait, 0, softirq, steal, 0, 0]
      .map((seconds) => ticks(seconds * share))
      .join(" ");
  const each = Array.from({ length: cpus }, (_, cpu) => `cpu${cpu} ${row(1 / cpus)}\n`);
  return `cpu  ${row(1)}\n${each.join("")}intr 1197854 0 0\nctxt ${Math.round((user + system) * 1000)}\nbtime 1795163068\nprocesses 10009\nprocs_running 2\nprocs_blocked 0\nsoftirq 333508 0 31060\n`;
}

/** One file of `/proc/pressure` or of a cgroup, in seconds. */
export function pressure(someSeconds: number, fullSeconds: number | undefined = 0): string {
  const line = (name: string, seconds: number): string =>
    `${name} avg10=0.00 avg60=0.00 avg300=0.00 total=${Math.round(seconds * 1e6)}\n`;
  return line("some", someSeconds) + (fullSeconds === undefined ? "" : line("full", fullSeconds));
}

export function meminfo(totalBytes: number, availableBytes: number): string {
  const row = (name: string, bytes: number): string =>
    `${`${name}:`.padEnd(16)}${String(Math.round(bytes / 1024)).padStart(8)} kB\n`;
  return (
    row("MemTotal", totalBytes) +
    row("MemFree", availableBytes * 0.8) +
    row("MemAvailable", availableBytes) +
    row("Buffers", 3_805_184) +
    row("Cached", availableBytes * 0.2) +
    row("SwapTotal", 0) +
    row("SwapFree", 0) +
    row("Dirty", 1_265_664) +
    row("Writeback", 0)
  );
}

export function flatKeyed(values: Readonly<Record<string, number>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} ${Math.round(value)}\n`)
    .join("");
}

export function vmstat(values: Readonly<Record<string, number>> = {}): string {
  return flatKeyed({
    nr_free_pages: 6_047_812,
    workingset_refault_anon: 0,
    workingset_refault_file: 219_700,
    pswpin: 0,
    pswpout: 0,
    allocstall_dma: 0,
    allocstall_dma32: 0,
    allocstall_normal: 0,
    allocstall_movable: 0,
    pgfault: 9_120_000,
    pgmajfault: 1244,
    pgsteal_kswapd: 0,
    pgsteal_direct: 0,
    pgscan_kswapd: 0,
    pgscan_direct: 0,
    oom_kill: 0,
    compact_stall: 0,
    thp_fault_fallback: 0,
    ...values,
  });
}

export function diskstats(ioSeconds: number, weightedSeconds: number): string {
  const ms = (seconds: number): number => Math.round(seconds * 1e3);
  return [
    "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
    ` 254       0 vda 54736 8464 3257722 23681 20426 62090 4976280 12864 1 ${ms(ioSeconds)} ${ms(weightedSeconds)} 31813 40 1660008 2059 1341 45`,
    " 254       1 vda1 54736 8464 3257722 23681 20426 62090 4976280 12864 0 15708 38650 31813 40 1660008 2059 1341 45",
    "",
  ].join("\n");
}

export interface Traffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly receiveDrops?: number;
}

export function netDev(devices: Readonly<Record<string, Traffic>>): string {
  const rows = Object.entries(devices).map(([device, { receivedBytes, sentBytes, receiveDrops = 0 }]) => {
    const packets = (bytes: number): number => Math.round(bytes / 1000);
    return `${device.padStart(6)}: ${Math.round(receivedBytes)} ${packets(receivedBytes)}    0    ${receiveDrops}    0     0          0         0  ${Math.round(sentBytes)}   ${packets(sentBytes)}    0    0    0     0       0          0\n`;
  });
  return `Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n${rows.join("")}`;
}

export function snmp(sentSegments: number, retransmitted: number): string {
  return `Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\nTcp: 1 200 120000 -1 251 2 0 0 0 38086 ${Math.round(sentSegments)} ${Math.round(retransmitted)} 0 476 0\nUdp: InDatagrams\nUdp: 5\n`;
}

export function netstat(listenOverflows = 0): string {
  return `TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts TCPSynRetrans TCPOFOQueue TCPRcvQDrop\nTcpExt: 0 ${listenOverflows} ${listenOverflows} 2 2 334 0\nIpExt: InNoRoutes\nIpExt: 0\n`;
}

export interface SoftnetCpu {
  readonly processed: number;
  readonly dropped?: number;
  readonly squeezed?: number;
}

/** `columns`: 9 before Linux 2.6.39, 11 from 4.18, 13 from 5.14, 15 from 6.10. */
export function softnetStat(cpus: readonly SoftnetCpu[], columns = 15): string {
  const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");
  return cpus
    .map(({ processed, dropped = 0, squeezed = 0 }, cpu) => {
      const row = [processed, dropped, squeezed, 0, 0, 0, 0, 0, 0, 0, 0, 0, cpu, 0, 0];
      return `${row.slice(0, columns).map(hex).join(" ")}\n`;
    })
    .join("");
}

export function schedstat(cpus: number, runningSeconds: number, waitingSeconds: number): string {
  const nanos = (seconds: number): number => Math.round((seconds * 1e9) / cpus);
  const rows = Array.from(
    { length: cpus },
    (_, cpu) =>
      `cpu${cpu} 0 0 0 0 0 0 ${nanos(runningSeconds)} ${nanos(waitingSeconds)} 174230\ndomain0 3 0 0\n`,
  );
  return `version 17\ntimestamp 4295003402\n${rows.join("")}`;
}
