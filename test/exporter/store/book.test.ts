import { describe, expect, it } from "vitest";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { decide } from "@tradewind/exporter/decide.ts";
import { bookEntry, bookKey, DecisionBook } from "@tradewind/exporter/store/book.ts";
import type { BookEntry } from "@tradewind/exporter/store/book.ts";
import { NO_LIMITS, wishOf } from "../wish.ts";

function entryOf(service: string, sequence: number, replicas = sequence): BookEntry {
  const plannedAtMs = 1_000_000 + sequence;
  const plan = { application: "hotel", sequence, predictorStartedAtMs: 0, plannedAtMs };
  const rules = {
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limitsOf: () => NO_LIMITS,
  };
  const wish = wishOf({ service, allocation: { replicas } });
  const decision = decide(wish, plan, { exporterStartedAtMs: 0 }, rules);
  if ("refusal" in decision) throw new Error(decision.refusal.reason);
  return bookEntry(decision.record, sequence);
}

const replicasOf = (jsons: readonly string[]): number[] =>
  jsons.map((json) => (JSON.parse(json) as DecisionRecord).final.replicas);

describe("the decision book", () => {
  it("finds the decision in force by service and by id, and keeps the replaced ones, newest first", () => {
    const book = new DecisionBook();
    const [first, second] = [entryOf("search", 1), entryOf("search", 2)];
    book.put([first]);
    book.put([second]);
    expect(book.get("shop", "search")).toBe(second);
    expect(book.json(first.recommendation.decisionId)).toBe(first.json);
    expect(book.json(second.recommendation.decisionId)).toBe(second.json);
    expect(book.historyJson("shop", "search")).toEqual([second.json, first.json]);
    expect([book.get("shop", "rate"), book.json("nothing"), book.historyJson("shop", "rate")]).toEqual([
      undefined,
      undefined,
      [],
    ]);
  });

  it("puts many decisions in force at one moment, however many turns the work takes", () => {
    const book = new DecisionBook();
    const services = Array.from({ length: 50 }, (_, index) => `service-${index}`);
    book.put([...services.map((service) => entryOf(service, 1)), entryOf("not-in-the-plan", 1)]);
    const next = new Map(services.map((service) => [bookKey("shop", service), entryOf(service, 2)]));
    const seen = new Set<string>();
    for (const _ of book.replace(next)) {
      const replicas = services.map((service) => book.get("shop", service)!.final.replicas);
      seen.add([...new Set(replicas)].join());
      expect(book.get("shop", "not-in-the-plan")?.final.replicas).toBe(1);
    }
    expect([...seen]).toEqual(["1", "2"]);
    expect(replicasOf(book.historyJson("shop", "service-7"))).toEqual([2, 1]);
  });

  it("keeps only changes in its history, so that a quiet hour does not push them out", () => {
    const book = new DecisionBook();
    for (const [sequence, replicas] of [3, 3, 3, 5, 5, 2].entries()) {
      book.put([entryOf("search", sequence, replicas)]);
    }
    expect(replicasOf(book.historyJson("shop", "search"))).toEqual([2, 5, 3]);
  });

  it("is bounded: per service and in all, the oldest go first", () => {
    const book = new DecisionBook({ recent: 0, history: 6, historyPerService: 3 });
    for (let sequence = 1; sequence <= 10; sequence += 1)
      book.put([entryOf("a", sequence), entryOf("b", sequence)]);
    expect(replicasOf(book.historyJson("shop", "a"))).toEqual([10, 9, 8, 7]);
    book.put([entryOf("c", 1)]);
    book.put([entryOf("c", 2)]);
    expect(replicasOf(book.historyJson("shop", "c"))).toEqual([2, 1]);
    expect(replicasOf(book.historyJson("shop", "a"))).toEqual([10, 9, 8]);
    expect(replicasOf(book.historyJson("shop", "b"))).toEqual([10, 9, 8, 7]);
  });

  it("finds the last replaced decisions by id even when their numbers stayed the same", () => {
    const book = new DecisionBook({ recent: 2, history: 0, historyPerService: 0 });
    const entries = [1, 2, 3, 4].map((sequence) => entryOf("search", sequence, 5));
    for (const entry of entries) book.put([entry]);
    expect(entries.map(({ recommendation }) => book.json(recommendation.decisionId) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it("forgets a service with everything about it", () => {
    const book = new DecisionBook({ recent: 0, history: 100, historyPerService: 20 });
    const [first, second] = [entryOf("search", 1), entryOf("search", 2)];
    book.put([first, entryOf("rate", 1)]);
    book.put([second]);
    expect(book.forget(({ recommendation }) => recommendation.service === "search")).toBe(1);
    expect(book.size).toBe(1);
    expect([first, second].map(({ recommendation }) => book.json(recommendation.decisionId))).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("treats prototype names like any other", () => {
    const book = new DecisionBook();
    expect(book.get("shop", "__proto__")).toBeUndefined();
    book.put([entryOf("__proto__", 1)]);
    expect(book.get("shop", "__proto__")?.final.replicas).toBe(1);
    expect(book.get("shop", "constructor")).toBeUndefined();
  });
});
