import { unpacked } from "../model-text.ts";
import { LatencyNetwork } from "./latency-network.ts";
import { SHIPPED_NETWORK } from "./shipped-network.ts";
import type { ShippedNetwork } from "./shipped-form.ts";

export const aboutShipped: ShippedNetwork["about"] = SHIPPED_NETWORK.about;

/** The network that this release ships with. */
export const shippedNetwork = (): LatencyNetwork => new LatencyNetwork(unpacked(SHIPPED_NETWORK.weights));
