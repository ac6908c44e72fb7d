import { describe, expect, it } from "vitest";
import { answer } from "@tradewind/exporter/serve/keda/answer.ts";
import type { ScalerRequest } from "@tradewind/exporter/serve/keda/codec.ts";
import { ServedTable } from "@tradewind/exporter/keep/served-table.ts";
import type { ServedRow } from "@tradewind/exporter/keep/served-table.ts";

const decided = { application: "hotel", replicas: 5, decidedMs: 1_000_000, lifetimeMs: 60_000 };
const row: ServedRow = { namespace: "shop", service: "search", decided };
const asking = (service = "search", namespace = "shop"): ScalerRequest => ({
  name: "so",
  namespace,
  metricName: "m",
  metadata: new Map([["service", service]]),
});

function tableOf(...rows: ServedRow[]): ServedTable {
  const table = new ServedTable();
  table.gather(rows);
  table.putInForce();
  return table;
}

describe("the table that KEDA is answered from", () => {
  it("serves a decision through the last millisecond of its validity, and not one longer", () => {
    const table = tableOf(row);
    expect(answer(asking(), table, 1_060_000)).toEqual({ replicas: 5 });
    expect(answer(asking(), table, 1_060_001)).toMatchObject({
      problem: "unavailable",
      message: expect.stringMatching(
        /is 60 s old and was valid for 60 s: no newer plan names the service$/,
      ) as string,
    });
  });

  it("serves no decision whose age is not known, and says so", () => {
    const restored: ServedRow = { ...row, decided: { ...decided, decidedMs: undefined } };
    expect(answer(asking(), tableOf(restored), 1_000_000)).toMatchObject({
      problem: "unavailable",
      message: expect.stringMatching(/dated in the future, so its age is not known/) as string,
    });
  });

  it("says why there is no newer decision: first the refusal, else what keeps the predictor silent", () => {
    const table = tableOf({ ...row, refusal: "bounds: too few" }, { namespace: "shop", service: "rate" });
    table.predictorProblem = "the predictor sleeps";
    const messageOf = (service: string): unknown => answer(asking(service), table, 2_000_000);
    expect(messageOf("search")).toMatchObject({
      message: expect.stringMatching(/: bounds: too few$/) as string,
    });
    for (const service of ["rate", "nobody"])
      expect(messageOf(service)).toMatchObject({
        message: expect.stringMatching(/the predictor sleeps$/) as string,
      });
  });

  it("keeps what is in force until the next table is, and nothing of it then", () => {
    const table = tableOf(row, { ...row, service: "rate" });
    table.gather([{ ...row, decided: { ...decided, replicas: 9 } }]);
    expect(answer(asking(), table, 1_000_000)).toEqual({ replicas: 5 });
    table.putInForce();
    expect(answer(asking(), table, 1_000_000)).toEqual({ replicas: 9 });
    expect(table.find("shop", "rate")).toBeUndefined();
  });

  it.each([
    ["search ", "search "],
    ["\u00a0search", "\u00a0search"],
    [" search\n", "search"],
    ["search\u00a0", "search"],
  ])("finds the service asked for as %j under its name %j", (asked, name) => {
    const table = tableOf({ ...row, service: name }, { ...row, service: "rate" });
    expect(answer(asking(asked), table, 1_000_000)).toEqual({ replicas: 5 });
  });

  it("takes a name of nothing but blanks for none", () => {
    for (const blank of ["", " ", "\u00a0\t"]) {
      expect(answer(asking(blank), tableOf(row), 1_000_000)).toMatchObject({ problem: "invalid-argument" });
    }
  });

  it.each(["__proto__", "constructor"])("knows no '%s' that nobody put there", (name) => {
    expect(tableOf(row).find(name, name)).toBeUndefined();
    expect(tableOf(row).find("shop", name)).toBeUndefined();
  });
});
