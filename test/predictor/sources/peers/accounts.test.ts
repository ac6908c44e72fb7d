import { describe, expect, it } from "vitest";
import { PeerAccounts } from "@tradewind/predictor/sources/peers/accounts.ts";

type Spoken = Parameters<PeerAccounts["note"]>[0];

/** Speaks to an account as one link of a peer does: each message has the next turn. */
class Speaker {
  readonly from: string;
  private readonly accounts: PeerAccounts;
  private readonly epoch: number;
  private turn = 0;

  constructor(accounts: PeerAccounts, { epoch = 1, from = "b" }: { epoch?: number; from?: string } = {}) {
    this.accounts = accounts;
    this.epoch = epoch;
    this.from = from;
  }

  say(kind: Spoken["kind"], sequence: number, nowMs: number, waitedMs = 0) {
    this.turn += 1;
    const { epoch, from, turn } = this;
    return this.accounts.note({ kind, from, epoch, turn, sequence, waitedMs }, "10.0.0.7", nowMs);
  }
}

describe("the accounts of what peers received", () => {
  it("count every batch once, whatever was sent again", () => {
    const accounts = new PeerAccounts();
    const b = new Speaker(accounts);
    const taken = [1, 2, 2, 1, 3].map((sequence) => b.say("batch", sequence, 0));
    expect(taken).toEqual(["fresh", "fresh", "known", "known", "fresh"]);
    expect(accounts.missedTotal).toBe(0);
  });

  it("take no message twice: a copy of one changes nothing, not even when the peer was last heard", () => {
    const accounts = new PeerAccounts();
    const alive = { kind: "alive", from: "b", epoch: 3, turn: 9, sequence: 4, waitedMs: 0 } as const;
    accounts.note(alive, "10.0.0.7", 1_000);
    expect(accounts.note(alive, "10.0.0.66", 9_000)).toBe("replayed");
    expect(accounts.note({ ...alive, turn: 8, sequence: 99 }, "10.0.0.66", 9_000)).toBe("replayed");
    expect(accounts.heardMs("b")).toBe(1_000);
    expect(accounts.missedTotal).toBe(0);
  });

  it("go on with the same numbers over a new link: what came over neither is missing, the rest is counted", () => {
    const accounts = new PeerAccounts();
    new Speaker(accounts, { epoch: 1 }).say("batch", 1, 1_000);
    const again = new Speaker(accounts, { epoch: 2 });
    expect(again.say("batch", 2, 2_000)).toBe("fresh");
    expect(accounts.missing(0, 2_000, 0)).toEqual([]);
    expect(again.say("batch", 5, 8_000)).toBe("fresh");
    expect(accounts.missedTotal).toBe(2);
    expect(accounts.missing(2_000, 8_000, 0)).toEqual([
      { instance: "b", host: "10.0.0.7", gap: { fromMs: 2_000, toMs: 8_000, batches: 2 } },
    ]);
    expect(accounts.missing(0, 2_000, 0)).toEqual([]);
    expect(accounts.missing(8_000, 8_000, 0)).toEqual([]);
  });

  it("know by a sign of life that batches were lost", () => {
    const accounts = new PeerAccounts();
    const b = new Speaker(accounts);
    b.say("alive", 7, 100);
    b.say("alive", 7, 300);
    expect(accounts.missedTotal).toBe(0);
    b.say("alive", 10, 400);
    expect(accounts.missedTotal).toBe(3);
  });

  it("say that what a peer received before it was first heard is missing, and nothing where it received nothing", () => {
    const accounts = new PeerAccounts();
    new Speaker(accounts, { from: "old" }).say("alive", 500, 1_000);
    new Speaker(accounts, { from: "new" }).say("batch", 1, 1_000);
    expect(accounts.missing(0, 1_000, 0)).toMatchObject([{ instance: "old", gap: { fromMs: -Infinity } }]);
    expect(accounts.missedTotal).toBe(0);
  });

  it("cover a time only as far as the peer has sent what it received: not what waits in its queue", () => {
    const accounts = new PeerAccounts();
    const b = new Speaker(accounts);
    b.say("batch", 1, 10_000, 4_000);
    expect(accounts.missing(2_000, 6_000, 0)).toEqual([]);
    expect(accounts.missing(2_000, 9_000, 2_000)).toMatchObject([{ sinceMs: 6_000 }]);
    b.say("alive", 1, 10_100);
    expect(accounts.missing(2_000, 9_000, 2_000)).toEqual([]);
  });

  it("expect a silent peer until it is known to have ended, and miss what it had not sent by then", () => {
    const accounts = new PeerAccounts();
    new Speaker(accounts).say("alive", 0, 1_000);
    expect(accounts.missing(10_000, 20_000, 0)).toMatchObject([{ sinceMs: 1_000 }]);
    accounts.gone("b", 15_000);
    expect(accounts.missing(10_000, 20_000, 0)).toMatchObject([{ gap: { fromMs: 1_000, toMs: 15_000 } }]);
    expect(accounts.missing(20_000, 30_000, 0)).toEqual([]);
    expect(accounts.present()).toEqual([]);
  });

  it("miss nothing of a peer that has said good-bye, and take it back when it speaks again", () => {
    const accounts = new PeerAccounts();
    const b = new Speaker(accounts);
    b.say("batch", 1, 1_000);
    b.say("bye", 1, 2_000);
    expect(accounts.missing(0, 60_000, 0)).toEqual([]);
    b.say("alive", 1, 61_000);
    expect(accounts.missing(0, 70_000, 0)).toMatchObject([{ sinceMs: 61_000 }]);
  });

  it("remember a bounded number of peers and links, and refuse messages of links that were forgotten", () => {
    const accounts = new PeerAccounts();
    for (let index = 0; index < 200; index += 1) {
      new Speaker(accounts, { from: `peer-${index}` }).say("alive", 0, index);
    }
    expect(accounts.heardMs("peer-0")).toBeUndefined();
    expect(accounts.heardMs("peer-199")).toBe(199);
    const old = new Speaker(accounts, { epoch: 1 });
    old.say("alive", 0, 0);
    for (let epoch = 2; epoch < 40; epoch += 1) new Speaker(accounts, { epoch }).say("alive", 0, epoch);
    expect(old.say("alive", 5, 50)).toBe("replayed");
  });

  it("keep a bounded number of gaps, the oldest as one", () => {
    const accounts = new PeerAccounts();
    const b = new Speaker(accounts);
    for (let index = 0; index <= 100; index += 1) b.say("alive", 2 * index, index);
    const found = accounts.missing(0, 1_000, 1_000);
    expect(found).toHaveLength(32);
    expect(found.reduce((sum, { gap }) => sum + (gap?.batches ?? 0), 0)).toBe(200);
  });
});
