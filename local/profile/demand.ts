import type { Flow, Topology } from "../application/topology.ts";
import { serviceOf } from "../application/topology.ts";

/** CPU of HTTP and tracing for one call, on top of the work itself, s. */
const OVERHEAD_SECONDS = 0.002;

/** CPU that a mean request to the application needs in each service, s, with the given shares of its flows. */
export function demandPerRequest(topology: Topology, flows: readonly Flow[]): ReadonlyMap<string, number> {
  const demand = new Map<string, number>();
  const walk = (name: string, route: string, share: number): void => {
    const found = serviceOf(topology, name).routes[route];
    if (found === undefined) throw new Error(`service '${name}' has no route '${route}'`);
    demand.set(name, (demand.get(name) ?? 0) + share * (found.cpuMillis / 1e3 + OVERHEAD_SECONDS));
    for (const call of found.stages.flat()) walk(call.service, call.route, share);
  };
  for (const { route, share } of flows) walk(topology.entry, route, share);
  return demand;
}
