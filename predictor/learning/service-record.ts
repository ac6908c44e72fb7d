import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/main-containers.ts";
import { learntCorrection, shownBy } from "./correction.ts";
import type { RecentErrors, ServiceEvidence } from "../policy/evidence.ts";
import { trackInterval } from "../profile/interval.ts";
import type { IntervalScale } from "../profile/model.ts";
import { chanceOfTail, quantile } from "../profile/order-statistics.ts";
import { priorProfile } from "../profile/prior-profile.ts";
import type { PriorProfile } from "../profile/prior-profile.ts";
import type { Evidence } from "../profile/replacement.ts";
import { estimateState } from "../profile/service-state.ts";
import type { Observation, ServiceState } from "../profile/service-state.ts";
import type { TrainedProfile } from "../profile/trained-profile.ts";
import { allocatedCpuCores, inputsOf, observationOf } from "../profile/window-inputs.ts";
import { STATE_WINDOWS } from "../training/rows.ts";

/** Own tails are learnt and planned with at this percentile; the objective's own comes in with each flow's calibration. */
export const OWN_PERCENTILE = 0.95;

/** Windows over which the error of a profile is taken. */
const ERROR_WINDOWS = 24;
/** Windows over which the spread of load is taken. */
const LOAD_WINDOWS = 240;
/** A window with fewer calls has a tail of its own making. */
const TELLING_CALLS = 20;
/** One window off by more than this counts as this: a disturbance shall not decide alone. */
const MOST_ERROR = 1;
/** Windows before containers' memory is known well enough to take some back. */
const MEMORY_WINDOWS = 20;

/** One window's judgement of a profile. */
interface Judgement {
  /** |predicted − measured| / measured, at most 1. */
  readonly ratio: number;
  /** The same with the correction that a plan would have made, less what chance alone explains. */
  readonly excess: number;
}

/** A trained model in use, and what was learnt about it since. */
interface Trained {
  readonly hash: string;
  readonly profile: TrainedProfile;
  interval: IntervalScale;
  readonly errors: Judgement[];
  /** Measured over predicted, as learnt from the windows that judged it; absent before the first. */
  correction?: number | undefined;
  state: ServiceState | undefined;
}

/**
 * The last windows of one service and what they say of its profiles. Each window first judges the profiles as they were
 * before it, then is learnt from. Bounded; no clock, no I/O.
 */
export class ServiceRecord {
  lastSeenMs = 0;
  /** Usable windows known of, older ones in the store included. */
  rows = 0;
  private readonly observations: Observation[] = [];
  private readonly loads: number[] = [];
  private readonly memoryPeaks: number[] = [];
  private readonly priorErrors: Judgement[] = [];
  private priorCorrection: number | undefined;
  /** What the tail has been like, seconds, and how far off it would have been to say so of the next window. */
  private usualSeconds: number | undefined;
  private readonly persistenceErrors: number[] = [];
  private prior: PriorProfile | undefined;
  private trained: Trained | undefined;
  private containers: ReadonlySet<string> = new Set();
  /** The program that all ready pods ran last; empty where it is only known that it was another one. */
  private revision: string | undefined;
  private replacedMs: number | undefined;
  private rowsSinceReplaced = 0;

  get model(): TrainedProfile | undefined {
    return this.trained?.profile;
  }

  /** Takes a model into use; its errors are counted anew. */
  use(hash: string, profile: TrainedProfile): void {
    const state = estimateState(this.observations, profile.model.priorWeight, profile.inflation);
    this.trained = { hash, profile, interval: profile.model.interval, errors: [], state };
  }

