/** `npm run -s bench -- engines --json`: which engines of TensorFlow.js load, and how long an update of a TD3 teacher takes with each. */
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { startEngine } from "@tradewind/simulator/teacher/td3/engine.ts";
import type { Shape } from "@tradewind/simulator/teacher/td3/networks.ts";
import type { Transition } from "@tradewind/simulator/teacher/td3/replay.ts";
import { newTd3, Td3 } from "@tradewind/simulator/teacher/td3/td3.ts";
import { ACTIONS, GLOBALS, LOCALS } from "@tradewind/simulator/teacher/teacher-state.ts";
import type { TeacherState } from "@tradewind/simulator/teacher/teacher-state.ts";
import type { Benchmark } from "../benchmark.ts";

const SERVICES = 6;
const LAYERS = [400, 300];
const BATCH = 256;
const SHAPES: readonly Shape[] = [
  { kind: "flat", layers: LAYERS, services: SERVICES },
  { kind: "shared", layers: LAYERS },
];

const drawn = (length: number, rng: Rng): Float32Array => Float32Array.from({ length }, () => rng());

function transition(rng: Rng): Transition {
  const state = (): TeacherState => ({
    services: Array.from({ length: SERVICES }, (_, i) => String(i)),
    locals: drawn(SERVICES * LOCALS, rng),
    globals: drawn(GLOBALS, rng),
  });
  return {
    state: state(),
    actions: drawn(SERVICES * ACTIONS, rng),
    reward: rng(),
    next: state(),
    isEnd: false,
  };
}

export const benchmark: Benchmark = {
  summary:
    "engines of TensorFlow.js: which load, and how long an update of a TD3 teacher takes (400-300, batch 256)",
  async run({ progress, quick, seed }) {
    const engines = [];
    for (const asked of ["node", "wasm", "cpu"] as const) {
      const { engine, problem, tensors } = await startEngine(asked);
      if (engine !== asked) {
        engines.push({ engine: asked, loads: false, problem });
        continue;
      }
      for (const shape of SHAPES) {
        const rng = seededRng(seed);
        const td3 = new Td3(tensors, shape, newTd3(shape, rng));
        const batch = Array.from({ length: BATCH }, () => transition(rng));
        const updates = quick || asked === "cpu" ? 2 : 10;
        td3.update(batch, rng);
        const beganMs = performance.now();
        for (let update = 0; update < updates; update += 1) td3.update(batch, rng);
        const updateMs = (performance.now() - beganMs) / updates;
        engines.push({ engine, loads: true, shape: shape.kind, updateMs });
        progress(JSON.stringify(engines.at(-1)));
      }
    }
    return { layers: LAYERS, batch: BATCH, services: SERVICES, engines };
  },
};
