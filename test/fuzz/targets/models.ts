import { TradewindError } from "@tradewind/core/values/errors.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { checksumOf } from "@tradewind/predictor/models/model-text.ts";
import { emptyProfile, predictOwnTime, track } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { OwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { Surroundings } from "@tradewind/predictor/models/residual/inputs.ts";
import { BOUND, ServedResidual } from "@tradewind/predictor/models/residual/residual.ts";
import { readResidual, writeResidual } from "@tradewind/predictor/models/residual/residual-model.ts";
import { trainResidual } from "@tradewind/predictor/models/residual/train-residual.ts";
import { pressedWindows } from "../../predictor/models/residual/pressed-service.ts";
import { attempt, expect, jsonText, never } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget, valueTarget } from "./kinds.ts";

const WINDOWS = pressedWindows(60, (memory) => 1 + 8 * Math.max(0, memory - 0.7), 65);
const TRACKED = WINDOWS.reduce((state, { observation }) => track(state, observation), emptyProfile());

/** Files of trained residuals. */
const RESIDUALS = [1, 2].map((seed) => {
  const job = { namespace: "shop", service: "cart", windows: WINDOWS, version: seed, nowMs: 5, seed };
  const outcome = trainResidual({ ...job, percentile: 0.95 }, seededRng(seed));
  if (outcome.kind !== "trained") throw new Error(`a residual to start from: ${JSON.stringify(outcome)}`);
  return writeResidual(outcome.model);
});

/** Surroundings, sizes and loads as they come, and as they never should. */
const PLACES: readonly (readonly [cpuCores: number | undefined, load: number, surroundings: Surroundings])[] =
  [
    [1, 65, { memoryRatio: 0.8, interference: [0.1, 0.2, 0.1, 0.3] }],
    [undefined, 0, { memoryRatio: Number.NaN, interference: [] }],
    [1e-6, 1e9, { memoryRatio: Number.MAX_VALUE, interference: [-1, Infinity, Number.NaN, 2] }],
  ];

function useResidual(text: string): void {
  const model = attempt(() => readResidual(text), never);
  if (model === undefined || model instanceof TradewindError) return;
  expect(
    !(readResidual(writeResidual(model)) instanceof TradewindError),
    "round-trip",
    () => "what was read cannot be read again",
  );
  const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  for (const [cpuCores, loadPerContainer, surroundings] of PLACES) {
    const place = { cpuCores, loadPerContainer };
    predictOwnTime(TRACKED, place, 0.95, out);
    const log =
      attempt(() => new ServedResidual(model, TRACKED, surroundings, 0.95).apply(place, out), never) ??
      Number.NaN;
    expect(Math.abs(log) <= BOUND, "number", () => `a residual of ${log}`);
    expect(out.tailSeconds > 0, "seconds", () => `a tail of ${out.tailSeconds} s`);
  }
}

const bodies: unknown[] = RESIDUALS.map((text) => (JSON.parse(text) as { model: unknown }).model);
const { schema } = JSON.parse(RESIDUALS[0] ?? "") as { schema: string };

export const MODEL_TARGETS: readonly Target[] = [
  // A file whose checksum is right and whose content was changed: what a bug of our own could write.
  valueTarget("models/residual-values", bodies, (model) => {
    let checksum: string;
    try {
      checksum = checksumOf(model);
    } catch {
      // Infinities and what nests too deep have no canonical text, so no checksum either.
      return;
    }
    useResidual(jsonText({ schema, checksum, model }) ?? "");
  }),
  textTarget("models/residual-text", RESIDUALS, useResidual, { words: ['"spans"', "null", "[", "1e999"] }),
];
