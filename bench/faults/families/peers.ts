import { ENVELOPE_HEADER, hashOf, seal } from "../../../predictor/sources/peers/envelope.ts";
import { PEER_PATH } from "../../../predictor/sources/peers/link.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { PODS } from "../../stage/setting.ts";
import type { Pod } from "../../stage/setting.ts";
import type { Stage } from "../../stage/stage.ts";

/** The name is resolved every 5 s. */
const RESOLVED_MS = 6_000;
const GONE_MS = 8_000;
/** Peers that have known each other for longer than the recovery may take. */
const ACQUAINTANCE_MS = 8_000;
const GROWS_WITHIN = 9;
const BOTH = ["127.0.0.2", "127.0.0.3"];

/** A batch of the other predictor, with all that it needs but its secret. */
async function pretend(stage: Stage, to: Pod, kind: "hello" | "batch"): Promise<void> {
  const instance = "00000000-0000-4000-8000-000000000000";
  const body = new Uint8Array(0);
  const envelope = seal(Buffer.from("what a stranger guesses"), {
    kind,
    from: instance,
    to: instance,
    epoch: Number.MAX_SAFE_INTEGER,
    turn: 1,
    sequence: Number.MAX_SAFE_INTEGER,
    waitedMs: 0,
    contentType: "application/x-protobuf",
    bodyHash: hashOf(body),
  });
  const headers = { "content-type": "application/x-protobuf", [ENVELOPE_HEADER]: envelope };
  for (const url of [`${stage.address(to, "peers")}${PEER_PATH}`, `${stage.address(to, "otlp")}/v1/traces`]) {
    const answer = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
    await answer?.arrayBuffer();
  }
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
    summary:
      "a stranger without the secret claims to be the other predictor, with the largest numbers there are",
    quick: true,
    seconds: 11,
    growsWithin: GROWS_WITHIN,
    survives: true,
    begin: async (stage) => {
      for (const pod of PODS) {
        for (const kind of ["hello", "batch"] as const) await pretend(stage, pod, kind);
      }
    },
    end: async () => undefined,
  },
];
