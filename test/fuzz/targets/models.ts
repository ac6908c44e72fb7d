import { TradewindError } from "@tradewind/core/errors.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { readAttention, writeAttention } from "@tradewind/predictor/endtoend/attention-file.ts";
import { AttentionResidual } from "@tradewind/predictor/endtoend/attention.ts";
import { FEATURE_COUNT, NETWORK_INPUT_COUNT } from "@tradewind/predictor/profile/inputs.ts";
import { checksumOf } from "@tradewind/predictor/models/model-text.ts";
import { readModel, writeModel } from "@tradewind/predictor/profile/model-file.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { randomInput, randomModel } from "../../predictor/profile/random-model.ts";
import { randomResidual, randomTails } from "../../predictor/endtoend/random-residual.ts";
import { attempt, expect, jsonText, never } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget, valueTarget } from "./kinds.ts";

const rng = seededRng(5);
const PROFILES = [randomModel(rng), randomModel(rng, { ...ALL_ON, prior: false }, 1)].map((model) =>
  writeModel(model),
);
const RESIDUALS = [randomResidual(3, rng), randomResidual(1, rng)].map((model) => writeAttention(model));

/** Inputs of a profile as they come, and as they never should. */
const INPUTS = [
  randomInput(rng),
  randomInput(rng),
  new Float64Array(NETWORK_INPUT_COUNT),
  new Float64Array(NETWORK_INPUT_COUNT).fill(Number.NaN),
  new Float64Array(NETWORK_INPUT_COUNT).fill(Number.MAX_VALUE),
  new Float64Array(NETWORK_INPUT_COUNT).fill(-1),
];

function useProfile(text: string): void {
  const model = attempt(() => readModel(text), never);
  if (model === undefined || model instanceof TradewindError) return;
  expect(
    !(readModel(writeModel(model)) instanceof TradewindError),
    "round-trip",
    () => "what was read cannot be read again",
  );
  const profile = new TrainedProfile(model);
  const gradient = new Float64Array(FEATURE_COUNT + 2);
  for (const input of INPUTS) {
    const seconds = attempt(() => profile.evaluate(input, gradient), never) ?? Number.NaN;
    expect(Number.isFinite(seconds) && seconds > 0, "number", () => `a latency of ${seconds} s`);
    expect(gradient.every(Number.isFinite), "gradient", () => `a gradient of ${gradient.join()}`);
    const { lowerSeconds, upperSeconds } = profile.verdict;
    expect(lowerSeconds <= upperSeconds, "interval", () => `between ${lowerSeconds} and ${upperSeconds} s`);
  }
}

function useResidual(text: string): void {
  const model = attempt(() => readAttention(text), never);
  if (model === undefined || model instanceof TradewindError) return;
  const residual = new AttentionResidual(model);
  const count = model.services.length;
  for (const tails of [
    randomTails(count, seededRng(1)),
    new Float64Array(count),
    new Float64Array(count).fill(Infinity),
  ]) {
    const log = attempt(() => residual.evaluate(tails), never) ?? Number.NaN;
    expect(Number.isFinite(log) && Math.abs(log) <= model.bound, "number", () => `a residual of ${log}`);
  }
}

const SEEDS = { profile: PROFILES, residual: RESIDUALS } as const;
const bodiesOf = (texts: readonly string[]): unknown[] =>
  texts.map((text) => (JSON.parse(text) as { model: unknown }).model);

/** A file whose checksum is right and whose content was changed: what a bug of our own could write. */
function consistent(name: keyof typeof SEEDS, use: (text: string) => void): Target {
  const [first = ""] = SEEDS[name];
  const { schema } = JSON.parse(first) as { schema: string };
  return valueTarget(`models/${name}-values`, bodiesOf(SEEDS[name]), (model) => {
    let checksum: string;
    try {
      checksum = checksumOf(model);
    } catch {
      // Infinities and what nests too deep have no canonical text, so no checksum either.
      return;
    }
    use(jsonText({ schema, checksum, model }) ?? "");
  });
}

export const MODEL_TARGETS: readonly Target[] = [
  consistent("profile", useProfile),
  consistent("residual", useResidual),
  textTarget("models/profile-text", PROFILES, useProfile, { words: ['"checksum"', "null", "[", "1e999"] }),
  textTarget("models/residual-text", RESIDUALS, useResidual, { words: ['"scales"', "null", "[", "1e999"] }),
];
