import { Turns } from "@tradewind/core/process/turns.ts";
import { expect, it } from "vitest";

it("starts each work when the one before has ended, also where that failed", async () => {
  const turns = new Turns();
  const started: string[] = [];
  const first = Promise.withResolvers<never>();
  const failing = turns.take(async () => {
    started.push("first");
    return first.promise;
  });
  const next = turns.take(async () => Promise.resolve(started.push("second")));
  await new Promise(setImmediate);
  expect(started).toEqual(["first"]);
  first.reject(new Error("the disk is full"));
  await expect(failing).rejects.toThrow("the disk is full");
  await expect(next).resolves.toBe(2);
  expect(started).toEqual(["first", "second"]);
});
