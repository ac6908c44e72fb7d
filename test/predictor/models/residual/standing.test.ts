import { seededRng } from "@tradewind/core/values/rng.ts";
import { trainResidual } from "@tradewind/predictor/models/residual/train-residual.ts";
import type { ResidualOutcome } from "@tradewind/predictor/models/residual/train-residual.ts";
import { residualAt, servedRows } from "@tradewind/predictor/models/residual/served-rows.ts";
import type { ServiceWindow } from "@tradewind/predictor/models/residual/served-rows.ts";
import {
  judge,
  LEAST_DEVIATION,
  MOSTLY_TRAINED,
  proofOf,
  Standing,
} from "@tradewind/predictor/models/residual/standing.ts";
import type { Judgement } from "@tradewind/predictor/models/residual/standing.ts";
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

const judgement = (error: number, residual: number, variance = 1): Judgement => ({
  atMs: 0,
  error,
  residual,
  variance: variance - LEAST_DEVIATION ** 2,
});

describe("how much of a residual windows bear out", () => {
  it("is what a prior of one and the windows make likeliest: worked by hand", () => {
    // Σ error·residual = 1 + 1 = 2; 1 + Σ residual² = 3.
    const { gain, weight } = proofOf([judgement(1, 1), judgement(1, 1)]);
    expect(weight).toBeCloseTo(2 / 3, 12);
    expect(gain).toBeCloseTo((2 / 3) * (4 - 2), 12);
    // Errors and residuals count in deviations of chance: with a quarter of the variance 4 + 4 = 8 of 1 + 8.
    expect(proofOf([judgement(1, 1, 0.25), judgement(1, 1, 0.25)]).weight).toBeCloseTo(8 / 9, 12);
  });

  it("is nothing before any window, and where windows say the opposite", () => {
    expect(proofOf([])).toEqual({ weight: 0, gain: 0 });
    expect(proofOf([judgement(-1, 1)])).toEqual({ weight: 0, gain: 0 });
  });

  it("is never more than all of it", () => {
    expect(proofOf(Array.from({ length: 20 }, () => judgement(3, 1))).weight).toBe(1);
  });

  it("is moved by one outlier no further than by three deviations", () => {
    expect(proofOf([judgement(100, 0.1)])).toEqual(proofOf([judgement(3, 0.1)]));
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

describe("which residual is used, and how much of it", () => {
  it("is as much as later windows bear out: less than half when the disturbance is gone", () => {
    const windows = pressedWindows(240);
    const { judgements, model } = train(windows.slice(0, 60));
    const standing = new Standing();
    standing.offer({ hash: "a", model }, judgements);
    const weights = [standing.inUse?.weight ?? 0];
    // From window 100 on memory does nothing any more.
    const changed = pressedWindows(240, (memory) => memory).map((each, at) =>
      at < 100 ? windows[at]! : { ...each, observation: rescaled(each) },
    );
    for (const row of servedRows(changed, 0.95).slice(60)) {
      standing.observe(row);
      weights.push(standing.inUse?.weight ?? 0);
    }
    expect(weights[39]).toBeGreaterThan(MOSTLY_TRAINED);
    expect(weights.at(-1)).toBeLessThan(MOSTLY_TRAINED);
  });

  it("is next to nothing of a residual that says something at random", () => {
    const rows = servedRows(
      pressedWindows(160, () => 1),
      0.95,
    );
    for (let seed = 1; seed <= 20; seed += 1) {
      const standing = new Standing();
      standing.offer({ hash: "r", model: { ...randomResidual(seededRng(seed)), curve: 0 } }, []);
      for (const row of rows) standing.observe(row);
      expect(standing.inUse?.weight ?? 0).toBeLessThan(0.1);
    }
  });

  it("is of the version before where that gains more in the windows that judged both", () => {
    const rows = servedRows(pressedWindows(200), 0.95);
    const good = train(pressedWindows(120)).model;
    const bad = { ...randomResidual(seededRng(5)), version: 2 };
    const standing = new Standing();
    standing.offer(
      { hash: "good", model: good },
      rows.slice(100, 140).map((row) => judge(good, row)),
    );
    standing.offer({ hash: "bad", model: bad }, []);
    for (const row of rows.slice(140)) standing.observe(row);
    expect(standing.inUse?.hash).toBe("good");
  });

  it("is of the newest where that gains more", () => {
    const rows = servedRows(pressedWindows(200), 0.95);
    const good = train(pressedWindows(120)).model;
    const standing = new Standing();
    standing.offer({ hash: "bad", model: randomResidual(seededRng(5)) }, []);
    for (const row of rows.slice(100, 140)) standing.observe(row);
    standing.offer({ hash: "good", model: { ...good, version: 2 } }, []);
    for (const row of rows.slice(140)) standing.observe(row);
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
