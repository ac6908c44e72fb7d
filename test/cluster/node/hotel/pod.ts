/**
 * One replica of one service of the hotel application of `tradewind local`, as the main process of a container. Endpoints
 * come from DNS: headless Services, because connections that stay open would not reach new pods through a Service's address.
 */
import { z } from "zod";
import { parseWith } from "@tradewind/core/values/config.ts";
import { NO_FAULT } from "@tradewind/local/application/service-fault.ts";
import { createBalancer } from "@tradewind/local/application/balance.ts";
import { createHttpClient } from "@tradewind/local/application/call.ts";
import { createProcessor } from "@tradewind/local/application/processor.ts";
import { createService } from "@tradewind/local/application/service.ts";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import { calleesOf, serviceOf } from "@tradewind/local/application/topology.ts";
import { startTracing } from "@tradewind/local/application/tracing.ts";
import { createMachine } from "@tradewind/local/application/work.ts";
import { keepLooking, look, PORT } from "./endpoints.ts";

const DRAIN_MS = 2_500;
/** Enough to have the work compiled before the first request. */
const WARM_UP_MILLIS = 5;

const Environment = z.object({
  OTEL_SERVICE_NAME: z.string(),
  NAMESPACE: z.string(),
  POD_NAME: z.string(),
  POD_UID: z.string(),
  TRACES_URL: z.url(),
  SPINS_PER_MILLI: z.coerce.number().positive(),
});
const env = parseWith(Environment, process.env, "environment of the pod");
const { NAMESPACE: namespace, OTEL_SERVICE_NAME: service } = env;
const definition = serviceOf(HOTEL, service);
const processor = createProcessor({
  machine: createMachine(),
  calibration: { spinsPerMilli: env.SPINS_PER_MILLI, touchesPerMilli: 20_000 },
  memoryBoundRatio: definition.memoryBoundRatio,
});
await processor.run(WARM_UP_MILLIS, new AbortController().signal);

const tracing = startTracing({
  service,
  namespace,
  podName: env.POD_NAME,
  podUid: env.POD_UID,
  tracesUrl: env.TRACES_URL,
});
const balancers = new Map(calleesOf(definition).map((callee) => [callee, createBalancer()]));

await look(namespace, balancers);
const client = createHttpClient();
const { server } = createService({
  definition,
  processor,
  client,
  balancers,
  tracing,
  fault: () => NO_FAULT,
});
server.listen(PORT, "0.0.0.0", () => process.stdout.write(`${service} listens\n`));

process.on("SIGTERM", () => {
  server.close(() => void tracing.shutdown().then(() => process.exit(0)));
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), DRAIN_MS).unref();
});
await keepLooking(namespace, balancers);
