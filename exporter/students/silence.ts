/** A predictor makes a plan each window. Without a new one for this many windows the scaler decides by itself. */
const OVERDUE_WINDOWS = 2.5;
/** Less than this is no silence, however short windows are: a predictor that starts again is back by then. s */
const LEAST_SECONDS = 30;

/** How old the newest plan of an application is when it counts as silent. s */
export const overdueSeconds = (windowSeconds: number): number =>
  Math.max(LEAST_SECONDS, OVERDUE_WINDOWS * windowSeconds);
