import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { Table } from "../expose/table.ts";
import type { NetDev } from "../parse/net-dev.ts";
import { parseNetDev } from "../parse/net-dev.ts";
import { Rate, ratio } from "../read/rate.ts";
import { GuardChannel } from "../sampling/guard.ts";
import { CHANNEL } from "../sampling/signal.ts";
import type { Signals } from "../sampling/signals.ts";
import { LinkStatistics } from "./link-statistics.ts";
import { EVERY_SECOND } from "./collector.ts";
import type { CollectorDefinition, Source } from "./collector.ts";
import type { SampleTime } from "../sampling/sample-time.ts";

const BITS_PER_BYTE = 8;
const SPEED_REREAD_SECONDS = 60;
/** With more interfaces, mostly pods' veth pairs, the counted ones are read one by one, and all are listed every 30 s. */
const MOST_LISTED = 64;
const LIST_SECONDS = 30;
/** Smallest change of the node's traffic for which sleeping signals are woken: 1 % of a 1-Gbit/s link. */
const GUARD_FLOOR_BYTES_PER_SECOND = 1.25e6;

/**
 * The node's own network files. `/proc/net` points into the reader's network namespace, which in a pod is not the
 * node's; process 1 of the node's procfs is in the node's. Where process 1 is hidden, the reader's own namespace stands for it
 * only if `/proc` is the reader's own: the namespace of an agent that reads a mounted procfs is its pod's, and the node's files
 * then count as absent.
 */
export function nodeNetPath(procfs: string): string {
  return procfs !== "/proc" || existsSync(`${procfs}/1/net/dev`) ? `${procfs}/1/net` : `${procfs}/net`;
}

/** Link speed from the driver; undefined for a virtual or down interface, which says −1, nothing, or EINVAL. */
function driverSpeed(sysfs: string, device: string): number | undefined {
  try {
    const megabits = Number(readFileSync(`${sysfs}/class/net/${device}/speed`, "latin1"));
    return megabits > 0 ? (megabits * 1e6) / BITS_PER_BYTE : undefined;
  } catch {
    return undefined;
  }
}

interface Link {
  /** A device behind which the node's traffic leaves: hardware, or one whose speed the user states. */
  readonly counted: boolean;
  readonly bytesPerSecond: number | undefined;
  readonly readAtSeconds: number;
  readonly received: Rate;
  readonly sent: Rate;
  readonly packets: Rate;
  readonly drops: Rate;
}

const counter = (name: string, help: string) => ({ name, help, kind: "counter" }) as const;

const COLUMNS = [
  counter("tradewind_node_network_received_bytes_total", "Bytes received."),
  counter("tradewind_node_network_received_packets_total", "Packets received."),
  counter("tradewind_node_network_receive_errors_total", "Receive errors."),
  counter("tradewind_node_network_receive_drops_total", "Packets dropped on receive."),
  counter("tradewind_node_network_sent_bytes_total", "Bytes sent."),
  counter("tradewind_node_network_sent_packets_total", "Packets sent."),
  counter("tradewind_node_network_send_errors_total", "Send errors."),
  counter("tradewind_node_network_send_drops_total", "Packets dropped on send."),
  { name: "tradewind_node_network_speed_bytes", help: "Link speed in bytes per second.", kind: "gauge" },
] as const;

/** Interfaces of the node that carry traffic to other machines, their link speed, bytes and drops. */
export const network: CollectorDefinition = {
  name: "network",
  schedule: { kind: "counter", tolerance: GUARD_FLOOR_BYTES_PER_SECOND, ...EVERY_SECOND },
  open: (source) => {
    const list = source.reader.list(nodeNetPath(source.procfs), "dev");
    const table = new Table(COLUMNS);
    const links = new Map<string, Link>();
    const statistics = new LinkStatistics(source);
    const guard = new GuardChannel({ kind: "counter", floor: GUARD_FLOOR_BYTES_PER_SECOND });
    let listedSeconds = Number.NEGATIVE_INFINITY;
    let names: ReadonlySet<string> = new Set();
    const listAll = (seconds: number, interfaces: Set<string>): NetDev[] => {
      listedSeconds = seconds;
      const devices = parseNetDev(list.text());
      const counted = devices.filter((each) => linkOf(links, each.device, source, seconds).counted);
      interfaces.clear();
      for (const { device } of devices) interfaces.add(device);
      for (const device of links.keys()) if (!interfaces.has(device)) links.delete(device);
      names = new Set(counted.map(({ device }) => device));
      table.retain(names);
      statistics.retain(names);
      return counted;
    };
    return {
      tables: [table],
      sample(time, { signals, interfaces, wake }) {
        const isListDue = interfaces.size <= MOST_LISTED || time.seconds - listedSeconds >= LIST_SECONDS;
        const between = isListDue ? [] : (statistics.read() ?? parseNetDev(list.text(), names));
        const isComplete = !isListDue && between.length === names.size;
        const counted = isComplete ? between : listAll(time.seconds, interfaces);
        for (const each of counted) write(table, each, links.get(each.device)?.bytesPerSecond);
        publish(links, counted, time, signals);
        const bytes = counted.reduce((sum, each) => sum + each.receivedBytes + each.sentBytes, 0);
        if (guard.observe(bytes, time.seconds * 1e3)) wake(CHANNEL.network);
        return bytes;
      },
      close: () => {
        list.close();
        statistics.retain(new Set());
      },
    };
  },
};

