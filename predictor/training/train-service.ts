import type { Rng } from "@tradewind/core/rng.ts";
import type { ProfileModel, Switches } from "../profile/model.ts";
import { PriorProfile } from "../profile/prior-profile.ts";
import { isBetter } from "../profile/replacement.ts";
import { TrainedProfile } from "../profile/trained-profile.ts";
import type { TailPercentile } from "../profile/window-inputs.ts";
import { splitByTime, trainingData } from "./rows.ts";
import type { ObservedWindow, TrainingRow } from "./rows.ts";
import { errorsOf, LEAST_TRAINING_ROWS, settingsFor, trainProfile } from "./train-profile.ts";
import type { TrainSettings } from "./train-profile.ts";

/** Everything one training needs; plain data that crosses to the worker thread. */
export interface TrainingJob {
  readonly namespace: string;
  readonly service: string;
  /** Windows of the service, any order, observed at this percentile. */
  readonly windows: readonly ObservedWindow[];
  readonly percentile: TailPercentile;
  readonly switches: Switches;
  /** The model in use: start of the new one and what it has to beat. */
  readonly current: ProfileModel | undefined;
  readonly nowMs: number;
  readonly seed: number;
  /** In place of what suits the number of rows. */
  readonly settings?: Partial<TrainSettings> | undefined;
}

export type TrainingOutcome =
  | { readonly kind: "replaced"; readonly model: ProfileModel; readonly previousRatio: number | undefined }
  /** What is in use is as good on the later block. */
  | { readonly kind: "kept"; readonly candidateRatio: number; readonly currentRatio: number }
  | { readonly kind: "too-few-rows"; readonly rows: number; readonly needed: number }
  | { readonly kind: "failed"; readonly why: string };

/** Error of what is in use on the judging half of the later block: the model, else the prior alone. */
function currentRatio(job: TrainingJob, later: readonly TrainingRow[], candidate: ProfileModel): number {
  const judging = later.filter((_, i) => i % 2 === 1);
  const profile = job.current === undefined ? new PriorProfile(candidate) : new TrainedProfile(job.current);
  return errorsOf(profile, judging).meanAbsoluteRatio;
}

/**
 * Trains a service's profile from its windows and says whether it takes the place of what is in use: only when its error
 * on half of the later block, which trained neither, is smaller.
 */
export function trainService(job: TrainingJob, rng: Rng): TrainingOutcome {
  const { rows, priorWeight } = trainingData(job.windows);
  const sets = splitByTime(rows);
  const seen = sets.folds.reduce((sum, fold) => sum + fold.length, 0);
  if (seen < LEAST_TRAINING_ROWS || sets.later.length === 0) {
    return { kind: "too-few-rows", rows: rows.length, needed: Math.ceil(LEAST_TRAINING_ROWS / 0.8) };
  }
  const request = {
    namespace: job.namespace,
    service: job.service,
    version: (job.current?.version ?? 0) + 1,
    percentile: job.percentile,
    nowMs: job.nowMs,
    priorWeight,
    sets,
    warmStart: job.current,
  };
  const model = trainProfile(request, { ...settingsFor(seen), switches: job.switches, ...job.settings }, rng);
  const current = currentRatio(job, sets.later, model);
  const candidate = model.errors.meanAbsoluteRatio;
  return isBetter(candidate, current)
    ? { kind: "replaced", model, previousRatio: current }
    : { kind: "kept", candidateRatio: candidate, currentRatio: current };
}
