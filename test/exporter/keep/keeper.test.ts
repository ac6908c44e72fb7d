import { describe, expect, it } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { StateFile } from "@tradewind/exporter/keep/state-file.ts";
import { until } from "../until.ts";

/** A disk whose writes end when the test says so. */
class HeldStateFile extends StateFile {
  readonly written: (readonly string[])[] = [];
  readonly pending: PromiseWithResolvers<void>[] = [];

  override async save(records: readonly string[]): Promise<void> {
    const write = Promise.withResolvers<void>();
    this.pending.push(write);
    await write.promise;
    this.written.push(records);
  }
}

function keeperOf(file: StateFile | undefined) {
  const events: string[] = [];
  const keeper = new StateKeeper(file, {
    clock: systemClock,
    log: createLog("test", "silent"),
    counter: { stateEvent: (event) => events.push(event) },
  });
  return { keeper, events };
}

describe("the keeper", () => {
  it("waits for the disk only so long, writes one state at a time and then the newest", async () => {
    const file = new HeldStateFile("/nowhere");
    const { keeper, events } = keeperOf(file);
    for (const state of ["a", "b", "c"]) await keeper.save([state], 5);
    expect(file.pending).toHaveLength(1);
    file.pending[0]!.resolve();
    await until("the second write", () => file.pending.length === 2);
    file.pending[1]!.resolve();
    await keeper.flush();
    expect(file.written).toEqual([["a"], ["c"]]);
    expect(events).toEqual(["saved", "saved"]);
  });

  it("goes on in memory when the disk refuses, says why, and forgets the trouble once it is over", async () => {
    const file = new HeldStateFile("/nowhere");
    const { keeper, events } = keeperOf(file);
    const first = keeper.save(["a"], 10_000);
    file.pending[0]!.reject(new Error("no space left on device"));
    await first;
    expect(keeper.problem).toBe("no space left on device");
    const second = keeper.save(["b"], 10_000);
    file.pending[1]!.resolve();
    await second;
    expect(keeper.problem).toBeUndefined();
    expect(events).toEqual(["save-failed", "saved"]);
  });

  it("without a directory keeps nothing and complains of nothing", async () => {
    const { keeper, events } = keeperOf(undefined);
    await keeper.save(["a"], 10_000);
    expect(await keeper.load()).toEqual([]);
    expect([events, keeper.problem]).toEqual([[], undefined]);
  });
});
