import * as tf from "@tensorflow/tfjs-core";
// Registers the gradients of all operations, which the core alone does not.
import "@tensorflow/tfjs-layers";

/** The engine TensorFlow.js computes with. `node` is the native library, `wasm` WebAssembly, `cpu` plain JavaScript. */
export type Backend = "node" | "wasm" | "cpu";

/** tfjs-node 4.22 calls a helper that Node.js 23 removed from `node:util`. */
async function restoreRemovedHelper(): Promise<void> {
  const { default: util } = (await import("node:util")) as unknown as { default: Record<string, unknown> };
  util["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
}

async function tryNode(): Promise<boolean> {
  const native: string = "@tensorflow/tfjs-node";
  try {
    await restoreRemovedHelper();
    await import(native);
    return await tf.setBackend("tensorflow");
  } catch {
    return false;
  }
}

async function tryWasm(): Promise<boolean> {
  try {
    await import("@tensorflow/tfjs-backend-wasm");
    return await tf.setBackend("wasm");
  } catch {
    return false;
  }
}

/**
 * Starts the fastest engine that works here, in the order node, wasm, cpu.
 * @param wanted tries only this one and the plain one after it
 */
export async function startBackend(wanted?: Backend): Promise<Backend> {
  // No advertisements on standard error. The test mode is as quiet, but notes every operation in a list that only grows.
  tf.enableProdMode();
  const isWanted = (backend: Backend): boolean => wanted === undefined || wanted === backend;
  let started: Backend = "cpu";
  if (isWanted("node") && (await tryNode())) started = "node";
  else if (isWanted("wasm") && (await tryWasm())) started = "wasm";
  else {
    await import("@tensorflow/tfjs-backend-cpu");
    await tf.setBackend("cpu");
  }
  await tf.ready();
  return started;
}
