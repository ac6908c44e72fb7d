import type { Rng } from "@tradewind/core/values/rng.ts";
import { agreementOf, isActing, trainStudent } from "@tradewind/core/students/train-student.ts";
import type { Agreement, Pair } from "@tradewind/core/students/train-student.ts";

/** Lessons of one service, and by what it is decided now. */
export interface StudentJob {
  readonly service: string;
  /** The oldest first. */
  readonly lessons: readonly Pair[];
  /** The student that a release ships with. */
  readonly shipped: Float64Array;
  /** The service's own; absent where the shipped one is in use. */
  readonly own?: Float64Array;
  readonly seed: number;
}

export type StudentOutcome =
  | {
      readonly kind: "taught";
      /** The best of the new student, the one in use and the shipped one; absent: the shipped one. */
      readonly own?: Float64Array;
      readonly isNew: boolean;
      /** Of it, on the lessons that were held back. */
      readonly heldBack: Agreement;
    }
  | { readonly kind: "failed"; readonly why: string };

/** The newest share of the lessons judges, and nobody learns from it. */
const HELD_BACK = 0.2;
const EPOCHS = 60;

/**
 * Teaches a service's student further by the decisions of its own deployment. It is taken only if on the newest lessons, which it
 * did not learn from, it agrees no less than the shipped student, in all moments and in those in which the planner acts.
 */
export function learnStudent({ lessons, own, shipped }: StudentJob, rng: Rng): StudentOutcome {
  const cut = Math.floor((1 - HELD_BACK) * lessons.length);
  const [training, heldBack] = [lessons.slice(0, cut), lessons.slice(cut)];
  if (training.length === 0) return { kind: "failed", why: "there are too few lessons" };
  const made = trainStudent(training, { epochs: EPOCHS, rng, start: own ?? shipped });
  const floor = agreementOf(shipped, heldBack);
  let best: { readonly own?: Float64Array; readonly isNew: boolean; readonly heldBack: Agreement } = {
    isNew: false,
    heldBack: floor,
  };
  for (const candidate of own === undefined ? [made] : [own, made]) {
    const judged = agreementOf(candidate, heldBack);
    if (isNoWorse(judged, floor) && scoreOf(judged, heldBack) > scoreOf(best.heldBack, heldBack))
      best = { own: candidate, isNew: candidate === made, heldBack: judged };
  }
  return { kind: "taught", ...best };
}

const isNoWorse = (a: Agreement, b: Agreement): boolean =>
  a.agreement >= b.agreement && (a.agreementWhenActing ?? 1) >= (b.agreementWhenActing ?? 1);

/** Agreement over all moments and over those in which the planner acts, evenly; the squared error decides between equals. */
function scoreOf({ agreement, agreementWhenActing, mse }: Agreement, pairs: readonly Pair[]): number {
  const acting = pairs.some((pair) => isActing(pair)) ? (agreementWhenActing ?? 0) : agreement;
  return agreement + acting - 1e-6 * mse;
}
