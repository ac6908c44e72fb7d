import { Application } from "@tradewind/core/contract/application.ts";
import { readPeriod } from "@tradewind/predictor/report/read-period.ts";
import type { WindowQuery } from "@tradewind/predictor/store/window-store.ts";
import { MemoryStore } from "@tradewind/simulator/contenders/ours/memory-store.ts";
import { describe, expect, it } from "vitest";

const application = Application.parse({ entry: "frontend", objective: { milliseconds: 200 } });

/** An empty store that notes which times are read, and refuses more than there can be. */
class ReadTimes extends MemoryStore {
  readonly times: [number, number][] = [];

  override windows({ fromMs, toMs }: WindowQuery): [] {
    if (this.times.length === 10) throw new Error("read without an end");
    this.times.push([fromMs, toMs]);
    return [];
  }
}

describe("readPeriod", () => {
  it("reads each moment once, in slices of ten minutes", async () => {
    const store = new ReadTimes();
    expect(await readPeriod(store, application, { fromMs: 1_000, toMs: 1_501_000 })).toBeUndefined();
    expect(store.times).toEqual([
      [1_000, 601_000],
      [601_000, 1_201_000],
      [1_201_000, 1_501_000],
    ]);
  });

  it("ends for times so large that ten minutes later is the same number", async () => {
    const store = new ReadTimes();
    await readPeriod(store, application, { fromMs: 1e22, toMs: 1.0000000000000002e22 });
    expect(store.times.length).toBeLessThan(10);
  });
});
