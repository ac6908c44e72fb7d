import type { Table } from "../expose/table.ts";
import { Rate } from "../read/rate.ts";
import type { PodTraffic } from "./probes/network.ts";

export const POD_COLUMNS = [
  {
    name: "tradewind_pod_network_received_bytes_total",
    help: "Bytes received by the pod's own network namespace.",
    kind: "counter",
  },
  {
    name: "tradewind_pod_network_sent_bytes_total",
    help: "Bytes sent by the pod's own network namespace.",
    kind: "counter",
  },
] as const;

/** What a pod sends and receives, all its containers together; undefined until two reads told. */
export class PodRates implements PodTraffic {
  readonly #received = new Rate();
  readonly #sent = new Rate();
  readonly #table: Table;
  readonly #uid: string;
  receivedBytesPerSecond: number | undefined;
  sentBytesPerSecond: number | undefined;

  constructor(table: Table, uid: string) {
    this.#table = table;
    this.#uid = uid;
  }

  network(receivedBytes: number, sentBytes: number, seconds: number): void {
    this.#table.row(this.#uid, { pod_uid: this.#uid }).values.set([receivedBytes, sentBytes]);
    this.receivedBytesPerSecond = this.#received.next(receivedBytes, seconds) ?? this.receivedBytesPerSecond;
    this.sentBytesPerSecond = this.#sent.next(sentBytes, seconds) ?? this.sentBytesPerSecond;
  }

  /** The source is gone: neither series nor rates stay. */
  forget(): void {
    this.#table.delete(this.#uid);
    this.receivedBytesPerSecond = undefined;
    this.sentBytesPerSecond = undefined;
  }
}
