import * as tf from "@tensorflow/tfjs-core";
import { restoreRemovedHelpers, startEngine } from "@tradewind/predictor/training/backend.ts";
import { Trainer } from "@tradewind/predictor/training/trainer.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { HAS_NATIVE } from "./engines.ts";

const four = (): number => tf.tidy(() => tf.sum(tf.matMul(tf.ones([2, 2]), tf.eye(2))).dataSync()[0]!);

describe("the engine of training", () => {
  it.each(["auto", "wasm"] as const)("is WebAssembly when %s is asked for", async (choice) => {
    expect(await startEngine(choice)).toEqual({ engine: "wasm" });
    expect([tf.getBackend(), four()]).toEqual(["wasm", 4]);
  });

  it("is plain JavaScript when that is asked for", async () => {
    expect(await startEngine("cpu")).toEqual({ engine: "cpu" });
    expect([tf.getBackend(), four()]).toEqual(["cpu", 4]);
  });

  it.skipIf(HAS_NATIVE)(
    "is WebAssembly, with the reason, when node is asked for and not installed",
    async () => {
      expect(await startEngine("node")).toEqual({
        engine: "wasm",
        problem: expect.stringMatching(/^node: .*@tensorflow\/tfjs-node/) as string,
      });
      expect([tf.getBackend(), four()]).toEqual(["wasm", 4]);
    },
  );

  it.skipIf(!HAS_NATIVE)("is the native library when node is asked for and installed", async () => {
    expect(await startEngine("node")).toEqual({ engine: "node" });
    expect([tf.getBackend(), four()]).toEqual(["tensorflow", 4]);
  });

  it.skipIf(HAS_NATIVE)("reaches the predictor from the thread, with the reason", async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const trainer = new Trainer({ timeoutMs: 60_000, engine: "node", onEngine: resolve });
    onTestFinished(async () => trainer.stop());
    const trained = trainer.trainEndToEnd({
      flow: "GET /",
      percentile: 0.95,
      services: ["a"],
      rows: [],
      current: undefined,
      nowMs: 0,
      seed: 1,
    });
    expect(await promise).toMatchObject({
      engine: "wasm",
      problem: expect.stringContaining("node: ") as string,
    });
    expect(await trained).toMatchObject({ kind: "too-few-rows" });
  });
});

describe("helpers that tfjs-node 4.22 calls", () => {
  it("are supplied where Node.js no longer has them", () => {
    const util: Record<string, unknown> = {};
    restoreRemovedHelpers(util);
    const { isArray, isNullOrUndefined } = util as Record<string, (value: unknown) => boolean>;
    expect([null, undefined, 0, ""].map((value) => isNullOrUndefined!(value))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([[], {}, "a"].map((value) => isArray!(value))).toEqual([true, false, false]);
  });

  it("are left alone where it has them", () => {
    const own = (): boolean => true;
    const util: Record<string, unknown> = { isArray: own };
    restoreRemovedHelpers(util);
    expect(util["isArray"]).toBe(own);
  });
});
