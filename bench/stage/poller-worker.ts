/** Asks each exporter GetMetrics for one service after the other, on a thread that does nothing else. */
import { parentPort, workerData } from "node:worker_threads";
import { setTimeout as delay } from "node:timers/promises";
import { credentials, status } from "@grpc/grpc-js";
import type { ServiceError } from "@grpc/grpc-js";
import { WireClient } from "../../test/exporter/serve/keda/wire-client.ts";
import { nowOnClock } from "./poll.ts";
import type { Poll, PollerOptions } from "./poll.ts";

const { deadlineMs, everyMs, exporters, namespace, services } = workerData as PollerOptions;
const REPORT_MS = 100;
/** Calls under way to one exporter: one that hangs is asked no more than that. */
const MOST_OPEN = 64;

let polls: Poll[] = [];
const stopping = new AbortController();

const problemOf = ({ code, details }: ServiceError): string => `${status[code]}: ${details.slice(0, 160)}`;

async function ask(client: WireClient, exporter: number, service: string): Promise<void> {
  const startedMs = nowOnClock();
  const said = await client
    .metrics(
      { name: `so-${service}`, namespace, metadata: { service, scalerAddress: "tradewind:9813" } },
      "recommended-replicas",
    )
    .then(([metric]) => ({
      value: metric === undefined ? Number.NaN : metric.float > 0 ? metric.float : metric.int,
    }))
    .catch((error: unknown) => ({ problem: problemOf(error as ServiceError) }));
  const endedMs = nowOnClock();
  polls.push({ atMs: (startedMs + endedMs) / 2, exporter, service, latencyMs: endedMs - startedMs, ...said });
}

async function follow(address: string, exporter: number): Promise<void> {
  const options = {
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 500,
    "grpc.use_local_subchannel_pool": 1,
  };
  const client = new WireClient(address, credentials.createInsecure(), options, deadlineMs);
  let open = 0;
  for (let turn = 0; !stopping.signal.aborted; turn += 1) {
    const service = services[turn % services.length] ?? "";
    if (open < MOST_OPEN) {
      open += 1;
      void ask(client, exporter, service).finally(() => {
        open -= 1;
      });
    }
    await delay(everyMs);
  }
  client.close();
}

const reporting = setInterval(() => {
  parentPort?.postMessage(polls, []);
  polls = [];
}, REPORT_MS);
parentPort?.once("message", () => {
  stopping.abort();
});
await Promise.all(exporters.map(async (address, exporter) => follow(address, exporter)));
clearInterval(reporting);
parentPort?.close();
