import { resolve4 } from "node:dns/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Balancer } from "@tradewind/local/application/balance.ts";

/** Where every pod of the application listens. */
export const PORT = 8080;
const LOOK_MS = 1_000;

/** Gives balancers, by service, the addresses of the pods behind headless Services. */
export async function look(namespace: string, balancers: ReadonlyMap<string, Balancer>): Promise<void> {
  for (const [service, balancer] of balancers) {
    const addresses = await resolve4(`${service}.${namespace}.svc.cluster.local`).catch(() => undefined);
    if (addresses !== undefined) balancer.setEndpoints(addresses.map((each) => `http://${each}:${PORT}`));
  }
}

/** Looks again for ever. */
export async function keepLooking(...args: Parameters<typeof look>): Promise<never> {
  for (;;) {
    await look(...args);
    await delay(LOOK_MS);
  }
}
