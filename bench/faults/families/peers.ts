import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { PODS } from "../stage/setting.ts";
import type { Stage } from "../stage/stage.ts";

/** The name is resolved every 5 s. */
const RESOLVED_MS = 6_000;
const GONE_MS = 8_000;
/** Peers that have known each other for longer than the recovery may take. */
const ACQUAINTANCE_MS = 8_000;
const GROWS_WITHIN = 9;
const BOTH = ["127.0.0.2", "127.0.0.3"];

/** A batch without spans that says it comes from a peer. */
async function pretend(stage: Stage, to: 0 | 1, peer: string, sequence: number): Promise<string | undefined> {
  const answer = await fetch(`${stage.address(to, "otlp")}/v1/traces`, {
    method: "POST",
    headers: {
      "content-type": "application/x-protobuf",
      "tradewind-peer": peer,
      "tradewind-peer-sequence": String(sequence),
    },
    body: new Uint8Array(0),
  }).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.headers.get("tradewind-instance") ?? undefined;
}

export const PEER_FAULTS: readonly Fault[] = [
  {
    name: "dns-down",
    summary: "the peers' name cannot be resolved",
    stage: "dns",
    seconds: 8,
    survives: true,
    begin: async (stage) => stage.setHosts([]),
    end: async (stage) => stage.setHosts(BOTH),
  },
  {
    name: "peer-leaves-dns",
    summary: "the younger predictor leaves the peers' name for 8 s and comes back",
    stage: "dns",
    seconds: 2,
    survives: true,
    begin: async (stage) => {
      await delay(ACQUAINTANCE_MS);
      await stage.setHosts(BOTH.slice(0, 1));
      await delay(GONE_MS);
      await stage.setHosts(BOTH);
      await delay(RESOLVED_MS);
    },
    end: async () => undefined,
  },
  {
    name: "forged-peer",
    summary: "a stranger claims to be the other predictor, with the largest batch number there is",
    quick: true,
    seconds: 11,
    growsWithin: GROWS_WITHIN,
    survives: true,
    begin: async (stage) => {
      for (const pod of PODS) {
        const instance = await pretend(stage, pod, "stranger", 1);
        if (instance !== undefined)
          await pretend(stage, pod === 0 ? 1 : 0, instance, Number.MAX_SAFE_INTEGER);
      }
    },
    end: async () => undefined,
  },
];
