import type { Benchmark } from "../benchmark.ts";
import { boutiqueGke, onlineBoutique, platformSweep, sweepPath } from "./recordings.ts";
import { shippedNetwork } from "@tradewind/predictor/models/network/shipped.ts";
import { crossApplication, measureCross } from "./cross.ts";
import { measureLevels } from "./level.ts";
import { heldOutOf, measureUnseen } from "./unseen.ts";

/** Applications of the simulator that sizes and loads not seen are asked of; those of a seed begin at a thousand times it. */
const APPLICATIONS = 24;
const QUICK_APPLICATIONS = 3;
const FIRST_APPLICATION = 830_000;

export const benchmark: Benchmark = {
  summary:
    "error of self-time models: as served window by window, and on configurations and times never seen",
  /** `--served`: only what models say of later windows; `--cross`: only sizes and loads not seen, which needs no recordings. */
  options: { served: { type: "boolean" }, cross: { type: "boolean" } },
  run({ seed, quick, progress, values }) {
    const network = shippedNetwork();
    const applications = Array.from({ length: quick ? QUICK_APPLICATIONS : APPLICATIONS }, (_, i) => {
      if (values["served"] === true) return [];
      progress(`sizes and loads not seen: application ${i + 1}`);
      return crossApplication(network, FIRST_APPLICATION + 1_000 * seed + i);
    });
    const cross = measureCross(applications);
    if (values["cross"] === true) return Promise.resolve({ cross });
    const sweep = sweepPath();
    if (sweep === undefined)
      progress(
        "no sweep of the local platform: set TRADEWIND_SWEEP to the file that `tradewind profile` wrote",
      );
    const recordings = [
      boutiqueGke(),
      onlineBoutique(),
      ...(sweep === undefined ? [] : [platformSweep(sweep)]),
    ];
    const served = recordings.flatMap((recording) => {
      progress(`${recording.name}: later windows`);
      return measureLevels(network, recording);
    });
    if (values["served"] === true) return Promise.resolve({ served });
    const datasets = recordings.flatMap((recording) => {
      progress(`${recording.name}: held out`);
      return measureUnseen(recording, { network, quick });
    });
    const heldout = datasets.map(heldOutOf);
    const missing = sweep === undefined ? ["platform-sweep"] : [];
    return Promise.resolve({ cross, served, heldout, datasets, missing });
  },
};
