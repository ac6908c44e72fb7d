import { setImmediate as nextTurn } from "node:timers/promises";
import { applicationOf } from "@tradewind/local/application/applications.ts";
import { scheduleFault } from "@tradewind/local/fault/follow-fault.ts";
import type { FaultyFleet } from "@tradewind/local/fault/carry-out.ts";
import type { FaultKind } from "@tradewind/local/application/service-fault.ts";
import { describe, expect, it } from "vitest";

/** A fleet whose deploys end when the test says so, or fail. */
function scene(kind: FaultKind, failure?: Error) {
  const [definition] = applicationOf("hotel").services;
  const done: string[] = [];
  const said: string[] = [];
  const deploys: (() => void)[] = [];
  const fleet: FaultyFleet = {
    states: () => [
      { definition: definition!, version: 1, replicasWanted: 1, size: definition!.size, ready: [] },
    ],
    resize: async (_service, { cpuCores }) => void done.push(`resize ${cpuCores}`),
    disturb: (_service, { cpuRatio }) => void done.push(`disturb ${cpuRatio}`),
    deploy: async (_service, { cpuRatio }) => {
      if (failure !== undefined) throw failure;
      done.push(`deploy ${cpuRatio}`);
      await new Promise<void>((resolve) => deploys.push(resolve));
    },
  };
  const fault = { service: definition!.name, kind, fromSeconds: 10, forSeconds: 5 };
  const times: unknown[] = [];
  let nowMs = 1_000;
  const schedule = scheduleFault(fault, fleet, {
    say: (text) => said.push(text),
    nowMs: () => (nowMs += 1_000),
    onOver: async (_over, time) => {
      times.push(time);
      return "named was 'frontend'";
    },
  });
  return { deploys, done, fault, said, schedule, size: definition!.size, times };
}

describe("a timed fault", () => {
  it("begins at its time and ends at its end, once each", async () => {
    const { done, said, schedule, size, times } = scene("limit");
    for (const atS of [0, 9, 10, 11, 14, 15, 16]) {
      schedule.follow(atS);
      await nextTurn();
    }
    expect(done).toEqual([`resize ${size.cpuCores / 4}`, `resize ${size.cpuCores}`]);
    expect(times).toEqual([{ fromMs: 2_000, toMs: 3_000 }]);
    expect(said.at(-1)).toContain("named was 'frontend'");
  });

  it("keeps nobody waiting for a deploy, and is not ended before it is done", async () => {
    const { deploys, done, schedule } = scene("deploy");
    schedule.follow(10);
    for (const atS of [15, 16]) {
      schedule.follow(atS);
      await nextTurn();
    }
    expect(done).toEqual(["deploy 10"]);
    deploys[0]!();
    await nextTurn();
    schedule.follow(17);
    await nextTurn();
    expect(done).toEqual(["deploy 10", "deploy 1"]);
  });

  it("says what failed instead of ending the run, and does not try again", async () => {
    const { said, schedule } = scene("deploy", new Error("no memory is left"));
    for (const atS of [10, 11, 12]) {
      schedule.follow(atS);
      await nextTurn();
    }
    expect(said.filter((line) => line.includes("no memory is left"))).toHaveLength(1);
  });
});
