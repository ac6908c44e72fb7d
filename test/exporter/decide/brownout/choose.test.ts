import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseBrownouts } from "@tradewind/exporter/decide/brownout/choose.ts";
import type { Spare, StarvedService } from "@tradewind/exporter/decide/brownout/choose.ts";

const starved = (changes: Partial<StarvedService> = {}): StarvedService => ({
  application: "hotel",
  service: "search",
  priority: 0,
  isOptional: false,
  lacks: { cpuRequestCores: 2 },
  one: { cpuRequestCores: 1 },
  quota: "team",
  ...changes,
});
const spare = (service: string, changes: Partial<Spare> = {}): Spare => ({
  application: "hotel",
  service,
  priority: 0,
  replicas: 2,
  takes: { cpuRequestCores: 0.5 },
  isBrownedOut: false,
  ...changes,
});
const names = (all: readonly StarvedService[], spares: readonly Spare[]): string[] =>
  chooseBrownouts(all, spares).map(({ spare: { service } }) => service);

describe("the optional services that go down", () => {
  it("are those of the lowest priority, and no more than make room", () => {
    const spares = [
      spare("a"),
      spare("b", { priority: -1 }),
      spare("c", { priority: -2 }),
      spare("d", { priority: -3 }),
    ];
    expect(names([starved()], spares)).toEqual(["d", "c"]);
  });

  it("come after the one that they make room for", () => {
    expect(names([starved()], [spare("a", { priority: 1, replicas: 9 })])).toEqual([]);
    expect(names([starved({ isOptional: true })], [spare("a", { replicas: 9 })])).toEqual([]);
    expect(names([starved({ isOptional: true, priority: 1 })], [spare("a", { replicas: 9 })])).toEqual(["a"]);
  });

  it("are none where all of them do not make room for one replica", () => {
    expect(names([starved()], [spare("a", { replicas: 1 })])).toEqual([]);
    expect(names([starved()], [spare("a", { takes: { memoryRequestBytes: 1e9 } })])).toEqual([]);
  });

  it("are joined by no other while those that go down already are enough", () => {
    const down = spare("z", { replicas: 4, isBrownedOut: true });
    expect(names([starved()], [spare("a", { priority: -9 }), down])).toEqual([]);
  });

  it("go down for the higher priority first, once", () => {
    const both = [starved({ service: "late" }), starved({ service: "first", priority: 5 })];
    const chosen = chooseBrownouts(both, [spare("a", { replicas: 4 }), spare("b", { replicas: 4 })]);
    expect(chosen.map(({ for: { service }, spare: { service: down } }) => [service, down])).toEqual([
      ["first", "a"],
      ["late", "b"],
    ]);
  });

  it("for any services are behind, free what is short, and none of them could have stayed", () => {
    const amounts = fc.record({
      cpuRequestCores: fc.integer({ min: 0, max: 8 }),
      pods: fc.integer({ min: 0, max: 3 }),
    });
    const priority = fc.integer({ min: -2, max: 2 });
    const needs = fc.record({
      priority,
      isOptional: fc.boolean(),
      one: amounts,
      pods: fc.integer({ min: 1, max: 5 }),
    });
    const spares = fc.array(
      fc.record({ priority, replicas: fc.nat({ max: 5 }), takes: amounts, isBrownedOut: fc.boolean() }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(needs, spares, ({ isOptional, one, pods, priority: own }, all) => {
        const lacks = { cpuRequestCores: pods * one.cpuRequestCores, pods: pods * one.pods };
        const given = all.map((each, at) => spare(`s${at}`, each));
        const chosen = chooseBrownouts([starved({ priority: own, isOptional, lacks, one })], given).map(
          (each) => each.spare,
        );
        const short = (["cpuRequestCores", "pods"] as const).filter((amount) => lacks[amount] > 0);
        const sum = (of: readonly Spare[], amount: (typeof short)[number]): number =>
          of.reduce((total, { replicas, takes }) => total + replicas * (takes[amount] ?? 0), 0);
        const behind = given.filter((each) => own > each.priority || (own === each.priority && !isOptional));
        const down = behind.filter(({ isBrownedOut }) => isBrownedOut);
        for (const each of chosen) {
          expect(behind).toContain(each);
          expect(each.replicas).toBeGreaterThan(0);
          expect(each.isBrownedOut).toBe(false);
        }
        if (chosen.length === 0) return;
        for (const amount of short)
          expect(sum([...down, ...chosen], amount)).toBeGreaterThanOrEqual(one[amount]);
        // Without the last of them something that is needed would be short.
        const without = [...down, ...chosen.slice(0, -1)];
        expect(short.some((amount) => sum(without, amount) < lacks[amount])).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});
