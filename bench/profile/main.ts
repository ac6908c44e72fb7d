import type { Benchmark } from "../benchmark.ts";
import { boutiqueGke, onlineBoutique, platformSweep, sweepPath } from "./recordings.ts";
import { measureServed } from "./served.ts";
import { measureUnseen } from "./unseen.ts";

export const benchmark: Benchmark = {
  summary:
    "error of self-time models: as served window by window, and on configurations and times never seen",
  /** `--served`: only what the product's own models say of each window before it. */
  options: { served: { type: "boolean" } },
  run({ seed, quick, progress, values }) {
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
    const served = recordings.map((recording) => {
      progress(`${recording.name}: as served`);
      return measureServed(recording);
    });
    if (values["served"] === true) return Promise.resolve({ served });
    const datasets = recordings.flatMap((recording) => {
      progress(`${recording.name}: held out`);
      return measureUnseen(recording, { seed, quick });
    });
    return Promise.resolve({ served, datasets, missing: sweep === undefined ? ["platform-sweep"] : [] });
  },
};
