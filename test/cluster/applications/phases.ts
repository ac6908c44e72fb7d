/** Requests at an even rate for a while, whether earlier ones were answered or not. */
export interface Phase {
  readonly perSecond: number;
  readonly seconds: number;
}

export interface PlacedPhase extends Phase {
  /** From the begin of the run. */
  readonly startSeconds: number;
  /** No other phase has more requests per second. */
  readonly isPeak: boolean;
}

/** The phases of a run, one right after the other. */
export function place(phases: readonly Phase[]): PlacedPhase[] {
  const most = Math.max(...phases.map(({ perSecond }) => perSecond));
  let startSeconds = 0;
  return phases.map((phase) => {
    const placed = { ...phase, startSeconds, isPeak: phase.perSecond === most };
    startSeconds += phase.seconds;
    return placed;
  });
}

export const secondsOf = (phases: readonly Phase[]): number =>
  phases.reduce((sum, { seconds }) => sum + seconds, 0);
