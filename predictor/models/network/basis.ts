import type { Demands } from "../queue/own-time.ts";
import { emptyProfile, isCalibrated } from "../queue/tracked-profile.ts";
import { track } from "../queue/track.ts";
import type { ProfileState } from "../queue/tracked-profile.ts";
import type { Surroundings } from "./surroundings.ts";
import { askCurves, demandsIn, emptyCurves } from "./curve.ts";
import type { Surface } from "./place-inputs.ts";
import { anchorsAfter, hasTime, logsOf, NO_ANCHORS, surpriseOf, writeWindow } from "./window-inputs.ts";
import type { Anchors, LastPlace, NetworkWindow } from "./window-inputs.ts";

/** What the network's inputs are made from: all of what is carried from window to window that takes no weights. */
export interface Basis {
  readonly profile: ProfileState;
  readonly anchors: Anchors;
  readonly last: LastPlace | undefined;
  readonly surroundings: Surroundings;
}

export const EMPTY_BASIS: Basis = {
  profile: emptyProfile(),
  anchors: NO_ANCHORS,
  last: undefined,
  surroundings: { memoryRatio: Number.NaN, interference: [] },
};

const curves = emptyCurves();

/** What of a window has been worked out before. */
interface KnownOfWindow {
  /** Of the profile before it. */
  readonly demands?: readonly Demands[] | undefined;
  /** After it. */
  readonly profile?: ProfileState | undefined;
}

/** @param inputs gets what the first layer sees of the window */
export function basisAfter(
  basis: Basis,
  window: NetworkWindow,
  inputs: Float64Array,
  {
    demands = demandsIn(basis.profile),
    profile: profileAfter = track(basis.profile, window.observation),
  }: KnownOfWindow = {},
): Basis {
  const { last, profile } = basis;
  const { observation, surroundings } = window;
  const logs = logsOf(observation);
  const place = { cpuCores: observation.cpuCores, loadPerContainer: observation.loadPerContainer ?? 0 };
  askCurves(profile, demands, place, curves);
  const anchors = anchorsAfter(basis.anchors, logs, surpriseOf(profile, logs, curves));
  writeWindow({ window, logs, anchors, last, profile, curves }, inputs);
  return {
    profile: profileAfter,
    anchors,
    last: { load: logs.load, cores: logs.cores },
    surroundings,
  };
}

/** Whether enough was seen to answer. */
export const isReady = ({ anchors, profile }: Basis): boolean => hasTime(anchors) && isCalibrated(profile);

export const surfaceOf = ({ anchors, profile, surroundings }: Basis): Surface => ({
  anchors,
  isCalibrated: isCalibrated(profile),
  memoryRatio: surroundings.memoryRatio,
  interference: surroundings.interference,
});
