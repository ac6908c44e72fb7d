/** Parts of a run, in order. */
export const PHASE_NAMES = ["warmup", "calm", "surge", "interference", "recovery"] as const;
export type PhaseName = (typeof PHASE_NAMES)[number];

/** Where each phase ends, as a share of the run: 20, 45, 95, 130 and 150 s of 150. */
const ENDS: Readonly<Record<PhaseName, number>> = {
  warmup: 20 / 150,
  calm: 45 / 150,
  surge: 95 / 150,
  interference: 130 / 150,
  recovery: 1,
};

export interface Phase {
  readonly name: PhaseName;
  /** Seconds since the start of the run. */
  readonly fromS: number;
  readonly toS: number;
}

/** The phases of a run of `durationS` seconds, back to back. */
export function phasesOf(durationS: number): readonly Phase[] {
  let fromS = 0;
  return PHASE_NAMES.map((name) => {
    const phase = { name, fromS, toS: ENDS[name] * durationS };
    fromS = phase.toS;
    return phase;
  });
}

/** The phase that holds a time of a run; a run that goes on starts again from the first. */
export function phaseAt(phases: readonly Phase[], atS: number): Phase {
  const durationS = phases.at(-1)?.toS ?? 0;
  const withinS = durationS > 0 ? atS % durationS : 0;
  const found = phases.find(({ toS }) => withinS < toS) ?? phases.at(-1);
  if (found === undefined) throw new RangeError("a run has at least one phase");
  return found;
}
