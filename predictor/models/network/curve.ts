import { demandsOf, emptyTimeAnswer, parametersNow, timeOf } from "../queue/own-time.ts";
import type { Demands, Program, TimePlace } from "../queue/own-time.ts";
import { PROGRAMS } from "../queue/profile-state.ts";
import type { ProfileState } from "../queue/profile-state.ts";
import { PARAMETER_COUNT } from "../queue/own-time.ts";
import { HORIZON_SECONDS, seenShare, STATISTICS } from "../queue/tracked-profile.ts";

/** Answers of the queueing curve at one place: the mixture of all kinds of program, then each kind alone. */
export const CURVES = 1 + PROGRAMS.length;

export interface CurveAnswers {
  /** ln of the p95, s. */
  readonly logs: Float64Array;
  /** d ln p95 / d ln cores, <= 0, and / d ln load, >= 0. */
  readonly byCores: Float64Array;
  readonly byLoad: Float64Array;
}

export const emptyCurves = (): CurveAnswers => ({
  logs: new Float64Array(CURVES),
  byCores: new Float64Array(CURVES),
  byLoad: new Float64Array(CURVES),
});

const now = new Float64Array(PARAMETER_COUNT);

/** What a request takes under each kind of program, in the last window. */
export const demandsIn = (profile: ProfileState): Demands[] =>
  PROGRAMS.map((_, i) => demandsOf(parametersNow(profile, i, now)));

const answer = emptyTimeAnswer();
const at: TimePlace = { cpuCores: 0, loadPerContainer: 0, windowSeconds: HORIZON_SECONDS };

/** Writes what the curve says of the p95 at a size and load of one container; allocates nothing. */
export function askCurves(
  profile: ProfileState,
  demands: readonly Demands[],
  place: { readonly cpuCores: number | undefined; readonly loadPerContainer: number },
  out: CurveAnswers,
): void {
  at.cpuCores = place.cpuCores;
  at.loadPerContainer = place.loadPerContainer;
  const cores = place.cpuCores ?? 0;
  const load = place.loadPerContainer;
  const { byCores, byLoad, logs } = out;
  let root = 0;
  let rootByCores = 0;
  let rootByLoad = 0;
  for (let i = 0; i < PROGRAMS.length; i += 1) {
    timeOf(demands[i] as Demands, PROGRAMS[i] as Program, at, STATISTICS[0.95], answer);
    const own = Math.sqrt(answer.seconds);
    const share = seenShare(profile.weights[i] as number);
    root += share * own;
    rootByCores += (share * answer.byCores) / own;
    rootByLoad += (share * answer.byLoad) / own;
    logs[i + 1] = Math.log(answer.seconds);
    byCores[i + 1] = (cores * answer.byCores) / answer.seconds;
    byLoad[i + 1] = (load * answer.byLoad) / answer.seconds;
  }
  logs[0] = 2 * Math.log(root);
  byCores[0] = (cores * rootByCores) / root;
  byLoad[0] = (load * rootByLoad) / root;
}
