import { Application } from "@tradewind/core/contract/application.ts";
import { PeriodReader } from "@tradewind/predictor/answers/report/read-period.ts";
import { MemoryStore } from "../../store/memory-store.ts";
import { describe, expect, it } from "vitest";
import { aSet } from "../../store/windows-of.ts";

const application = Application.parse({ entry: "frontend", objective: { milliseconds: 200 } });

const DAY_MS = 86_400_000;

/** A store that notes which times are read of flows: once for each slice of a report. */
class ReadTimes extends MemoryStore {
  readonly times: [number, number][] = [];

  override flows(query: { fromMs: number; toMs: number }) {
    this.times.push([query.fromMs, query.toMs]);
    return super.flows(query);
  }
}

describe("a report of a time", () => {
  it("reads each moment once, in slices of ten minutes from the first window on", async () => {
    const store = new ReadTimes();
    for (let startMs = 31_000; startMs < 1_400_000; startMs += 15_000)
      store.append(aSet(startMs, ["frontend"]));
    expect(
      await new PeriodReader().read(store, application, { fromMs: 1_000, toMs: 1_501_000 }),
    ).toBeDefined();
    expect(store.times).toEqual([
      [31_000, 631_000],
      [631_000, 1_231_000],
      [1_231_000, 1_501_000],
    ]);
  });

  it("of 59 days reads a store of two windows, 58 days apart, twice", async () => {
    const store = new ReadTimes();
    for (const day of [1, 59]) store.append(aSet(day * DAY_MS, ["frontend"]));
    const report = await new PeriodReader().read(store, application, { fromMs: DAY_MS, toMs: 60 * DAY_MS });
    expect(report).toMatchObject({ fromMs: DAY_MS, toMs: 59 * DAY_MS + 15_000 });
    expect(store.times.map(([fromMs]) => fromMs)).toEqual([DAY_MS, 59 * DAY_MS]);
  });

  it("is undefined where nothing is stored, and reads nothing, for times however large", async () => {
    const store = new ReadTimes();
    const time = { fromMs: 1e22, toMs: 1.0000000000000002e22 };
    expect(await new PeriodReader().read(store, application, time)).toBeUndefined();
    expect(store.times).toEqual([]);
  });

  it("is made for one reader at a time", async () => {
    const [reader, store] = [new PeriodReader(), new ReadTimes()];
    store.append(aSet(0, ["frontend"]));
    const first = reader.read(store, application, { fromMs: 0, toMs: DAY_MS });
    await expect(reader.read(store, application, { fromMs: 0, toMs: DAY_MS })).rejects.toMatchObject({
      code: "busy",
    });
    await first;
    expect(await reader.read(store, application, { fromMs: 0, toMs: DAY_MS })).toBeDefined();
  });
});