  observe(window: Window): void {
    this.lastSeenMs = window.endMs;
    this.noteDeploy(window);
    keep(this.memoryPeaks, memoryPeak(window), STATE_WINDOWS);
    const observation = observationOf(window, OWN_PERCENTILE);
    if (observation === undefined || !(observation.latencySeconds > 0)) return;
    this.judge(window, observation.latencySeconds);
    keep(this.observations, observation, STATE_WINDOWS);
    keep(this.loads, observation.loadPerContainer / observation.cpuCores, LOAD_WINDOWS);
    this.rows += 1;
    this.rowsSinceReplaced += 1;
    this.prior = priorProfile(this.observations);
    if (this.trained !== undefined) {
      const { inflation, model } = this.trained.profile;
      this.trained.state = estimateState(this.observations, model.priorWeight, inflation);
    }
  }

  /** Counts a window older than all that were observed; of those the newest stand in until there are enough. */
  recall(window: Window): void {
    const observation = observationOf(window, OWN_PERCENTILE);
    if (observation === undefined || !(observation.latencySeconds > 0)) return;
    this.rows += 1;
    if (this.loads.length < LOAD_WINDOWS)
      this.loads.unshift(observation.loadPerContainer / observation.cpuCores);
    if (this.observations.length >= STATE_WINDOWS) return;
    this.observations.unshift(observation);
    this.memoryPeaks.unshift(memoryPeak(window));
    this.prior = priorProfile(this.observations);
  }

  evidence(service: string): ServiceEvidence | undefined {
    const { prior, trained } = this;
    if (prior === undefined) return undefined;
    const peaks = this.memoryPeaks;
    const peak = peaks.length < MEMORY_WINDOWS ? Number.NaN : peaks.reduce((a, b) => Math.max(a, b));
    const priorErrors = recent(this.priorErrors, this.persistenceErrors);
    const trainedErrors = recent(trained?.errors ?? []);
    return {
      service,
      prior: {
        state: prior.state,
        ...(prior.factors && { factors: prior.factors }),
        ...(priorErrors && { errors: priorErrors }),
      },
      ...(trained?.state && {
        trained: {
          hash: trained.hash,
          version: trained.profile.model.version,
          state: trained.state,
          interval: trained.interval,
          trainingRatio: trained.profile.model.errors.meanAbsoluteRatio,
          ...(trainedErrors && { errors: trainedErrors }),
        },
      }),
      ...(Number.isFinite(peak) && { memoryPeakBytes: peak }),
    };
  }

  /** What decides on a new training. */
  trainingEvidence(nowMs: number): Evidence {
    const errors = recent(this.trained?.errors ?? []);
    return {
      nowMs,
      rows: this.rows,
      recentAbsoluteRatio: errors !== undefined && errors.windows >= 8 ? errors.meanAbsoluteRatio : undefined,
      lastDeployMs: this.replacedMs,
      rowsSinceDeploy: this.rowsSinceReplaced,
    };
  }

  /** Load per core at the 95th over that at the 5th percentile of the windows; 1 without any. */
  loadSpread(): number {
    const low = quantile(this.loads, 0.05);
    const high = quantile(this.loads, 0.95);
    return low > 0 && high > 0 ? high / low : 1;
  }

  private judge(window: Window, measuredSeconds: number): void {
    if ((window.ownLatency?.count ?? 0) < TELLING_CALLS || isSaturated(window)) return;
    if (this.usualSeconds !== undefined) {
      const { excess } = judgement(window, this.usualSeconds, measuredSeconds);
      keep(this.persistenceErrors, excess, ERROR_WINDOWS);
    }
    this.usualSeconds = learntCorrection(this.usualSeconds, measuredSeconds);
    if (this.prior !== undefined) {
      const predicted = this.prior.evaluate(inputsOf(window, this.prior.state));
      keep(
        this.priorErrors,
        judgement(window, predicted, measuredSeconds, this.priorCorrection),
        ERROR_WINDOWS,
      );
      this.priorCorrection = corrected(this.priorCorrection, measuredSeconds / predicted);
    }
    const { trained } = this;
    if (trained?.state === undefined) return;
    const { profile } = trained;
    profile.interval = trained.interval;
    const predicted = profile.evaluate(inputsOf(window, trained.state));
    keep(trained.errors, judgement(window, predicted, measuredSeconds, trained.correction), ERROR_WINDOWS);
    trained.correction = corrected(trained.correction, measuredSeconds / predicted);
    trained.interval = trackInterval(
      trained.interval,
      Math.log(measuredSeconds / predicted) / profile.spread,
    );
  }

