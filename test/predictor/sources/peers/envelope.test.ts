import { describe, expect, it } from "vitest";
import {
  hashOf,
  PeerAnswer,
  PeerMessage,
  seal,
  unseal,
} from "@tradewind/predictor/sources/peers/envelope.ts";

const secret = Buffer.from("a secret of enough bytes");
const message: PeerMessage = {
  kind: "batch",
  from: "00000000-0000-4000-8000-00000000000a",
  to: "00000000-0000-4000-8000-00000000000b",
  epoch: 1,
  turn: 2,
  sequence: 3,
  waitedMs: 0.5,
  contentType: "application/json",
  bodyHash: hashOf(Buffer.from("spans")),
};

describe("an envelope between predictors", () => {
  it("gives back what was sealed with the same secret", () => {
    expect(unseal(secret, seal(secret, message), PeerMessage)).toEqual(message);
  });

  it("is worth nothing with another secret, a changed word, a changed proof, or a message in place of an answer", () => {
    const sealed = seal(secret, message);
    const [, proof = ""] = sealed.split(".");
    const forged = Buffer.from(JSON.stringify({ ...message, sequence: 9 })).toString("base64url");
    expect(unseal(Buffer.from("another secret of enough"), sealed, PeerMessage)).toBeUndefined();
    expect(unseal(secret, `${forged}.${proof}`, PeerMessage)).toBeUndefined();
    expect(unseal(secret, `${sealed}x`, PeerMessage)).toBeUndefined();
    expect(unseal(secret, `${sealed.split(".")[0]}.`, PeerMessage)).toBeUndefined();
    expect(unseal(secret, sealed, PeerAnswer)).toBeUndefined();
  });

  it.each([
    ["missing", undefined],
    ["empty", ""],
    ["a full stop", "."],
    ["of three parts", "a.b.c"],
    ["of 100,000 characters", "x".repeat(100_000)],
    ["a list", ["a", "b"]],
    ["a number", 7],
  ])("is not read from what is %s", (_what, given) => {
    expect(unseal(secret, given, PeerMessage)).toBeUndefined();
  });

  it("is understood with words that a later version added", () => {
    const later = { ...message, later: true } as PeerMessage;
    expect(unseal(secret, seal(secret, later), PeerMessage)).toEqual(message);
  });
});
