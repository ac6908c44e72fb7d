import { z } from "zod";

/** Windows of which the planner remembers the measured tails. */
export const RECENT_WINDOWS = 8;

/** Constants of the planner's rungs. */
export const PlannerSettings = z.strictObject({
  /** Mean |predicted − measured| / measured, beyond what chance explains, up to which a prior is believed. */
  priorErrorLimit: z.number().positive().default(0.5),
  /** The same for a trained profile. */
  trainedErrorLimit: z.number().positive().default(0.35),
  /**
   * A prior that is off by more is believed still while that is at most this many times the error of predicting that the tail
   * stays as it was: then the tail is restless, and no profile could tell.
   */
  persistenceMargin: z.number().min(0).default(1.3),
  /** Share of the objective up to which an error of a service's own tail does no harm, whatever its ratio to that tail. */
  harmlessErrorRatio: z.number().min(0).default(0.05),
  /** Windows before an error tells anything. */
  errorWindows: z.number().int().min(1).default(8),
  /**
   * Share of the time that flows spend in services which profiles have to tell: the services that take most of it are
   * needed, those that make up the rest are planned around.
   */
  measurableShare: z.number().gt(0).max(1).default(0.95),
  /** Share of the objective that a missed one is cured down to. */
  aimRatio: z.number().gt(0).max(1).default(0.85),
  /** The same when the tail is at twice the objective and load is on its way: hardly all of it has been seen yet. */
  urgentAimRatio: z.number().gt(0).max(1).default(0.6),
  /**
   * Tail over objective up to which a window is calm: what may be taken back then is decided flow by flow, so one flow that
   * is close to the objective does not keep what others do not need.
   */
  calmRatio: z.number().gt(0).max(1).default(0.9),
  /** Steps are taken back while the predicted tail stays under this share of the objective. */
  slackRatio: z.number().gt(0).max(1).default(0.75),
  /** Share of the objective that steps taken back may add to a tail without slack; only while it is met and calm. */
  freeRatio: z.number().min(0).max(1).default(0.02),
  /** Steps that one plan takes back of a service whose profile is certain; fewer as its interval is wider. */
  stepsBack: z.number().int().min(1).default(40),
  /**
   * Windows that must have been seen before anything is taken back, at most {@link RECENT_WINDOWS}: agents read seldom what was idle, so the first
   * windows of load may still tell of the idle time before.
   */
  windowsBeforeTakingBack: z.number().int().min(0).max(RECENT_WINDOWS).default(RECENT_WINDOWS),
  /** Share of a service's CPU that one plan takes back at most; one replica may always go. */
  shrinkShare: z.number().gt(0).lt(1).default(0.4),
  /**
   * CPU demand over capacity that a service with a profile is raised to at once; under that its profile says what it needs.
   * Without a profile it is raised to `targetUtilisation`.
   */
  raiseUtilisation: z.number().gt(0).lt(1).default(0.75),
  /** Share of the CPU left that the highest demand of the last windows may use after a step is taken back. */
  takeBackUtilisation: z.number().gt(0).lt(1).default(0.6),
  /** Throttled share of periods from which a service's CPU is not lowered. */
  throttledRatioLimit: z.number().min(0).max(1).default(0.2),
  /** A step up that buys less than this share of what is missed is not taken. */
  leastGainRatio: z.number().min(0).lt(1).default(0.003),
  /** Container sizes closer than this to what was wished last stay as they are. */
  deadBandRatio: z.number().min(0).lt(1).default(0.05),
  /** Memory kept over the most that a container ever used. */
  memoryHeadroomRatio: z.number().min(1).default(1.3),
  /** Part of the memory in use from which more is given. */
  memoryFullRatio: z.number().gt(0).max(1).default(0.9),
  /** Windows in a row that may miss the objective in spite of a plan that has been carried out. */
  missesBeforeDistrust: z.number().int().min(1).default(4),
  /** Windows for which a rung that failed so is left out; doubled each time. */
  distrustWindows: z.number().int().min(1).default(12),
  /** How often that may double. */
  distrustDoublings: z.number().int().min(0).default(4),
});
export type PlannerSettings = z.infer<typeof PlannerSettings>;
