import { seededRng } from "@tradewind/core/rng.ts";
import { trainResidual } from "@tradewind/predictor/models/residual/train-residual.ts";
import type { ResidualOutcome } from "@tradewind/predictor/models/residual/train-residual.ts";
import { residualAt, servedRows } from "@tradewind/predictor/models/residual/served-rows.ts";
import type { ServiceWindow } from "@tradewind/predictor/models/residual/served-rows.ts";
import { judge, pairedT, Standing } from "@tradewind/predictor/models/residual/standing.ts";
import { describe, expect, it } from "vitest";
import { pressedWindows, randomResidual } from "./pressed-service.ts";

function train(
  windows: readonly ServiceWindow[],
  version = 1,
): Extract<ResidualOutcome, { kind: "trained" }> {
  const job = {
    namespace: "shop",
    service: "cart",
    windows,
    percentile: 0.95,
    version,
    nowMs: 1,
    seed: 1,
  } as const;
  const outcome = trainResidual(job, seededRng(1));
  if (outcome.kind !== "trained") throw new Error(outcome.kind);
  return outcome;
}

describe("a paired test", () => {
  it("is Student's t: worked by hand", () => {
    // Mean 2, deviation √(((1-2)² + (3-2)² + ...)/3) = √(4/3) of four; neighbours alternate, so none counts less.
    expect(pairedT([1, 3, 1, 3])).toBeCloseTo(2 / Math.sqrt(4 / 3 / 4), 12);
    expect(pairedT([0, 0, 0])).toBe(0);
    expect(pairedT([5])).toBe(0);
  });

  it("counts windows that are alike for less than as many", () => {
    const free = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 1 : 3));
    const alike = Array.from({ length: 40 }, (_, i) => (i % 8 < 4 ? 1 : 3));
    expect(pairedT(alike)).toBeLessThan(0.7 * pairedT(free));
  });
});

describe("training a residual", () => {
  it("needs forty windows that say something, counted from the last deploy", () => {
    const windows = pressedWindows(60);
    const job = {
      namespace: "shop",
      service: "cart",
      percentile: 0.95,
      version: 1,
      nowMs: 1,
      seed: 1,
    } as const;
    expect(trainResidual({ ...job, windows: windows.slice(0, 30) }, seededRng(1))).toMatchObject({
      kind: "too-few-rows",
    });
    const deployed = windows.map((each, at) =>
      at === 30 ? { ...each, observation: { ...each.observation, isAfterDeploy: true } } : each,
    );
    expect(trainResidual({ ...job, windows: deployed }, seededRng(1))).toEqual({
      kind: "too-few-rows",
      rows: 30,
    });
  });

  it("is the same bit for bit from the same seed", () => {
    const windows = pressedWindows(60);
    expect(train(windows)).toEqual(train(windows));
  });

  it("learns what memory does to the self time, and takes most of the tracked profile's error away", () => {
    const windows = pressedWindows(200);
    const rows = servedRows(windows, 0.95);
    const later = rows.slice(-40);
    const { model } = train(windows.slice(0, 160));
    const before = later.reduce((sum, { error }) => sum + Math.abs(error), 0) / later.length;
    const after =
      later.reduce((sum, row) => sum + Math.abs(row.error - residualAt(model, row)), 0) / later.length;
    expect(after).toBeLessThan(0.75 * before);
  });

  it("learns next to nothing where the tracked profile knows all", () => {
    const windows = pressedWindows(120, () => 1);
    const rows = servedRows(windows, 0.95);
    const { model } = train(windows);
    const largest = Math.max(...rows.map((row) => Math.abs(residualAt(model, row))));
    expect(largest).toBeLessThan(0.15);
  });
});

describe("which residual is used", () => {
  it("is promoted by later windows only, and taken out again when the disturbance is gone", () => {
    const windows = pressedWindows(200);
    const { judgements, model } = train(windows.slice(0, 60));
    const standing = new Standing();
    const changes: [number, string][] = [];
    const offered = standing.offer({ hash: "a", model }, judgements);
    if (offered !== undefined) changes.push([60, offered]);
    // From window 100 on memory does nothing any more.
    const changed = pressedWindows(200, (memory) => memory).map((each, at) =>
      at < 100 ? windows[at]! : { ...each, observation: rescaled(each) },
    );
    for (const [at, row] of servedRows(changed, 0.95).entries()) {
      if (at < 60) continue;
      const change = standing.observe(row);
      if (change !== undefined) changes.push([at, change]);
    }
    expect(changes.map(([, change]) => change)).toEqual(["promoted", "demoted"]);
    expect(changes[0]![0]).toBeLessThan(80);
    expect(changes[1]![0]).toBeGreaterThan(100);
    expect(changes[1]![0]).toBeLessThan(160);
    expect(standing.inUse).toBeUndefined();
  });

  it("never promotes a residual that says something at random", () => {
    const rows = servedRows(
      pressedWindows(160, () => 1),
      0.95,
    );
    for (let seed = 1; seed <= 20; seed += 1) {
      const standing = new Standing();
      standing.offer({ hash: "r", model: { ...randomResidual(seededRng(seed)), curve: 0 } }, []);
      for (const row of rows) standing.observe(row);
      expect(standing.inUse).toBeUndefined();
    }
  });

  it("returns to the version before where that did better in the same windows", () => {
    const windows = pressedWindows(200);
    const rows = servedRows(windows, 0.95);
    const good = train(windows.slice(0, 120)).model;
    const bad = { ...randomResidual(seededRng(5)), version: 2 };
    const standing = new Standing();
    const proven = rows.slice(100, 140).map((row) => judge(good, row));
    expect(standing.offer({ hash: "good", model: good }, proven)).toBe("promoted");
    const flattered = proven.map((each, at) => ({ ...each, gain: each.gain + 1 + 0.1 * (at % 3) }));
    expect(standing.offer({ hash: "bad", model: bad }, flattered)).toBe("promoted");
    const changes = rows.slice(140).map((row) => standing.observe(row));
    expect(changes.filter((change) => change !== undefined)).toEqual(["demoted"]);
    expect(standing.inUse?.hash).toBe("good");
  });

  it("forgets all at a deploy", () => {
    const windows = pressedWindows(120);
    const { model } = train(windows);
    const standing = new Standing();
    standing.offer(
      { hash: "a", model },
      servedRows(windows, 0.95).map((row) => judge(model, row)),
    );
    expect(standing.inUse?.hash).toBe("a");
    standing.forget();
    expect(standing.inUse).toBeUndefined();
  });
});

/** As it would be without the factor of its memory. */
function rescaled({ observation, surroundings }: ServiceWindow): ServiceWindow["observation"] {
  const factor = surroundings.memoryRatio;
  const { meanSeconds = 0, p50Seconds = 0, p95Seconds = 0, p99Seconds = 0 } = observation;
  return {
    ...observation,
    meanSeconds: meanSeconds / factor,
    p50Seconds: p50Seconds / factor,
    p95Seconds: p95Seconds / factor,
    p99Seconds: p99Seconds / factor,
  };
}
