import { FlowRecord, ROWS_PER_FLOW, SERVICES_PER_FLOW } from "@tradewind/predictor/learning/flow-record.ts";
import type { ServicesRow } from "@tradewind/predictor/learning/flow-record.ts";
import { describe, expect, it } from "vitest";

/** A window with these own tails; services without one took part unmeasured. */
function row(at: number, tails: Readonly<Record<string, number | undefined>>): ServicesRow {
  const services = Object.keys(tails);
  const ownTails = Float64Array.from(services, (name) => tails[name] ?? Number.NaN);
  return {
    services,
    members: services,
    row: { atMs: 1_000 * at, ownTails, priorSeconds: 2, tailSeconds: 3 },
  };
}

const tailsOf = (record: FlowRecord, services: readonly string[]): number[][] =>
  record.rowsToTrainOn(services).map(({ ownTails }) => [...ownTails]);

describe("the record of a flow", () => {
  it("gives back its rows oldest first, with the own tails in the order asked for", () => {
    const record = new FlowRecord();
    record.observe(row(5, { a: 0.5, b: 0.25 }));
    record.observe(row(6, { a: 1, b: 0.125 }));
    record.recall(row(4, { a: 2, b: 4 }));
    expect(record.rowsToTrainOn(["b", "a"])).toEqual([
      { atMs: 4_000, ownTails: Float64Array.of(4, 2), priorSeconds: 2, tailSeconds: 3 },
      { atMs: 5_000, ownTails: Float64Array.of(0.25, 0.5), priorSeconds: 2, tailSeconds: 3 },
      { atMs: 6_000, ownTails: Float64Array.of(0.125, 1), priorSeconds: 2, tailSeconds: 3 },
    ]);
    expect([record.rows, record.rowsSeen, record.rowsAfter(4_500)]).toEqual([3, 3, 2]);
  });

  it("does not know the own tail of a service in windows in which it was not there or not measured", () => {
    const record = new FlowRecord();
    record.observe(row(1, { a: 1, b: undefined }));
    record.observe(row(2, { a: 1, b: 2 }));
    record.observe(row(3, { a: 1, c: 3 }));
    expect(tailsOf(record, ["a", "b", "c"])).toEqual([
      [1, Number.NaN, Number.NaN],
      [1, 2, Number.NaN],
      [1, Number.NaN, 3],
    ]);
  });

  it("lets the oldest row make room, and with it the services that only it had", () => {
    const record = new FlowRecord();
    record.observe(row(0, { a: 1, gone: 1 }));
    for (let at = 1; at < ROWS_PER_FLOW; at += 1) record.observe(row(at, { a: 1 }));
    expect(record.services).toEqual(["a", "gone"]);
    record.observe(row(ROWS_PER_FLOW, { a: 2 }));
    expect(record.services).toEqual(["a"]);
    expect([record.rows, record.rowsSeen]).toEqual([ROWS_PER_FLOW, ROWS_PER_FLOW + 1]);
    const rows = record.rowsToTrainOn(["a"]);
    expect([rows[0]!.atMs, rows.at(-1)!.atMs]).toEqual([1_000, 1_000 * ROWS_PER_FLOW]);
    record.recall(row(-1, { a: 9 }));
    expect(record.rowsToTrainOn(["a"])[0]!.atMs).toBe(1_000);
  });

  it("trains on the services known in a tenth of its rows, and on the model's as long as they are known", () => {
    const record = new FlowRecord();
    for (let at = 0; at < 40; at += 1) {
      record.observe(row(at, { a: 1, ...(at % 5 === 0 && { often: 1 }), ...(at === 7 && { once: 1 }) }));
    }
    expect(record.servicesToTrainOn()).toEqual(["a", "often"]);
    expect(record.servicesToTrainOn(["once", "never"])).toEqual(["a", "often", "once"]);
  });

  it("keeps a bounded number of services, those that took part last", () => {
    const record = new FlowRecord();
    for (let at = 0; at < 3 * SERVICES_PER_FLOW; at += 1) record.observe(row(at, { [`s${at}`]: 1 }));
    expect(record.services).toHaveLength(SERVICES_PER_FLOW);
    expect(record.services).toContain(`s${3 * SERVICES_PER_FLOW - 1}`);
    expect(record.services).not.toContain("s0");
  });
});
