import type * as tensorflow from "@tensorflow/tfjs-core";
import { describeError } from "@tradewind/core/values/errors.ts";

export type Tensors = typeof tensorflow;

/** What TensorFlow.js computes with: its native library, WebAssembly, or plain JavaScript. `auto`: the fastest that loads. */
export const ENGINE_CHOICES = ["auto", "node", "wasm", "cpu"] as const;
export type EngineChoice = (typeof ENGINE_CHOICES)[number];
export type Engine = Exclude<EngineChoice, "auto">;

export interface StartedEngine {
  readonly engine: Engine;
  readonly tensors: Tensors;
  /** Why it is not one that was to be tried before; absent when it is the first. */
  readonly problem?: string;
}

/** How each engine is loaded, and under which name TensorFlow.js knows it. Packages need not be installed. */
const LOADERS: Readonly<Record<Engine, { readonly name: string; readonly load: () => Promise<unknown> }>> = {
  node: {
    name: "tensorflow",
    load: async () => {
      const { default: util } = await import("node:util");
      restoreRemovedHelpers(util);
      const native: string = "@tensorflow/tfjs-node";
      await import(native);
    },
  },
  wasm: { name: "wasm", load: async () => import("@tensorflow/tfjs-backend-wasm") },
  cpu: { name: "cpu", load: async () => import("@tensorflow/tfjs-backend-cpu") },
};

const ORDER: Readonly<Record<EngineChoice, readonly Engine[]>> = {
  auto: ["node", "wasm", "cpu"],
  node: ["node", "wasm", "cpu"],
  wasm: ["wasm", "cpu"],
  cpu: ["cpu"],
};

/** Gives tfjs-node 4.22 back what it calls of `node:util`: `isNullOrUndefined` left with Node.js 23. */
export function restoreRemovedHelpers(util: Record<string, unknown>): void {
  util["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
  util["isArray"] ??= Array.isArray;
}

/**
 * Starts the engine that is asked for, else the next that loads.
 * @throws Error when TensorFlow.js is not installed or none of its engines starts
 */
export async function startEngine(choice: EngineChoice): Promise<StartedEngine> {
  const tensors = await loadTensors();
  // No advertisements on standard error, no checks of every operation.
  tensors.enableProdMode();
  const problems: string[] = [];
  for (const engine of ORDER[choice]) {
    const { load, name } = LOADERS[engine];
    try {
      await load();
      if (!(await tensors.setBackend(name))) throw new Error(`TensorFlow.js did not start '${name}'`);
      await tensors.ready();
      return { engine, tensors, ...(problems.length > 0 && { problem: problems.join("; ") }) };
    } catch (error) {
      problems.push(`${engine}: ${describeError(error).slice(0, 300)}`);
    }
  }
  throw new Error(`no engine of TensorFlow.js could be started: ${problems.join("; ")}`);
}

async function loadTensors(): Promise<Tensors> {
  try {
    const tensors = await import("@tensorflow/tfjs-core");
    // Registers the gradients of all operations, which the core alone does not.
    await import("@tensorflow/tfjs-layers");
    return tensors;
  } catch (error) {
    throw new Error(
      "training a teacher needs TensorFlow.js, which is not installed here: npm install in a checkout installs it",
      { cause: error },
    );
  }
}
