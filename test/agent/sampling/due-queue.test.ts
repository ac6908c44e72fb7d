import fc from "fast-check";
import { expect, it } from "vitest";
import { DueQueue } from "../../../agent/sampling/due-queue.ts";

it("hands out slots in the order they are due", () => {
  const queue = new DueQueue(2);
  queue.set(0, 30);
  queue.set(1, 10);
  queue.set(7, 20);
  expect([queue.first(), queue.size, queue.dueMs(7)]).toEqual([1, 3, 20]);
  queue.set(1, 40);
  expect(queue.first()).toBe(7);
  queue.remove(7);
  expect([queue.first(), queue.dueMs(7)]).toEqual([0, Infinity]);
});

it("is empty without slots", () => {
  const queue = new DueQueue(1);
  queue.remove(3);
  expect([queue.first(), queue.dueMs(queue.first())]).toEqual([-1, Infinity]);
});

it("always knows the earliest slot, whatever is added, moved and removed", () => {
  const step = fc.tuple(fc.nat(40), fc.option(fc.double({ min: 0, max: 100, noNaN: true })));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new DueQueue(1);
      const model = new Map<number, number>();
      for (const [slot, due] of steps) {
        if (due === null) {
          queue.remove(slot);
          model.delete(slot);
        } else {
          queue.set(slot, due);
          model.set(slot, due);
        }
        expect(queue.size).toBe(model.size);
        expect(queue.dueMs(queue.first())).toBe(Math.min(Infinity, ...model.values()));
        expect(model.get(queue.first())).toBe(model.size === 0 ? undefined : queue.dueMs(queue.first()));
      }
    }),
  );
});
