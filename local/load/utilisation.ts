import { TradewindError } from "@tradewind/core/values/errors.ts";
import { readFile } from "node:fs/promises";
import { serviceOf } from "../application/topology.ts";
import type { Topology } from "../application/topology.ts";
import { parseTrace } from "./trace.ts";
import type { RateTrace } from "./trace.ts";

/** CPU seconds that one request costs in all services together: its own work, without HTTP and tracing. */
export function cpuSecondsOf(topology: Topology, service: string, route: string): number {
  const found = serviceOf(topology, service).routes[route];
  if (found === undefined) throw new Error(`service '${service}' has no route '${route}'`);
  const calls = found.stages.flat();
  return calls.reduce(
    (sum, call) => sum + cpuSecondsOf(topology, call.service, call.route),
    found.cpuMillis / 1e3,
  );
}

/**
 * Requests a second that keep the application's first containers as busy as the trace says, by the utilisation law: use times cores
 * over the CPU seconds of a mean request. For traces that hold CPU use and no requests, as those of Alibaba's machines.
 */
export function ratesOf(utilisation: readonly number[], topology: Topology): RateTrace {
  const { entry, flows, services } = topology;
  const cores = services.reduce((sum, { minReplicas, size }) => sum + minReplicas * size.cpuCores, 0);
  const shares = flows.reduce((sum, { share }) => sum + share, 0);
  const seconds = flows.reduce(
    (sum, { route, share }) => sum + (share / shares) * cpuSecondsOf(topology, entry, route),
    0,
  );
  return utilisation.map((use) => (use * cores) / seconds);
}

/**
 * One share of the CPU a line, 0 to 1; empty lines and lines that start with `#` do not count.
 * @throws TradewindError `invalid-load` that says what is wrong
 */
export function parseUtilisation(text: string, what: string, topology: Topology): RateTrace {
  const utilisation = parseTrace(text, what);
  const wrong = utilisation.find((use) => use > 1);
  if (wrong !== undefined) {
    throw new TradewindError(
      "invalid-load",
      `${what}: ${wrong} is no share of the CPU; write 0 to 1, 0.35 for 35 %`,
    );
  }
  return ratesOf(utilisation, topology);
}

/** @throws TradewindError `invalid-load` when the file cannot be read or does not parse */
export async function readUtilisation(path: string, topology: Topology): Promise<RateTrace> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new TradewindError("invalid-load", `cannot read the utilisation file ${path}`, { cause: error });
  }
  return parseUtilisation(text, path, topology);
}
