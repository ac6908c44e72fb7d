import { PeerMessage, seal, unseal } from "@tradewind/predictor/sources/peers/envelope.ts";
import { attempt, expect, expectEqual, jsonText, never } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget, valueTarget } from "./kinds.ts";

const SECRET = Buffer.from("a secret of predictors");
const INSTANCE = "0f8b2c1e-5d1a-4e3b-9c55-3f1d2a7b6c11";
const MESSAGE: PeerMessage = {
  kind: "batch",
  from: INSTANCE,
  to: INSTANCE.replaceAll("0", "1"),
  epoch: 3,
  turn: 17,
  sequence: 120,
  waitedMs: 2.5,
  contentType: "application/x-protobuf",
  bodyHash: "ab".repeat(32),
};

export const PEER_TARGETS: readonly Target[] = [
  textTarget(
    "peers/forged-envelopes",
    [seal(SECRET, MESSAGE), seal(Buffer.from("the secret of others"), MESSAGE)],
    (text) => {
      const read = attempt(() => unseal(SECRET, text, PeerMessage), never);
      // Whoever lacks the secret can repeat a message and make no other one.
      if (read !== undefined) expectEqual(read, MESSAGE, "forged");
    },
    { words: [".", "=", "-", "_", "A"] },
  ),
  valueTarget("peers/sealed-messages", [MESSAGE], (value) => {
    if (jsonText(value) === undefined) return;
    const read = attempt(() => unseal(SECRET, seal(SECRET, value as PeerMessage), PeerMessage), never);
    expect(
      read === undefined || PeerMessage.safeParse(read).success,
      "contract",
      () => "no message of a peer",
    );
  }),
];