  /**
   * A rolling update is a deploy once all ready pods run the new revision. Where revisions are not known, a service is
   * deployed when none of its containers ran in the window before.
   */
  private noteDeploy(window: Window): void {
    const isReplaced = this.noteContainers(window);
    const { newestRevisionShare, revision, startMs } = window;
    const isKnown = revision !== undefined && newestRevisionShare !== undefined;
    if (isKnown && newestRevisionShare < 1) {
      this.revision ??= "";
      return;
    }
    const before = this.revision;
    if (isKnown) this.revision = revision;
    const isDeployed = isKnown && before !== undefined ? revision !== before : isReplaced;
    if (!isDeployed) return;
    this.replacedMs = startMs;
    this.rowsSinceReplaced = 0;
  }

  /** @returns whether there are containers, and none of them ran in the window before */
  private noteContainers({ containers }: Window): boolean {
    if (containers.length === 0) return false;
    const known = this.containers;
    this.containers = new Set(containers.map(({ id }) => id));
    return known.size > 0 && !containers.some(({ id }) => known.has(id));
  }
}

/** Use of the allocated CPU, or throttled share of periods, from which a window's tail says how long that went on. */
const SATURATED = { use: 0.9, throttledRatio: 0.4 };

/** In a saturated window a queue builds up or is worked off, so its tail belongs to no size and load: no profile can tell. */
function isSaturated(window: Window): boolean {
  const containers = mainContainers(window);
  let used = 0;
  let allocated = 0;
  let throttled = 0;
  for (const container of containers) {
    used += container.cpuUsageCores ?? 0;
    allocated += allocatedCpuCores(container) ?? 0;
    throttled += container.cpuThrottledRatio ?? 0;
  }
  return used > SATURATED.use * allocated || throttled > SATURATED.throttledRatio * containers.length;
}

function judgement(
  { ownLatency }: Window,
  predictedSeconds: number,
  measuredSeconds: number,
  correction = 1,
): Judgement {
  const errorOf = (seconds: number): number =>
    Math.min(MOST_ERROR, Math.abs(seconds - measuredSeconds) / measuredSeconds);
  const left = errorOf(correction * predictedSeconds);
  return {
    ratio: errorOf(predictedSeconds),
    excess: Math.max(0, left - chanceOfTail(ownLatency?.count ?? 0)),
  };
}

/** The correction a plan would learn, see correction.ts. */
function corrected(before: number | undefined, ratio: number): number | undefined {
  const shown = shownBy(ratio);
  return shown === undefined ? before : learntCorrection(before, shown);
}

function recent(errors: readonly Judgement[], persistence: readonly number[] = []): RecentErrors | undefined {
  if (errors.length === 0) return undefined;
  return {
    windows: errors.length,
    meanAbsoluteRatio: mean(errors.map(({ ratio }) => ratio)),
    excessRatio: mean(errors.map(({ excess }) => excess)),
    ...(persistence.length > 0 && { persistenceRatio: mean(persistence) }),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** NaN where a container was not measured: it then counts as unknown until it has left the windows kept. */
function memoryPeak(window: Window): number {
  const containers = mainContainers(window);
  if (containers.length === 0) return Number.NaN;
  return containers.reduce(
    (most, { memoryWorkingSetBytes = Number.NaN }) => Math.max(most, memoryWorkingSetBytes),
    0,
  );
}

function keep<Value>(values: Value[], next: Value, most: number): void {
  values.push(next);
  if (values.length > most) values.shift();
}
