import { unpacked } from "../packed.ts";
import { LatencyNetwork } from "./latency-network.ts";
import { SHIPPED_NETWORK } from "./shipped-network.ts";

let shipped: LatencyNetwork | undefined;

/** The network that this release ships with. */
export const shippedNetwork = (): LatencyNetwork =>
  (shipped ??= new LatencyNetwork(unpacked(SHIPPED_NETWORK.weights)));

/** Names its weights: what another network has made of windows says nothing to it. */
export const SHIPPED_NAME = SHIPPED_NETWORK.about.hash.slice(0, 12);
