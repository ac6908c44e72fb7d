import { createRequire } from "node:module";
import { startEngine } from "@tradewind/predictor/training/backend.ts";
import { beforeAll, describe } from "vitest";

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The native engine is an optional package: docs/profiles.md says how it is installed. */
export const HAS_NATIVE = isInstalled("@tensorflow/tfjs-node");
if (!HAS_NATIVE) {
  process.stderr.write("\n@tensorflow/tfjs-node is not installed: tests of the engine 'node' are SKIPPED\n");
}

/** The same tests with every engine that can be here. */
export function describeEngines(what: string, tests: () => void): void {
  for (const engine of ["node", "wasm", "cpu"] as const) {
    describe.skipIf(engine === "node" && !HAS_NATIVE)(`${what}, with ${engine}`, () => {
      beforeAll(async () => {
        const started = await startEngine(engine);
        if (started.engine !== engine) throw new Error(started.problem);
      });
      tests();
    });
  }
}