function linkOf(links: Map<string, Link>, device: string, source: Source, seconds: number): Link {
  const known = links.get(device);
  if (known !== undefined && seconds - known.readAtSeconds < SPEED_REREAD_SECONDS) return known;
  const stated = source.linkBytesPerSecond.get(device);
  const counted = isCounted(source, device);
  const link: Link = {
    counted,
    bytesPerSecond: stated ?? (counted ? driverSpeed(source.sysfs, device) : undefined),
    readAtSeconds: seconds,
    received: known?.received ?? new Rate(),
    sent: known?.sent ?? new Rate(),
    packets: known?.packets ?? new Rate(),
    drops: known?.drops ?? new Rate(),
  };
  links.set(device, link);
  return link;
}

/**
 * Whether an interface is counted: hardware, or one whose speed the user states. Each packet counts once. A part of a
 * counted interface is left out: a virtual function below Azure's `eth0`, a slave of a bond whose speed is stated. So is a
 * switch's end of a virtual function (`phys_port_name` pf0vf1), which the uplink counts as well.
 */
function isCounted({ linkBytesPerSecond, sysfs }: Source, device: string): boolean {
  const isLink = (name: string): boolean =>
    linkBytesPerSecond.has(name) || existsSync(`${sysfs}/class/net/${name}/device`);
  if (!isLink(device)) return false;
  const master = masterOf(sysfs, device);
  if (master !== undefined && isLink(master)) return false;
  return linkBytesPerSecond.has(device) || !/(?:vf|sf)\d{1,6}$/.test(portName(sysfs, device));
}

/** The interface that this one is a part of; undefined without one. */
function masterOf(sysfs: string, device: string): string | undefined {
  try {
    return basename(readlinkSync(`${sysfs}/class/net/${device}/master`));
  } catch {
    return undefined;
  }
}

/** Empty when the driver does not name it. */
function portName(sysfs: string, device: string): string {
  try {
    return readFileSync(`${sysfs}/class/net/${device}/phys_port_name`, "latin1").trim().slice(0, 64);
  } catch {
    return "";
  }
}

function write(table: Table, each: NetDev, speed: number | undefined): void {
  table
    .row(each.device, { device: each.device })
    .values.set([
      each.receivedBytes,
      each.receivedPackets,
      each.receiveErrors,
      each.receiveDrops,
      each.sentBytes,
      each.sentPackets,
      each.sendErrors,
      each.sendDrops,
      speed ?? Number.NaN,
    ]);
}

/** What one interface did since the last sample; undefined where two reads did not tell yet. */
function ratesOf(link: Link, each: NetDev, seconds: number) {
  return {
    speed: link.bytesPerSecond,
    received: link.received.next(each.receivedBytes, seconds),
    sent: link.sent.next(each.sentBytes, seconds),
    packets: link.packets.next(each.receivedPackets + each.sentPackets, seconds),
    drops: link.drops.next(each.receiveDrops + each.sendDrops, seconds),
  };
}
type LinkRates = ReturnType<typeof ratesOf>;

/** Sums over the counted interfaces, and of those whose speed is known the one that is used most. */
function publish(
  links: ReadonlyMap<string, Link>,
  counted: readonly NetDev[],
  time: SampleTime,
  signals: Signals,
): void {
  const rates = counted.flatMap((each) => {
    const link = links.get(each.device);
    return link === undefined ? [] : [ratesOf(link, each, time.seconds)];
  });
  const complete =
    rates.length > 0 && rates.every(({ received, sent }) => received !== undefined && sent !== undefined);
  const sum = (of: (rate: LinkRates) => number | undefined): number | undefined =>
    complete ? rates.reduce((all, rate) => all + (of(rate) ?? 0), 0) : undefined;
  const drops = sum((rate) => rate.drops);
  const packets = sum((rate) => rate.packets);
  signals.set("network.interfaces", counted.length, time);
  signals.set(
    "network.receivedBytesPerSecond",
    sum(({ received }) => received),
    time,
  );
  signals.set(
    "network.sentBytesPerSecond",
    sum(({ sent }) => sent),
    time,
  );
  const seen = drops === undefined || packets === undefined ? undefined : packets + drops;
  signals.set("network.dropRatio", seen === 0 ? 0 : ratio(drops, seen), time);
  signals.set("network.packetsPerSecond", seen, time);
  const busiest = busiestOf(rates);
  signals.set("network.busiestLinkBytesPerSecond", busiest?.bytes, time);
  signals.set("network.busiestLinkSpeedBytesPerSecond", busiest?.speed, time);
}

function busiestOf(rates: readonly LinkRates[]): { bytes: number; speed: number } | undefined {
  let busiest: { bytes: number; speed: number } | undefined;
  for (const { speed, received, sent } of rates) {
    if (speed === undefined || received === undefined || sent === undefined) continue;
    const bytes = Math.max(received, sent);
    if (busiest === undefined || bytes / speed > busiest.bytes / busiest.speed) busiest = { bytes, speed };
  }
  return busiest;
}
