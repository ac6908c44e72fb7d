import * as tf from "@tensorflow/tfjs-core";
// Registers the gradients of all operations, which the core alone does not.
import "@tensorflow/tfjs-layers";
import { describeError } from "@tradewind/core/errors.ts";
import type { Engine, EngineChoice, StartedEngine } from "./engines.ts";

/** Gives tfjs-node 4.22 back what it calls of `node:util`: `isNullOrUndefined` left with Node.js 23, `isArray` is deprecated. */
export function restoreRemovedHelpers(util: Record<string, unknown>): void {
  util["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
  util["isArray"] ??= Array.isArray;
}

/** How each engine is loaded, and under which name TensorFlow.js knows it. */
const LOADERS: Readonly<Record<Engine, { readonly name: string; readonly load: () => Promise<unknown> }>> = {
  node: {
    name: "tensorflow",
    load: async () => {
      const { default: util } = await import("node:util");
      restoreRemovedHelpers(util);
      // In a variable, since the package need not be installed.
      const native: string = "@tensorflow/tfjs-node";
      await import(native);
    },
  },
  wasm: { name: "wasm", load: async () => import("@tensorflow/tfjs-backend-wasm") },
  cpu: { name: "cpu", load: async () => import("@tensorflow/tfjs-backend-cpu") },
};

/** @returns undefined when the engine runs, else why it does not */
async function problemOf(engine: Engine): Promise<string | undefined> {
  const { load, name } = LOADERS[engine];
  try {
    await load();
    return (await tf.setBackend(name)) ? undefined : `TensorFlow.js did not start its backend '${name}'`;
  } catch (error) {
    return describeError(error).slice(0, 500);
  }
}

const ORDER: Readonly<Record<EngineChoice, readonly Engine[]>> = {
  auto: ["wasm", "cpu"],
  node: ["node", "wasm", "cpu"],
  wasm: ["wasm", "cpu"],
  cpu: ["cpu"],
};

/** Starts the engine that is asked for; where it cannot be started, WebAssembly, and then plain JavaScript. */
export async function startEngine(choice: EngineChoice = "auto"): Promise<StartedEngine> {
  // No advertisements on standard error. The test mode is as quiet, but notes every operation in a list that only grows.
  tf.enableProdMode();
  const problems: string[] = [];
  for (const engine of ORDER[choice]) {
    const problem = await problemOf(engine);
    if (problem !== undefined) {
      problems.push(`${engine}: ${problem}`);
      continue;
    }
    await tf.ready();
    return { engine, ...(problems.length > 0 && { problem: problems.join("; ") }) };
  }
  throw new Error(`no engine of TensorFlow.js could be started: ${problems.join("; ")}`);
}
