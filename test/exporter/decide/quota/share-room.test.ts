import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shareRoom } from "@tradewind/exporter/decide/quota/share-room.ts";
import type { RoomClaim } from "@tradewind/exporter/decide/quota/share-room.ts";

const claim = (service: string, changes: Partial<RoomClaim> = {}): RoomClaim => ({
  application: "hotel",
  service,
  priority: 0,
  severity: 1,
  running: 3,
  asked: 5,
  takes: { pods: 1, cpuRequestCores: 0.5 },
  ...changes,
});
const cores = (left: number) => [{ name: "team", left: { cpuRequestCores: left } }];

describe("the room of a quota", () => {
  it("goes to the higher priority first, and both are told of the other", () => {
    const high = claim("search", { priority: 100, asked: 4 });
    const low = claim("report", { application: "batch", asked: 4 });
    const shares = shareRoom(cores(0.5), [low, high]);
    expect(shares.get("report")).toEqual({
      quota: "team",
      mostReplicas: 3,
      ahead: [{ application: "hotel", service: "search", priority: 100 }],
    });
    expect(shares.get("search")).toEqual({
      quota: "team",
      ahead: [],
      behind: [{ application: "batch", service: "report", priority: 0 }],
    });
  });

  it("goes at equal priority to the larger violation", () => {
    const shares = shareRoom(cores(0.5), [claim("a", { severity: 1.1 }), claim("b", { severity: 1.8 })]);
    expect(shares.get("b")?.mostReplicas).toBe(4);
    expect(shares.get("a")?.mostReplicas).toBe(3);
  });

  it("is not spoken of while there is enough for all, or where nothing of the quota is taken", () => {
    expect(shareRoom(cores(2), [claim("a"), claim("b")]).size).toBe(0);
    expect(shareRoom([{ name: "team", left: { memoryRequestBytes: 0 } }], [claim("a")]).size).toBe(0);
  });

  it("takes of several quotas what the scarcest leaves", () => {
    const quotas = [{ name: "pods", left: { pods: 1 } }, ...cores(10)];
    expect(shareRoom(quotas, [claim("a")]).get("a")).toMatchObject({ quota: "pods", mostReplicas: 4 });
  });

  it("is never overdrawn, takes nothing that runs away, and the same whatever the order of the claims", () => {
    const claims = fc.uniqueArray(
      fc.record({
        service: fc.string({ minLength: 1, maxLength: 3 }),
        priority: fc.integer({ min: -2, max: 2 }),
        severity: fc.double({ min: 0, max: 3, noNaN: true }),
        running: fc.nat(9),
        more: fc.integer({ min: 1, max: 9 }),
        cores: fc.double({ min: 0.05, max: 2, noNaN: true }),
      }),
      { selector: ({ service }) => service, maxLength: 8 },
    );
    fc.assert(
      fc.property(claims, fc.double({ min: 0, max: 20, noNaN: true }), (given, left) => {
        const all = given.map(({ cores: one, more, ...each }) =>
          claim(each.service, { ...each, asked: each.running + more, takes: { cpuRequestCores: one } }),
        );
        const shares = shareRoom(cores(left), all);
        const taken = all.map(({ asked, running, service, takes }) => {
          const { mostReplicas = asked } = shares.get(service) ?? {};
          expect(mostReplicas).toBeGreaterThanOrEqual(running);
          expect(mostReplicas).toBeLessThanOrEqual(asked);
          return (mostReplicas - running) * takes.cpuRequestCores!;
        });
        expect(taken.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(left * (1 + 1e-6) + 1e-6);
        expect(shareRoom(cores(left), all.toReversed())).toEqual(shares);
      }),
      { numRuns: 500 },
    );
  });
});
