import { describe, expect, it } from "vitest";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { changeText, eventText, sizesChangeText } from "@tradewind/core/contract/sentences.ts";

const NOON_MS = Date.parse("2026-03-02T12:00:00Z");
const OF = { application: "hotel", namespace: "shop", service: "search" };

/** Numbers, times and names in a text. */
const factsIn = (text: string): string[] => text.match(/[a-z]*\d[\w:-]*|quota '\w+'|cart/g) ?? [];

describe("one line about an event", () => {
  const events: readonly (readonly [AuditEvent, readonly string[]])[] = [
    [
      {
        kind: "rollback",
        ...OF,
        atMs: NOON_MS,
        before: { replicas: 4 },
        times: 2,
        untilMs: NOON_MS + 60_000,
      },
      ["2", "2026-03-02T12:01:00Z"],
    ],
    [
      {
        kind: "brownout",
        ...OF,
        atMs: NOON_MS,
        state: "begun",
        for: { application: "bank7", service: "cart", priority: 1 },
        quota: "team",
      },
      ["cart", "bank7", "quota 'team'"],
    ],
    [
      {
        kind: "change",
        ...OF,
        atMs: NOON_MS,
        change: "3f9a2b77c1",
        state: "approved",
        resource: "cpu",
        from: 0.2,
        to: 0.8,
        by: "ann9",
      },
      ["200m", "800m", "ann9"],
    ],
  ];

  it.each(events)("has the numbers of a $kind", (event, facts) => {
    expect(factsIn(eventText(event))).toEqual(facts);
  });
});

describe("one line about a change that waits", () => {
  const change = (parts: object): Change =>
    ({
      kind: "size",
      id: "3f9a2b77c1",
      ...OF,
      state: "awaiting",
      proposedAtMs: 0,
      expiresMs: 1,
      ...parts,
    }) as Change;

  it("leaves out a container size that was not stated before", () => {
    expect(factsIn(changeText(change({ resource: "memory", from: 0, to: 2 ** 30 })))).toEqual(["1Gi"]);
    expect(factsIn(changeText(change({ resource: "replicas", from: 0, to: 3 })))).toEqual(["0", "3"]);
  });
});

it("a change of sizes names those that differ and are known on both sides", () => {
  const before = { replicas: 2, cpuCores: 0.16, memoryBytes: 2 ** 28 };
  expect(factsIn(sizesChangeText(before, { replicas: 4, cpuCores: 0.16 }))).toEqual(["2", "4"]);
});
