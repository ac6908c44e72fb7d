/**
 * One replica of one service: a process that the platform starts with an IPC channel. It ends with its platform: when
 * the channel closes, whoever closed it is gone.
 */
import type { AddressInfo } from "node:net";
import { flushCompileCache } from "node:module";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { parseJsonWith, parseWith } from "@tradewind/core/values/config.ts";
import { blockThread, createBucket } from "../quota/token-bucket.ts";
import type { Bucket } from "../quota/token-bucket.ts";
import { NO_FAULT } from "./service-fault.ts";
import { createBalancer } from "./balance.ts";
import { createHttpClient } from "./call.ts";
import { createProcessor } from "./processor.ts";
import { ReplicaConfig, ToReplica } from "./protocol.ts";
import type { FromReplica } from "./protocol.ts";
import { createService } from "./service.ts";
import { applicationOf } from "./applications.ts";
import { calleesOf, serviceOf } from "./topology.ts";
import { startTracing } from "./tracing.ts";
import { createMachine, processCpuMillis } from "./work.ts";

const USAGE_EVERY_MILLIS = 1_000;
const DRAIN_MILLIS = 2_500;
/** Enough to have the work compiled before the first request. */
const WARM_UP_MILLIS = 15;

const config = parseJsonWith(ReplicaConfig, process.env["TRADEWIND_REPLICA"] ?? "", "TRADEWIND_REPLICA");
const definition = serviceOf(applicationOf(config.application), config.service);
const send = (message: FromReplica): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};

let bucket: Bucket | undefined;
function limitCpu(cpuCores: number): void {
  if (bucket !== undefined) return bucket.resize(cpuCores);
  bucket = createBucket({
    cpuCores,
    cpuMillis: processCpuMillis,
    monotonicMs: () => systemClock.monotonicMs(),
    stall: blockThread,
  });
}
const machine = createMachine();
const processor = createProcessor({
  machine,
  calibration: config.calibration,
  memoryBoundRatio: definition.memoryBoundRatio,
  bucket: { pay: () => bucket?.pay() },
});
await processor.run(WARM_UP_MILLIS, new AbortController().signal);

const client = createHttpClient();
const balancers = new Map(calleesOf(definition).map((callee) => [callee, createBalancer()]));
const tracing = startTracing(config);
let fault = NO_FAULT;
const { server, counts } = createService({
  definition,
  processor,
  client,
  balancers,
  tracing,
  fault: () => fault,
});

const reportUsage = (): void =>
  send({
    kind: "usage",
    atMs: systemClock.nowMs(),
    cpuSeconds: processCpuMillis() / 1e3,
    residentBytes: process.memoryUsage.rss(),
    requestsTotal: counts.requestsTotal,
    refusedTotal: counts.refusedTotal,
  });

let draining = false;
async function drain(): Promise<void> {
  if (draining) return;
  draining = true;
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MILLIS);
  await closed;
  clearTimeout(deadline);
  await tracing.shutdown();
  reportUsage();
  client.close();
  setImmediate(() => process.exit(0));
}

function onMessage(raw: unknown): void {
  const message = parseWith(ToReplica, raw, "message of the platform");
  switch (message.kind) {
    case "endpoints":
      for (const [service, balancer] of balancers) balancer.setEndpoints(message.endpoints[service] ?? []);
      break;
    case "limit":
      limitCpu(message.cpuCores);
      break;
    case "fault":
      ({ fault } = message);
      break;
    case "drain":
      void drain();
      break;
  }
}

process.on("message", onMessage);
process.on("disconnect", () => process.exit(0));
// The platform may have gone while the modules were loading, before anybody listened.
if (!process.connected) process.exit(0);
process.on("SIGTERM", () => void drain());
setInterval(reportUsage, USAGE_EVERY_MILLIS).unref();

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  send({ kind: "listening", port });
  flushCompileCache();
});
