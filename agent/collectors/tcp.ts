import { Table } from "../expose/table.ts";
import { parseNetCounters } from "../parse/net-counters.ts";
import { Rate, ratio } from "../read/rate.ts";
import { CHANNEL } from "../sampling/signal.ts";
import type { CollectorDefinition } from "./collector.ts";
import { nodeNetPath } from "./network.ts";

const counter = (name: string, help: string) => ({ name, help, kind: "counter" }) as const;

const SNMP = ["OutSegs", "RetransSegs"];
const NETSTAT = [
  "TCPTimeouts",
  "TCPSynRetrans",
  "ListenOverflows",
  "ListenDrops",
  "TCPRcvQDrop",
  "TCPOFOQueue",
];

/** Retransmits, timeouts and full accept queues: `/proc/net/snmp` and `/proc/net/netstat`. */
export const tcp: CollectorDefinition = {
  name: "tcp",
  schedule: { kind: "counter", tolerance: 10, maxSeconds: 15, channels: CHANNEL.network },
  open: ({ reader, procfs }) => {
    const snmp = reader.file(nodeNetPath(procfs), "snmp");
    const netstat = reader.file(nodeNetPath(procfs), "netstat");
    const table = new Table([
      counter("tradewind_node_tcp_sent_segments_total", "TCP segments sent, retransmitted ones not counted."),
      counter("tradewind_node_tcp_retransmitted_segments_total", "TCP segments sent again."),
      counter("tradewind_node_tcp_timeouts_total", "TCP retransmission timeouts."),
      counter("tradewind_node_tcp_retransmitted_syn_total", "TCP connection requests sent again."),
      counter("tradewind_node_tcp_listen_overflows_total", "Connections refused for a full accept queue."),
      counter("tradewind_node_tcp_listen_drops_total", "Connection requests dropped by a listening socket."),
      counter("tradewind_node_tcp_receive_queue_drops_total", "Segments dropped for a full receive queue."),
      counter("tradewind_node_tcp_out_of_order_segments_total", "Segments queued out of order."),
    ]);
    const sent = new Rate();
    const again = new Rate();
    const overflows = new Rate();
    return {
      tables: [table],
      sample(time, { signals }) {
        const tcpCounters = parseNetCounters(snmp.text(), "Tcp", SNMP);
        const extended = parseNetCounters(netstat.text(), "TcpExt", NETSTAT);
        table
          .row("")
          .values.set([
            ...SNMP.map((name) => tcpCounters.get(name) ?? Number.NaN),
            ...NETSTAT.map((name) => extended.get(name) ?? Number.NaN),
          ]);
        const sentRate = sent.next(tcpCounters.get("OutSegs"), time.seconds);
        const againRate = again.next(tcpCounters.get("RetransSegs"), time.seconds);
        // Nothing sent, nothing lost; a burst of retransmits alone is still at most everything.
        const lost = sentRate === 0 ? (againRate === 0 ? 0 : 1) : ratio(againRate, sentRate);
        signals.set("network.retransmitRatio", lost === undefined ? undefined : Math.min(1, lost), time);
        signals.set("network.sentSegmentsPerSecond", sentRate, time);
        signals.set(
          "network.listenOverflowsPerSecond",
          overflows.next(extended.get("ListenOverflows"), time.seconds),
          time,
        );
        return tcpCounters.get("RetransSegs") ?? 0;
      },
      close: () => {
        snmp.close();
        netstat.close();
      },
    };
  },
};
