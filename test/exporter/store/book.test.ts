import { describe, expect, it } from "vitest";
import { decide } from "@tradewind/exporter/decide.ts";
import { bookEntry, DecisionBook } from "@tradewind/exporter/store/book.ts";
import type { BookEntry } from "@tradewind/exporter/store/book.ts";
import { wishOf } from "../wish.ts";

function entryOf(service: string, sequence: number, replicas = sequence): BookEntry {
  const plannedAtMs = 1_000_000 + sequence;
  const plan = { application: "hotel", sequence, predictorStartedAtMs: 0, plannedAtMs };
  const rules = { exporterStartedAtMs: 0, staleAfterSeconds: 300, restartGraceSeconds: 0 };
  const wish = wishOf({ service, allocation: { replicas } });
  const decision = decide(wish, plan, undefined, rules, plannedAtMs);
  if ("refusal" in decision) throw new Error(decision.refusal.reason);
  return bookEntry(decision.record);
}

const replicasOf = (jsons: readonly string[]): number[] =>
  jsons.map((json) => (JSON.parse(json) as BookEntry["record"]).final.replicas);

describe("the decision book", () => {
  it("finds the decision in force by service and by id, and keeps the replaced ones, newest first", () => {
    const book = new DecisionBook();
    const [first, second] = [entryOf("search", 1), entryOf("search", 2)];
    book.put([first]);
    book.put([second]);
    expect(book.get("shop", "search")).toBe(second);
    expect(book.json(first.record.id)).toBe(first.json);
    expect(book.json(second.record.id)).toBe(second.json);
    expect(book.historyJson("shop", "search")).toEqual([second.json, first.json]);
    expect([book.get("shop", "rate"), book.json("nothing"), book.historyJson("shop", "rate")]).toEqual([
      undefined,
      undefined,
      [],
    ]);
  });

  it("keeps only changes in its history, so that a quiet hour does not push them out", () => {
    const book = new DecisionBook();
    for (const [sequence, replicas] of [3, 3, 3, 5, 5, 2].entries()) {
      book.put([entryOf("search", sequence, replicas)]);
    }
    expect(replicasOf(book.historyJson("shop", "search"))).toEqual([2, 5, 3]);
  });

  it("is bounded: per service and in all, the oldest go first", () => {
    const book = new DecisionBook({ history: 6, historyPerService: 3 });
    for (let sequence = 1; sequence <= 10; sequence += 1)
      book.put([entryOf("a", sequence), entryOf("b", sequence)]);
    expect(replicasOf(book.historyJson("shop", "a"))).toEqual([10, 9, 8, 7]);
    book.put([entryOf("c", 1)]);
    book.put([entryOf("c", 2)]);
    expect(replicasOf(book.historyJson("shop", "c"))).toEqual([2, 1]);
    expect(replicasOf(book.historyJson("shop", "a"))).toEqual([10, 9, 8]);
    expect(replicasOf(book.historyJson("shop", "b"))).toEqual([10, 9, 8, 7]);
  });

  it("forgets a service with everything about it", () => {
    const book = new DecisionBook();
    const [first, second] = [entryOf("search", 1), entryOf("search", 2)];
    book.put([first, entryOf("rate", 1)]);
    book.put([second]);
    expect(book.forget(({ record }) => record.service === "search")).toBe(1);
    expect(book.size).toBe(1);
    expect([first, second].map(({ record }) => book.json(record.id))).toEqual([undefined, undefined]);
  });

  it("treats prototype names like any other", () => {
    const book = new DecisionBook();
    expect(book.get("shop", "__proto__")).toBeUndefined();
    book.put([entryOf("__proto__", 1)]);
    expect(book.get("shop", "__proto__")?.record.final.replicas).toBe(1);
    expect(book.get("shop", "constructor")).toBeUndefined();
  });
});
