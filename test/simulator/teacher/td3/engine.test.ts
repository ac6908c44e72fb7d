import * as tf from "@tensorflow/tfjs-core";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { restoreRemovedHelpers, startEngine } from "@tradewind/simulator/teacher/td3/engine.ts";

const hasNative = (): boolean => {
  try {
    createRequire(import.meta.url).resolve("@tensorflow/tfjs-node");
    return true;
  } catch {
    return false;
  }
};

const four = (): number => tf.tidy(() => tf.sum(tf.matMul(tf.ones([2, 2]), tf.eye(2))).dataSync()[0]!);

describe("the engine of a teacher's training", () => {
  it.each(["wasm", "cpu"] as const)("is %s when that is asked for", async (choice) => {
    expect(await startEngine(choice)).toMatchObject({ engine: choice });
    expect([tf.getBackend(), four()]).toEqual([choice, 4]);
  });

  it.skipIf(hasNative())(
    "is WebAssembly, with the reason, where the native library is not installed",
    async () => {
      const { engine, problem } = await startEngine("auto");
      expect(engine).toBe("wasm");
      expect(problem).toMatch(/^node: .*@tensorflow\/tfjs-node/);
    },
  );

  it("gets the helpers back that tfjs-node 4.22 calls and Node.js 23 no longer has", () => {
    const util: Record<string, unknown> = { isArray: "its own" };
    restoreRemovedHelpers(util);
    const isNothing = util["isNullOrUndefined"] as (value: unknown) => boolean;
    expect([null, undefined, 0, ""].map((value) => isNothing(value))).toEqual([true, true, false, false]);
    expect(util["isArray"]).toBe("its own");
  });
});
