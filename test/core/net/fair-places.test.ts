import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairPlaces } from "@tradewind/core/net/fair-places.ts";
import type { Place } from "@tradewind/core/net/fair-places.ts";

/** Places by name; `evicted` lists those that were taken away, in order. */
function shared(maxPlaces: number, maxPerSender: number) {
  const places = new FairPlaces({ maxPlaces, maxPerSender });
  const evicted: string[] = [];
  const take = (sender: string, name: string): Place | undefined =>
    places.take(sender, () => evicted.push(name));
  return { places, evicted, take };
}

describe("fair places", () => {
  it("a sender at its limit loses its longest idle place to its next one", () => {
    const { take, evicted } = shared(10, 3);
    const first = take("a", "a1");
    take("a", "a2");
    take("a", "a3");
    first?.busy();
    first?.idle();
    take("b", "b1");
    take("a", "a4");
    take("a", "a5");
    take("a", "a6");
    expect(evicted).toEqual(["a2", "a3", "a1"]);
  });

  it("a sender whose places are all busy gets no further one, others do", () => {
    const { places, take, evicted } = shared(10, 2);
    take("a", "a1")?.busy();
    const second = take("a", "a2");
    second?.busy();
    expect(take("a", "a3")).toBeUndefined();
    expect(take("b", "b1")).toBeDefined();
    second?.free();
    second?.free();
    expect(take("a", "a3")).toBeDefined();
    expect([evicted, places.counts]).toEqual([[], { held: 3, refused: 1, evicted: 0 }]);
  });

  it("when all are taken, the sender with the most gives one up, though it be busy", () => {
    const { take, evicted } = shared(4, 3);
    for (const name of ["a1", "a2", "a3"]) take("a", name)?.busy();
    take("b", "b1");
    expect(take("c", "c1")).toBeDefined();
    expect(evicted).toEqual(["a1"]);
    take("b", "b2")?.busy();
    expect(evicted).toEqual(["a1", "b1"]);
  });

  it("when all are taken and equally shared, only an idle one makes way", () => {
    const { take, evicted } = shared(2, 2);
    take("a", "a1")?.busy();
    const other = take("b", "b1");
    other?.busy();
    expect(take("c", "c1")).toBeUndefined();
    other?.idle();
    expect(take("c", "c1")).toBeDefined();
    expect(evicted).toEqual(["b1"]);
  });

  it("never holds more than the limits say, and always serves a sender that holds less than its share", () => {
    const step = fc.record({
      sender: fc.constantFrom("a", "b", "c", "d"),
      act: fc.constantFrom("take", "take", "busy", "idle", "free"),
      which: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const places = new FairPlaces({ maxPlaces: 8, maxPerSender: 5 });
        const held: { sender: string; place: Place }[] = [];
        for (const { act, sender, which } of steps) {
          if (act !== "take") {
            const chosen = held[which % Math.max(1, held.length)];
            chosen?.place[act]();
            if (act === "free" && chosen !== undefined) held.splice(held.indexOf(chosen), 1);
            continue;
          }
          const own = held.filter((each) => each.sender === sender).length;
          const entry = { sender } as { sender: string; place: Place };
          const place = places.take(sender, () => held.splice(held.indexOf(entry), 1));
          const counts = ["a", "b", "c", "d"].map((name) => held.filter((e) => e.sender === name).length);
          const mayRefuse = own >= 5 || Math.max(...counts) <= own + 1;
          expect(place !== undefined || mayRefuse).toBe(true);
          if (place !== undefined) held.push(Object.assign(entry, { place }));
          expect(places.counts.held).toBe(held.length);
          expect(held.length).toBeLessThanOrEqual(8);
          expect(held.filter((each) => each.sender === sender).length).toBeLessThanOrEqual(5);
        }
      }),
    );
  });
});
