import { unpacked } from "../model-text.ts";
import { LatencyNetwork } from "./latency-network.ts";
import { SHIPPED_NETWORK } from "./shipped-network.ts";

/** The network that this release ships with. @internal */
export const shippedNetwork = (): LatencyNetwork => new LatencyNetwork(unpacked(SHIPPED_NETWORK.weights));
