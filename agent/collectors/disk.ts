import { Table } from "../expose/table.ts";
import { parseDiskStats } from "../parse/diskstats.ts";
import { Rate } from "../read/rate.ts";
import { CHANNEL } from "../sampling/signal.ts";
import type { CollectorDefinition } from "./collector.ts";

const counter = (name: string, help: string) => ({ name, help, kind: "counter" }) as const;

const COLUMNS = [
  counter("tradewind_node_disk_reads_total", "Reads completed."),
  counter("tradewind_node_disk_read_bytes_total", "Bytes read."),
  counter("tradewind_node_disk_read_time_seconds_total", "Time spent on reads, summed over requests."),
  counter("tradewind_node_disk_writes_total", "Writes completed."),
  counter("tradewind_node_disk_written_bytes_total", "Bytes written."),
  counter("tradewind_node_disk_write_time_seconds_total", "Time spent on writes, summed over requests."),
  { name: "tradewind_node_disk_requests_in_flight", help: "Requests in flight now.", kind: "gauge" },
  counter("tradewind_node_disk_io_time_seconds_total", "Time with at least one request in flight."),
  counter(
    "tradewind_node_disk_io_time_weighted_seconds_total",
    "Time weighted by requests in flight: its rate is the mean queue length.",
  ),
] as const;

/** Disk time and queue of whole devices: `/proc/diskstats`. */
export const disk: CollectorDefinition = {
  name: "disk",
  schedule: { kind: "counter", tolerance: 0.05, maxSeconds: 15, channels: CHANNEL.io },
  open: ({ reader, procfs }) => {
    const file = reader.list(procfs, "diskstats");
    const table = new Table(COLUMNS);
    const rates = new Map<string, { busy: Rate; queue: Rate }>();
    return {
      tables: [table],
      sample(time, { signals }) {
        const disks = parseDiskStats(file.text());
        let busiest: number | undefined;
        let queue: number | undefined;
        for (const each of disks) {
          const { device } = each;
          table
            .row(device, { device })
            .values.set([
              each.reads,
              each.readBytes,
              each.readSeconds,
              each.writes,
              each.writtenBytes,
              each.writeSeconds,
              each.inFlight,
              each.ioSeconds,
              each.weightedIoSeconds,
            ]);
          const rate = rates.get(device) ?? { busy: new Rate(), queue: new Rate() };
          rates.set(device, rate);
          const busy = rate.busy.next(each.ioSeconds, time.seconds);
          const length = rate.queue.next(each.weightedIoSeconds, time.seconds);
          if (busy !== undefined) busiest = Math.max(busiest ?? 0, Math.min(1, busy));
          if (length !== undefined) queue = Math.max(queue ?? 0, length);
        }
        const present = new Set(disks.map(({ device }) => device));
        table.retain(present);
        for (const device of rates.keys()) if (!present.has(device)) rates.delete(device);
        signals.set("disk.busyRatio", busiest, time);
        signals.set("disk.queueLength", queue, time);
        return disks.reduce((sum, { ioSeconds }) => sum + ioSeconds, 0);
      },
      close: () => file.close(),
    };
  },
};
