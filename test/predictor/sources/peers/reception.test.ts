import { describe, expect, it } from "vitest";
import { PeerReception } from "@tradewind/predictor/sources/peers/reception.ts";

const from = (sequence: number, instance = "b") => ({ instance, sequence });

describe("the reception of forwarded batches", () => {
  it("counts every batch once, whatever was sent again", () => {
    const reception = new PeerReception("a");
    const taken = [1, 2, 2, 1, 3].map((sequence) => reception.note(from(sequence), false, 0));
    expect(taken).toEqual([true, true, false, false, true]);
    expect(reception.missedTotal).toBe(0);
  });

  it("notices batches that were lost, by the next batch or by the next sign of life", () => {
    const reception = new PeerReception("a");
    reception.note(from(7), true, 100);
    expect(reception.note(from(10), false, 200)).toBe(true);
    expect(reception.missedTotal).toBe(2);
    expect(reception.lastMissedMs).toBe(200);
    reception.note(from(10), true, 300);
    expect(reception.missedTotal).toBe(2);
    reception.note(from(13), true, 400);
    expect(reception.missedTotal).toBe(5);
    expect(reception.lastMissedMs).toBe(400);
  });

  it("keeps each peer's count apart and begins anew with a restarted one", () => {
    const reception = new PeerReception("a");
    reception.note(from(500, "b"), false, 0);
    reception.note(from(1, "c"), false, 0);
    expect(reception.note(from(2, "c"), false, 0)).toBe(true);
    expect(reception.note(from(1, "b-restarted"), false, 0)).toBe(true);
    expect(reception.missedTotal).toBe(0);
  });

  it("never counts what it sent itself", () => {
    const reception = new PeerReception("a");
    expect(reception.note(from(1, "a"), false, 0)).toBe(false);
    expect(reception.heardMs("a")).toBeUndefined();
  });

  it("remembers a bounded number of peers, those heard last", () => {
    const reception = new PeerReception("a");
    for (let index = 0; index < 200; index += 1) reception.note(from(1, `peer-${index}`), false, index);
    expect(reception.heardMs("peer-0")).toBeUndefined();
    expect(reception.heardMs("peer-199")).toBe(199);
  });
});
