import { existsSync, readdirSync } from "node:fs";
import { Table } from "../expose/table.ts";
import { parseMonitored } from "../parse/resctrl.ts";
import { Rate } from "../read/rate.ts";
import { AbsentSource } from "../read/file-error.ts";
import { OptionalFile } from "../read/optional-file.ts";
import type { Reader } from "../read/reader.ts";
import type { CollectorDefinition } from "./collector.ts";

/** Monitoring ids are few on every processor; this bounds what a broken tree can make of us. */
const MOST_GROUPS = 128;
const RELIST_SECONDS = 30;
/**
 * Least peak bandwidth assumed of a cache domain when nobody states it: one channel of DDR4-2666 (21.3 GB/s, JEDEC
 * JESD79-4). The highest total ever seen replaces it when that is more.
 */
const LEAST_PEAK_BYTES_PER_SECOND = 21.3e9;

/** One cache domain of one group. */
interface Domain {
  readonly total: OptionalFile;
  readonly local: OptionalFile;
  readonly occupancy: OptionalFile;
  /** Of its row in the table, and the row's labels. */
  readonly key: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly domains: readonly Domain[];
  readonly rate: Rate;
}

/**
 * Memory bandwidth and last-level cache occupancy by monitoring group, where resctrl is mounted and somebody (runc,
 * koordlet, an administrator) made groups. Read only: groups are never created. A group that has no value right now is
 * left out of the node's total, which then is a lower bound.
 */
export const resctrl: CollectorDefinition = {
  name: "resctrl",
  schedule: { kind: "counter", tolerance: 1e9, maxSeconds: 15 },
  open: ({ reader, sysfs, memoryBandwidthBytesPerSecond }) => {
    const root = `${sysfs}/fs/resctrl`;
    const counter = (name: string, help: string) => ({ name, help, kind: "counter" }) as const;
    const table = new Table([
      counter(
        "tradewind_node_resctrl_memory_bandwidth_bytes_total",
        "Bytes a monitoring group moved to and from memory.",
      ),
      counter(
        "tradewind_node_resctrl_local_memory_bandwidth_bytes_total",
        "Bytes a monitoring group moved to and from memory of its own NUMA node.",
      ),
      {
        name: "tradewind_node_resctrl_cache_occupancy_bytes",
        help: "Last-level cache a monitoring group occupies.",
        kind: "gauge",
      },
    ]);
    let groups: Group[] = [];
    let listedSeconds = Number.NEGATIVE_INFINITY;
    let peak = 0;
    const relist = (seconds: number): void => {
      listedSeconds = seconds;
      const known = new Map(groups.map((group) => [group.name, group]));
      const names = groupNames(root);
      for (const [name, group] of known) if (!names.includes(name)) closeGroup(group);
      groups = names.map((name) => known.get(name) ?? openGroup(reader, root, name));
      table.retain(new Set(groups.flatMap(({ domains }) => domains.map(({ key }) => key))));
    };
    return {
      tables: [table],
      sample(time, { signals, bandwidth }) {
        if (!existsSync(`${root}/info`)) throw new AbsentSource("resctrl");
        if (time.seconds - listedSeconds >= RELIST_SECONDS) relist(time.seconds);
        bandwidth.clear();
        let sum = 0;
        let rates: number | undefined;
        let domains = 0;
        for (const group of groups) {
          const total = readGroup(group, table);
          domains = Math.max(domains, group.domains.length);
          const rate = group.rate.next(total, time.seconds);
          if (rate !== undefined) bandwidth.set(group.name, rate);
          // The kernel counts a monitoring group's tasks in its control group, too.
          if (group.name.includes("/mon_groups/")) continue;
          sum += total ?? 0;
          if (rate !== undefined) rates = (rates ?? 0) + rate;
        }
        peak = Math.max(peak, rates ?? 0, LEAST_PEAK_BYTES_PER_SECOND * Math.max(1, domains));
        signals.set("memory.bandwidthBytesPerSecond", rates, time);
        signals.set("memory.bandwidthPeakBytesPerSecond", memoryBandwidthBytesPerSecond ?? peak, time);
        return sum;
      },
      close: () => {
        for (const group of groups) closeGroup(group);
      },
    };
  },
};

/** The default group, control groups, and monitoring groups below either, as paths under the root. */
function groupNames(root: string): string[] {
  const below = (folder: string): string[] =>
    subdirectories(`${root}${folder}/mon_groups`).map((name) => `${folder}/mon_groups/${name}`);
  const controls = subdirectories(root)
    .filter((name) => existsSync(`${root}/${name}/mon_data`) && name !== "mon_groups")
    .map((name) => `/${name}`);
  return ["", ...below(""), ...controls, ...controls.flatMap(below)].slice(0, MOST_GROUPS);
}

function subdirectories(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "info" && entry.name !== "mon_data")
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function openGroup(reader: Reader, root: string, name: string): Group {
  const folder = `${root}${name}/mon_data`;
  const caches = subdirectories(folder).filter((cache) => /^mon_L3_\d+$/.test(cache));
  const domains = caches.map((cache, at) => {
    const open = (file: string): OptionalFile => new OptionalFile(reader.file(`${folder}/${cache}`, file));
    return {
      total: open("mbm_total_bytes"),
      local: open("mbm_local_bytes"),
      occupancy: open("llc_occupancy"),
      key: `${name} ${at}`,
      labels: { group: name === "" ? "/" : name, cache: cache.slice("mon_L3_".length) },
    };
  });
  return { name, domains, rate: new Rate() };
}

/** Bytes moved by all domains of the group; undefined when one of them has no value right now. */
function readGroup({ domains }: Group, table: Table): number | undefined {
  let sum: number | undefined = domains.length === 0 ? undefined : 0;
  for (const { total, local, occupancy, key, labels } of domains) {
    const read = [total, local, occupancy].map((file) => {
      const text = file.text();
      return text === undefined ? undefined : parseMonitored(text);
    });
    // A sample that failed cleared the table.
    table.row(key, labels).values.set(read.map((value) => value ?? Number.NaN));
    sum = sum === undefined || read[0] === undefined ? undefined : sum + read[0];
  }
  return sum;
}

function closeGroup({ domains }: Group): void {
  for (const { total, local, occupancy } of domains) {
    total.close();
    local.close();
    occupancy.close();
  }
}
