import { describe, expect, it } from "vitest";
import type { Override } from "@tradewind/core/contract/override.ts";
import {
  asRead,
  inForce,
  leftMs,
  ordered,
  released,
  shown,
  withOne,
} from "@tradewind/exporter/decide/override/rules.ts";
import type { KnownService, OverrideOrder } from "@tradewind/exporter/decide/override/rules.ts";

const NOW = Date.UTC(2026, 2, 2, 4, 0);
const MINUTE = 60_000;

const service = (name: string, changes: Partial<KnownService> = {}): KnownService => ({
  namespace: "shop",
  application: "hotel",
  service: name,
  mode: "act",
  sizes: { replicas: 4, cpuCores: 0.5 },
  minReplicas: 1,
  maxReplicas: 10,
  ...changes,
});
const SERVICES = [
  service("cart"),
  service("pay"),
  service("cart", { namespace: "bank", application: "bank" }),
];
const CART = { namespace: "shop", application: "hotel", service: "cart" };

const order = (changes: Partial<OverrideOrder> = {}): OverrideOrder => ({
  kind: "hold",
  name: "cart",
  namespace: "shop",
  reason: "bad deploy",
  ...changes,
});
const made = (changes: Partial<OverrideOrder> = {}, nowMs = NOW, services = SERVICES): Override =>
  ordered(order(changes), services, { by: "ann", nowMs });

describe("what an order names", () => {
  it("is a service, an application by its name, a namespace, or everything", () => {
    expect(made().target).toEqual(CART);
    expect(made({ name: "hotel" }).target).toEqual({ namespace: "shop", application: "hotel" });
    expect(made({ name: undefined, namespace: "bank" }).target).toEqual({ namespace: "bank" });
    expect(made({ name: undefined, namespace: undefined }).target).toEqual({});
  });

  it("is refused where it is of several, or of none, with the names that there are", () => {
    expect(() => made({ namespace: undefined })).toThrow("of several: bank/bank, shop/hotel");
    expect(() => made({ name: "crat" })).toThrow(
      "no service or application 'crat': services are cart, pay; applications are bank/bank, shop/hotel",
    );
    expect(() => made({ name: undefined, namespace: "nowhere" })).toThrow("namespace nowhere");
    expect(() => made({}, NOW, [])).toThrow("nothing is decided yet");
  });
});

describe("the end of an override", () => {
  it("lies 30 minutes ahead where nobody says, and at most a day", () => {
    expect(made().untilMs).toBe(NOW + 30 * MINUTE);
    expect(made({ until: "2026-03-02T06:00:00+01:00" }).untilMs).toBe(NOW + 60 * MINUTE);
    expect(made({ forSeconds: 86_400 }).untilMs).toBe(NOW + 86_400_000);
    expect(() => made({ forSeconds: 86_401 })).toThrow("at most 24 hours");
  });

  it("is refused in the past, and as length and time at once", () => {
    expect(() => made({ until: "2026-03-02T03:59:59Z" })).toThrow("lies in the past");
    expect(() => made({ until: "2026-03-02T04:00:00Z" })).toThrow("lies in the past");
    expect(() => made({ forSeconds: 60, until: "2026-03-02T05:00:00Z" })).toThrow("not both");
  });

  it("comes after a restart by the wall clock, and never later than it was ordered for", () => {
    const kept = made();
    expect(leftMs(kept, NOW + 10 * MINUTE)).toBe(20 * MINUTE);
    expect(leftMs(kept, NOW + 31 * MINUTE)).toBeLessThan(0);
    expect(leftMs(kept, NOW - 600 * MINUTE)).toBe(30 * MINUTE);
  });
});

