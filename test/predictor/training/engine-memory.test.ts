import * as tf from "@tensorflow/tfjs-core";
import { seededRng } from "@tradewind/core/rng.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import { startEngine } from "@tradewind/predictor/training/backend.ts";
import { trainService } from "@tradewind/predictor/training/train-service.ts";
import { describe, expect, it } from "vitest";
import { simulatedWindows } from "./processor-sharing.ts";

/** Lengths of all lists that TensorFlow.js keeps for as long as the thread lives. */
const engineLists = (): Record<string, number> =>
  Object.fromEntries(
    Object.entries(tf.engine().state).flatMap(([name, value]) =>
      Array.isArray(value) ? [[name, value.length]] : [],
    ),
  );

describe("the engine of training", () => {
  it("keeps nothing of a training: no list of the engine is longer after it, and no tensor is left", async () => {
    await startEngine();
    const lists = engineLists();
    const { numTensors } = tf.memory();
    const outcome = trainService(
      {
        namespace: "shop",
        service: "cart",
        windows: simulatedWindows([0.5, 1], 100, seededRng(1)),
        percentile: 0.95,
        switches: ALL_ON,
        current: undefined,
        nowMs: 1_700_010_000_000,
        seed: 1,
        settings: { members: 1, spareMembers: 0, maxEpochs: 5 },
      },
      seededRng(1),
    );
    expect(["replaced", "kept"]).toContain(outcome.kind);
    expect(Object.keys(lists)).toContain("numDataMovesStack");
    expect(engineLists()).toEqual(lists);
    expect(tf.memory().numTensors).toBe(numTensors);
  });
});
