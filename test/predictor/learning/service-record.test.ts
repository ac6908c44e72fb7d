import { seededRng } from "@tradewind/core/rng.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { ServiceRecord } from "@tradewind/predictor/learning/service-record.ts";
import { ServiceEvidence } from "@tradewind/predictor/policy/evidence.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { describe, expect, it } from "vitest";
import { randomModel } from "../profile/random-model.ts";
import { modelledWindow } from "../policy/modelled.ts";
import type { ModelledService } from "../policy/modelled.ts";
import { START_MS, WINDOW_MS } from "../measurements.ts";

const CART: ModelledService = {
  service: "cart",
  replicas: 2,
  cores: 1,
  cpuSecondsPerRequest: 0.02,
  baseSeconds: 0.03,
  requestsPerSecond: 40,
  memoryBytes: 1e9,
  usedBytes: 3e8,
};

const at = (index: number, overrides: Partial<ModelledService> = {}): Window =>
  modelledWindow({ ...CART, ...overrides }, START_MS + index * WINDOW_MS);

/** A record of windows under changing load. */
function recordOf(count: number, overrides: Partial<ModelledService> = {}): ServiceRecord {
  const record = new ServiceRecord();
  for (let index = 0; index < count; index += 1) {
    record.observe(at(index, { requestsPerSecond: 20 + 10 * (index % 5), ...overrides }));
  }
  return record;
}

