import { expect, it } from "vitest";
import { Schedule } from "../../../agent/read/schedule.ts";
import { FakeClock } from "../fake-clock.ts";

it("reads in the last second of the windows that begin at multiples since the epoch, also after the clock was set", () => {
  const clock = new FakeClock();
  const schedule = new Schedule(clock, 0.005, 15);
  const read: number[] = [];
  let total = 0;
  schedule.add(
    { kind: "counter", tolerance: 0.05, maxSeconds: 15 },
    {
      read: () => {
        read.push(clock.nowMs() % 15_000);
        return total;
      },
      failed: () => undefined,
    },
  );
  const run = (cycles: number): void => {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      schedule.run(1e3);
      clock.advance(1_030);
      total += 0.3;
    }
  };
  run(60);
  expect(read.length).toBeGreaterThan(4);
  expect(read.slice(2).every((phase) => phase >= 13_900)).toBe(true);
  clock.stepWall(5_500);
  read.length = 0;
  run(60);
  expect(read.length).toBeGreaterThan(3);
  expect(read.slice(1).every((phase) => phase >= 13_900)).toBe(true);
});