describe("what is held", () => {
  it("is what is in force, but for what is named", () => {
    expect(asRead(made(), CART, NOW)).toMatchObject({ kind: "hold", replicas: 4, cpuCores: 0.5 });
    expect(asRead(made({ replicas: 7 }), CART, NOW)).toMatchObject({ replicas: 7, cpuCores: 0.5 });
    expect(asRead(made({ kind: "floor", replicas: 7 }), CART, NOW)).not.toHaveProperty("cpuCores");
    expect(asRead(made({ kind: "pause" }), CART, NOW)).not.toHaveProperty("replicas");
  });

  it("lies within the bounds of the service, which are named where it does not", () => {
    expect(() => made({ replicas: 11 })).toThrow("bounds, 1 to 10");
    expect(() => made({ replicas: 0 })).toThrow("bounds, 1 to 10");
  });

  it("has no sizes in a pause or an undo, and a floor only replicas", () => {
    expect(() => made({ kind: "pause", replicas: 3 })).toThrow("write 'hold'");
    expect(() => made({ kind: "undo", cpuCores: 3 })).toThrow("write 'hold'");
    expect(() => made({ kind: "floor", memoryBytes: 3 })).toThrow("a floor is of replicas");
  });

  it("is after an undo what was there before the changes of the last quarter of an hour", () => {
    const change = (replicas: number, minutesAgo: number) => ({
      lastChange: { before: { replicas, cpuCores: 0.5 }, decidedAtMs: NOW - minutesAgo * MINUTE },
    });
    const services = [
      service("cart", change(2, 1)),
      service("pay", change(3, 15)),
      service("geo", change(9, 17)),
      service("new"),
    ];
    const { kept } = made({ kind: "undo", name: "hotel" }, NOW, services);
    expect(kept.map(({ replicas, service: name }) => [name, replicas])).toEqual([
      ["cart", 2],
      ["pay", 3],
      ["geo", 4],
      ["new", 4],
    ]);
    expect(made({ kind: "undo", name: "geo" }, NOW, services).kept).toMatchObject([{ replicas: 9 }]);
    expect(() => made({ kind: "undo", name: "new" }, NOW, services)).toThrow("no change is known");
  });
});

describe("of several overrides", () => {
  const all = made({ kind: "pause", name: undefined, namespace: undefined }, NOW + 3);
  const inNamespace = made({ kind: "pause", name: undefined }, NOW + 2);
  const ofApplication = made({ kind: "pause", name: "hotel" }, NOW + 1);
  const ofService = made({}, NOW);

  it.each([
    ["the service's before the application's", [ofApplication, ofService], ofService],
    ["the application's before the namespace's", [inNamespace, ofApplication], ofApplication],
    ["the namespace's before that of everything", [inNamespace, all], inNamespace],
    ["that of everything where there is no other", [all], all],
  ])("%s counts, whichever is newer", (_what, overrides, expected) => {
    expect(inForce(overrides, CART)).toBe(expected);
    expect(inForce(overrides.toReversed(), CART)).toBe(expected);
  });

  it("none of another service or application counts", () => {
    expect(inForce([ofService], { ...CART, service: "pay" })).toBeUndefined();
    expect(inForce([ofApplication, inNamespace], { ...CART, namespace: "bank" })).toBeUndefined();
  });

  it("the newer on the same target counts, in whichever order they are heard of, and says who replaced the other", () => {
    const newer = { ...made({ replicas: 7 }, NOW + MINUTE), by: "bob" };
    for (const list of [withOne([ofService], newer), withOne([newer], ofService)]) {
      expect(inForce(list, CART)?.id).toBe(newer.id);
      expect(list.find(({ id }) => id === ofService.id)?.ended).toEqual({
        how: "replaced",
        atMs: NOW + MINUTE,
        by: "bob",
      });
    }
  });

  it("one that is over stays over when another scaler says that it is not", () => {
    const over = released([ofService], CART, { by: "bob", nowMs: NOW + MINUTE });
    expect(over[0]?.ended).toEqual({ how: "released", atMs: NOW + MINUTE, by: "bob" });
    expect(inForce(withOne(over, ofService), CART)).toBeUndefined();
  });

  it("what is not in force is not released, and what is in force is named", () => {
    expect(() => released([ofService], {}, { by: "bob", nowMs: NOW })).toThrow(
      "everything is not overridden; these are: shop/cart",
    );
    expect(() => released([], CART, { by: "bob", nowMs: NOW })).toThrow("nothing is");
  });

  it("one namespace has no more than 200, and none of its is in the way of another", () => {
    const many = Array.from({ length: 200 }, (_, index) => ({
      ...ofService,
      id: String(index).padStart(10, "0"),
      target: { ...CART, service: `cart-${index}` },
    }));
    expect(() => withOne(many, ofService)).toThrow("200 of one namespace");
    const other = made({ kind: "pause", name: "cart", namespace: "bank" });
    expect(withOne(many, other)).toHaveLength(201);
    const over = many.map((each) => ({ ...each, ended: { how: "replaced" as const, atMs: NOW } }));
    const all = Array.from({ length: 10 }, () => over).flat();
    expect(shown([other, ...all], NOW)).toContain(other);
  });

  it("those that are over are shown for a day", () => {
    const over = released([ofService], CART, { by: "bob", nowMs: NOW });
    expect(shown(over, NOW + 86_399_999)).toHaveLength(1);
    expect(shown(over, NOW + 86_400_001)).toEqual([]);
  });
});
