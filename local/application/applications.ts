import { TradewindError } from "@tradewind/core/values/errors.ts";
import { HOTEL } from "./hotel.ts";
import { SHOP } from "./shop.ts";
import type { Topology } from "./topology.ts";

/** Applications that the platform can run. */
const APPLICATIONS: readonly Topology[] = [HOTEL, SHOP];

export const APPLICATION_NAMES: readonly string[] = APPLICATIONS.map(({ name }) => name);

/** @throws TradewindError `unknown-application` that lists the names there are */
export function applicationOf(name: string): Topology {
  const found = APPLICATIONS.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new TradewindError(
    "unknown-application",
    `no application '${name.slice(0, 40)}'; there are: ${APPLICATION_NAMES.join(", ")}`,
  );
}