describe("the record of a service", () => {
  it("takes six pods that are replaced one a window for a deploy once all run the new program", () => {
    const record = new ServiceRecord();
    const rolled = (index: number, fresh: number): Window => ({
      ...at(index, { replicas: 6 }),
      revision: fresh > 0 ? "new" : "old",
      newestRevisionShare: fresh === 0 ? 1 : fresh / 6,
      containers: Array.from({ length: 6 }, (_, pod) => ({ id: `${pod < fresh ? "new" : "old"}-${pod}` })),
    });
    const deploys = [0, 0, 1, 2, 3, 4, 5, 6, 6].map((fresh, index) => {
      record.observe(rolled(index, fresh));
      return record.trainingEvidence(0).lastDeployMs;
    });
    const completed = START_MS + 7 * WINDOW_MS;
    expect(deploys).toEqual([...Array<undefined>(7).fill(undefined), completed, completed]);
  });

  it("takes a restart of its only pod for no deploy where the program is known to be the same", () => {
    const record = new ServiceRecord();
    const one = (index: number, id: string, known: Partial<Window>): Window => ({
      ...at(index),
      ...known,
      containers: [{ id }],
    });
    const same = { revision: "same", newestRevisionShare: 1 };
    record.observe(one(0, "a", same));
    record.observe(one(1, "b", same));
    expect(record.trainingEvidence(0).lastDeployMs).toBeUndefined();
    record.observe(one(2, "c", {}));
    expect(record.trainingEvidence(0).lastDeployMs).toBe(START_MS + 2 * WINDOW_MS);
  });

  it("has a prior from the third window on", () => {
    expect(recordOf(2).evidence("cart")).toBeUndefined();
    expect(recordOf(3).evidence("cart")?.prior?.state.cpuSecondsPerRequest).toBeCloseTo(0.02, 9);
  });

  it("finds the state that the windows were made with, and hardly any error", () => {
    const { prior } = recordOf(30).evidence("cart")!;
    expect(prior!.state.baseSeconds).toBeCloseTo(0.03, 6);
    expect(prior!.errors).toMatchObject({ windows: 24 });
    expect(prior!.errors!.meanAbsoluteRatio).toBeLessThan(1e-6);
    expect(prior!.factors!.lower).toBeCloseTo(1, 6);
  });

  it("judges a profile by a window before it has learnt from it", () => {
    const record = recordOf(10);
    record.observe({ ...at(10), ownLatency: { ...at(10).ownLatency!, p95Seconds: 3 } });
    const { errors } = record.evidence("cart")!.prior!;
    // Ten windows: three without a prior, seven right, and one off by nearly all of it.
    expect(errors!.windows).toBe(8);
    expect(errors!.meanAbsoluteRatio).toBeCloseTo((1 - 0.05 / 3) / 8, 2);
  });

  it("counts a window that is off without bounds as off by its whole tail", () => {
    const record = recordOf(10);
    record.observe({ ...at(10), ownLatency: { ...at(10).ownLatency!, p95Seconds: 1e-6 } });
    expect(record.evidence("cart")!.prior!.errors!.meanAbsoluteRatio).toBeCloseTo(1 / 8, 6);
  });

  it("does not judge by windows of a few calls, nor learn from those without latency, load or CPU", () => {
    const record = recordOf(5);
    const before = record.evidence("cart")!.prior!;
    record.observe({ ...at(5), ownLatency: { ...at(5).ownLatency!, count: 5, p95Seconds: 9 } });
    expect(record.evidence("cart")!.prior!.errors).toEqual(before.errors);
    const { ownLatency: _, ...silent } = at(6);
    record.observe(silent);
    expect(record.rows).toBe(6);
  });

  it("does not judge by windows in which the CPU was used up: their tail says how long that went on", () => {
    const record = recordOf(10);
    const before = record.evidence("cart")!.prior!;
    record.observe(at(10, { requestsPerSecond: 97 }));
    const throttled = { ...at(11), ownLatency: { ...at(11).ownLatency!, p95Seconds: 5 } };
    for (const container of throttled.containers) container.cpuThrottledRatio = 0.6;
    record.observe(throttled);
    expect(record.evidence("cart")!.prior!.errors).toEqual(before.errors);
  });

  it("tells what chance makes of the tail of a few calls from what the profile is off by", () => {
    const record = recordOf(10);
    const few = { ...at(10).ownLatency!, count: 25 };
    for (let index = 10; index < 34; index += 1) {
      const { p95Seconds } = at(index).ownLatency!;
      record.observe({
        ...at(index),
        ownLatency: { ...few, p95Seconds: p95Seconds * (index % 2 === 0 ? 0.85 : 1.2) },
      });
    }
    const { errors } = record.evidence("cart")!.prior!;
    expect(errors!.meanAbsoluteRatio).toBeGreaterThan(0.15);
    expect(errors!.excessRatio).toBe(0);
  });

  it("knows how far off it would have been to say that the tail stays as it was", () => {
    const record = new ServiceRecord();
    const tail = at(0).ownLatency!.p95Seconds;
    for (let index = 0; index < 30; index += 1) {
      const ownLatency = { ...at(index).ownLatency!, count: 1_000_000 };
      record.observe({
        ...at(index),
        ownLatency: { ...ownLatency, p95Seconds: tail * (index % 2 === 0 ? 1 : 3) },
      });
    }
    const { errors } = record.evidence("cart")!.prior!;
    // Smoothed with a share of 0.3 it is 1.82 before a slow window (3: 39 % off), 2.18 before a fast one (1: all of it).
    expect(errors!.persistenceRatio).toBeCloseTo((0.39 + 1) / 2, 2);
    expect(recordOf(30, { requestsPerSecond: 20 }).evidence("cart")!.prior!.errors!.persistenceRatio).toBe(0);
  });

  it("does not hold against a profile what every plan corrects: a factor that stays", () => {
    const record = recordOf(30);
    for (let index = 30; index < 48; index += 1) {
      const { ownLatency } = at(index);
      record.observe({
        ...at(index),
        ownLatency: { ...ownLatency!, p95Seconds: 2.5 * ownLatency!.p95Seconds },
      });
    }
    const { errors } = record.evidence("cart")!.prior!;
    // Its base latency is the median of windows of before for a while: 1 − 1/2.5 too low until then.
    expect(errors!.meanAbsoluteRatio).toBeGreaterThan(0.3);
    expect(errors!.excessRatio).toBeLessThan(0.15);
  });

  it("forgets what is older than the windows it keeps: a deploy shows within minutes", () => {
    const record = recordOf(30);
    for (let index = 30; index < 75; index += 1) record.observe(at(index, { cpuSecondsPerRequest: 0.01 }));
    expect(record.evidence("cart")!.prior!.state.cpuSecondsPerRequest).toBeCloseTo(0.01, 6);
  });

  it("knows the peak of memory once it has been measured for long enough, and only without gaps", () => {
    expect(recordOf(10).evidence("cart")!.memoryPeakBytes).toBeUndefined();
    const record = recordOf(25);
    record.observe(at(25, { usedBytes: 7e8 }));
    record.observe(at(26));
    expect(record.evidence("cart")!.memoryPeakBytes).toBe(7e8);
    const hidden = at(27);
    delete hidden.containers[1]!.memoryWorkingSetBytes;
    record.observe(hidden);
    expect(record.evidence("cart")!.memoryPeakBytes).toBeUndefined();
  });

  it("watches a trained profile, moves its interval by what is measured, and starts anew with the next", () => {
    const record = recordOf(10);
    const model = { ...randomModel(seededRng(3)), interval: { low: -0.1, high: 0.1 } };
    record.use("00000000000000aa", new TrainedProfile(model));
    for (let index = 10; index < 30; index += 1) record.observe(at(index));
    const { trained } = record.evidence("cart")!;
    expect(trained).toMatchObject({ hash: "00000000000000aa", errors: { windows: 20 } });
    expect(trained!.interval).not.toEqual(model.interval);
    record.use("00000000000000bb", new TrainedProfile(model));
    expect(record.evidence("cart")!.trained).toMatchObject({ interval: model.interval });
    expect(record.evidence("cart")!.trained!.errors).toBeUndefined();
  });

  it("fits the contract of a decision's inputs", () => {
    const record = recordOf(30);
    record.use("00000000000000aa", new TrainedProfile(randomModel(seededRng(3))));
    record.observe(at(30));
    const evidence = record.evidence("cart");
    expect(ServiceEvidence.parse(JSON.parse(JSON.stringify(evidence)))).toEqual(evidence);
  });

  it("tells how far the load has been spread", () => {
    expect(recordOf(20, { requestsPerSecond: 40 }).loadSpread()).toBeCloseTo(1, 9);
    expect(recordOf(20).loadSpread()).toBeGreaterThan(2);
  });

  it("takes a service none of whose containers was there before for a new program", () => {
    const record = recordOf(10);
    const renamed = (index: number): Window => {
      const window = at(index);
      for (const container of window.containers) container.id = `new-${container.id}`;
      return window;
    };
    expect(record.trainingEvidence(0)).toMatchObject({ lastDeployMs: undefined });
    record.observe(renamed(10));
    record.observe(renamed(11));
    expect(record.trainingEvidence(0)).toMatchObject({
      lastDeployMs: START_MS + 10 * WINDOW_MS,
      rowsSinceDeploy: 2,
      rows: 12,
    });
  });

  it("takes one more or one fewer container for the same program", () => {
    const record = recordOf(5);
    record.observe(at(5, { replicas: 4 }));
    record.observe(at(6, { replicas: 1 }));
    expect(record.trainingEvidence(0).lastDeployMs).toBeUndefined();
  });

  it("has its state at once when it is given the windows of the past, newest first", () => {
    const record = new ServiceRecord();
    for (let index = 60; index >= 0; index -= 1) record.recall(at(index));
    expect(record.rows).toBe(61);
    const { prior } = record.evidence("cart")!;
    expect(prior!.state.cpuSecondsPerRequest).toBeCloseTo(0.02, 9);
    expect(prior!.errors).toBeUndefined();
  });
});
