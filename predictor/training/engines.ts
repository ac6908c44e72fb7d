/** The engine TensorFlow.js computes with. `node` is the native library, `wasm` WebAssembly, `cpu` plain JavaScript. */
export type Engine = "node" | "wasm" | "cpu";

/**
 * Which engine is asked for. `auto` is wasm, else cpu, never node: at the size of these networks the native library takes two to
 * four times as long (docs/profiles.md).
 */
export const ENGINE_CHOICES = ["auto", "node", "wasm", "cpu"] as const;
export type EngineChoice = (typeof ENGINE_CHOICES)[number];

/** The engine that was started. */
export interface StartedEngine {
  readonly engine: Engine;
  /** Why it is not the one that was asked for; absent when it is. */
  readonly problem?: string;
}
