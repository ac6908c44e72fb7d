import { describe, expect, it } from "vitest";
import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { decideWish } from "../decide-wish.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { bookEntry, bookKey } from "@tradewind/exporter/keep/book-entry.ts";
import type { BookEntry } from "@tradewind/exporter/keep/book-entry.ts";
import { NO_LIMITS, wishOf } from "../wish.ts";

function entryOf(service: string, sequence: number, size: number | Allocation = sequence): BookEntry {
  const plannedAtMs = 1_000_000 + sequence;
  const plan = { application: "hotel", sequence, predictorStartedAtMs: 0, plannedAtMs };
  const rules = {
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limitsOf: () => NO_LIMITS,
  };
  const allocation = typeof size === "number" ? { replicas: size, cpuCores: 0.6, memoryBytes: 200e6 } : size;
  const wish = wishOf({ service, allocation });
  const decision = decideWish(wish, plan, { exporterStartedAtMs: 0 }, rules);
  if ("refusal" in decision) throw new Error(decision.refusal.reason.code);
  return bookEntry(decision.record, sequence);
}

/** What a change says of the decision that made it. */
const madeBy = ({ recommendation: { decidedAtMs, decisionId, policy, reason, reasons } }: BookEntry) => ({
  decidedAtMs,
  decisionId,
  policy,
  reason,
  reasons,
});

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

  it("puts decisions in force and keeps those of services that are not among them", () => {
    const book = new DecisionBook();
    const services = Array.from({ length: 50 }, (_, index) => `service-${index}`);
    book.put([...services.map((service) => entryOf(service, 1)), entryOf("not-in-the-plan", 1)]);
    const next = new Map(services.map((service) => [bookKey("shop", service), entryOf(service, 2)]));
    book.replace(next);
    expect(new Set(services.map((service) => book.get("shop", service)!.final.replicas))).toEqual(
      new Set([2]),
    );
    expect(book.get("shop", "not-in-the-plan")?.final.replicas).toBe(1);
    expect(replicasOf(book.historyJson("shop", "service-7"))).toEqual([2, 1]);
  });

  it("keeps the decisions that changed a size, not those that kept it later, however long the hour was quiet", () => {
    const book = new DecisionBook();
    const entries = [3, 3, 3, 5, 5, 2, 2].map((replicas, sequence) => entryOf("search", sequence, replicas));
    for (const entry of entries) book.put([entry]);
    const [inForce, ...changes] = book.historyJson("shop", "search");
    expect(inForce).toBe(entries[6]!.json);
    expect(changes).toEqual([entries[5]!.json, entries[3]!.json, entries[0]!.json]);
    expect(book.setBy("shop", "search")).toEqual({
      replicas: { from: 5, to: 2, ...madeBy(entries[5]!) },
      cpuCores: { to: 0.6, ...madeBy(entries[0]!) },
      memoryBytes: { to: 200e6, ...madeBy(entries[0]!) },
    });
  });

  it("says what a first decision changed where the plan says what ran before", () => {
    const book = new DecisionBook();
    book.put([entryOf("search", 1, 5)]);
    expect(book.setBy("shop", "search").replicas).toMatchObject({ from: 3, to: 5 });
  });

  it("forgets which decision set a size that is no longer stated", () => {
    const book = new DecisionBook();
    const [first, second] = [entryOf("search", 1, 5), entryOf("search", 2, { replicas: 5 })];
    book.put([first]);
    book.put([second]);
    expect(book.setBy("shop", "search")).toEqual({ replicas: { from: 3, to: 5, ...madeBy(first) } });
    expect(book.historyJson("shop", "search")).toEqual([second.json, first.json]);
  });

  it("is bounded: per service and in all, those that set no present size go first, the oldest of them", () => {
    const book = new DecisionBook({ recent: 0, history: 6, historyPerService: 3 });
    for (let sequence = 1; sequence <= 10; sequence += 1)
      book.put([entryOf("a", sequence), entryOf("b", sequence)]);
    // Its first decision set CPU and memory.
    expect(replicasOf(book.historyJson("shop", "a"))).toEqual([10, 9, 8, 7, 1]);
    for (const sequence of [1, 2, 3]) book.put([entryOf("c", sequence)]);
    expect(replicasOf(book.historyJson("shop", "c"))).toEqual([3, 2, 1]);
    expect(replicasOf(book.historyJson("shop", "a"))).toEqual([10, 9, 8, 1]);
    expect(replicasOf(book.historyJson("shop", "b"))).toEqual([10, 9, 8, 7, 1]);
  });

  it("takes up the changes of another process, and of those as many as were asked for", () => {
    const [before, book] = [new DecisionBook(), new DecisionBook()];
    const entries = [1, 2, 3, 4, 4].map((replicas, sequence) => entryOf("search", sequence, replicas));
    for (const entry of entries) before.put([entry]);
    const kept = before.changesJson(1).map((json) => JSON.parse(json) as DecisionRecord);
    expect(kept.map(({ final }) => final.replicas)).toEqual([1, 3, 4]);
    book.recall(kept.map((record) => bookEntry(record, undefined)));
    book.put([entries[4]!]);
    expect(book.setBy("shop", "search")).toEqual(before.setBy("shop", "search"));
    expect(replicasOf(book.historyJson("shop", "search"))).toEqual([4, 4, 3, 1]);
  });

  it("finds the last replaced decisions by id even when their numbers stayed the same", () => {
    const book = new DecisionBook({ recent: 2, history: 0, historyPerService: 0 });
    const entries = [1, 2, 3, 4, 5].map((sequence) => entryOf("search", sequence, 5));
    for (const entry of entries) book.put([entry]);
    expect(entries.map(({ recommendation }) => book.json(recommendation.decisionId) !== undefined)).toEqual([
      // It set the size.
      true,
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
