import {
  KnownStates,
  DECISIONS_COMPARED,
  REWARDS_KEPT,
  retrainingCauses,
} from "@tradewind/core/students/notifier.ts";
import type { RetrainingCause } from "@tradewind/core/students/notifier.ts";
import { Student } from "@tradewind/core/students/student.ts";
import { agrees } from "@tradewind/core/students/train-student.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";
import { LessonBook } from "./lesson-book.ts";
import { lessonsOf, SILENT_WINDOWS, WINDOWS_SEEN } from "./silent-view.ts";
import type { SeenWindow } from "./silent-view.ts";
import type { Bounds } from "@tradewind/core/contract/plan.ts";

/** Fewer lessons teach nothing: 50 windows of four each. */
const LEAST_LESSONS = 200;
/** Nor do fewer than these in which the planner acts. */
const LEAST_ACTING = 10;
/** Least lessons between two trainings: a quarter of an hour at windows of 15 s. */
const REST_LESSONS = 60 * SILENT_WINDOWS.length;
/** Lessons between two looks for a cause: ten windows. */
const LOOK_LESSONS = 10 * SILENT_WINDOWS.length;
/** Lessons that a state's distance is measured to; with them the check takes a tenth of a millisecond. */
const STATES_KNOWN = 200;

/** Why a student is taught now. */
export type TeachingCause = "first" | RetrainingCause;

/** What one service's student has learnt from, and how it does. */
export class Learner {
  readonly #shipped: Float64Array;
  #seen: SeenWindow[] = [];
  #book = new LessonBook();
  #known: KnownStates | undefined;
  #agreed: boolean[] = [];
  #states: (readonly number[])[] = [];
  #own: Float64Array | undefined;
  #student: Student;
  #taughtAt = 0;
  #lookedAt = 0;
  trainings = 0;
  /** When it was last seen, ms; undefined before the first window. */
  lastSeenMs: number | undefined;

  constructor(shipped: Float64Array, own?: Float64Array) {
    this.#shipped = shipped;
    this.#own = own;
    this.#student = new Student(own ?? shipped);
  }

  get own(): Float64Array | undefined {
    return this.#own;
  }

  /** Share of the last hundred moments in which the student in use did as the planner; undefined before there are so many. */
  get agreement(): number | undefined {
    if (this.#agreed.length < DECISIONS_COMPARED) return undefined;
    return this.#agreed.filter((each) => each).length / this.#agreed.length;
  }

  /** Judges the student in use by the window first, then learns from it. @returns the lessons of the window */
  observe(now: SeenWindow, bounds: Bounds): readonly Pair[] {
    const last = this.#seen.at(-1);
    if (last !== undefined && last.reading.atMs >= now.reading.atMs) {
      // Decided once more on the same window, as for a surge.
      this.#seen = [...this.#seen.slice(0, -1), now];
      return [];
    }
    const lessons = lessonsOf(this.#seen, now, bounds);
    this.#seen = [...this.#seen, now].slice(-WINDOWS_SEEN);
    for (const pair of lessons) {
      this.#agreed.push(agrees(this.#student.act(pair.inputs), pair.actions));
      this.#states.push(pair.inputs);
      this.#book.add(pair);
    }
    this.#agreed = this.#agreed.slice(-DECISIONS_COMPARED);
    this.#states = this.#states.slice(-DECISIONS_COMPARED);
    return lessons;
  }

  /** Why it should be taught now; undefined: it should not, or not yet. */
  cause(): TeachingCause | undefined {
    const { acting, added } = this.#book;
    if (added < LEAST_LESSONS || acting < LEAST_ACTING) return undefined;
    if (this.trainings === 0 || this.#known === undefined) return "first";
    if (added - Math.max(this.#taughtAt + REST_LESSONS, this.#lookedAt + LOOK_LESSONS) < 0) return undefined;
    this.#lookedAt = added;
    const [cause] = retrainingCauses(
      { rewards: [], plannerReward: 0, states: this.#states, agreement: this.agreement ?? 1 },
      this.#known,
    );
    return cause;
  }

  /** What it is taught from; from now on it rests. */
  lessons(): Pair[] {
    const lessons = this.#book.all();
    this.#taughtAt = this.#book.added;
    this.#known = new KnownStates(
      lessons.slice(0, -REWARDS_KEPT).map(({ inputs }) => inputs),
      STATES_KNOWN,
    );
    this.trainings += 1;
    return lessons;
  }

  /** @param own absent: the shipped student again */
  take(own: Float64Array | undefined): void {
    this.#own = own;
    this.#student = new Student(own ?? this.#shipped);
    this.#agreed = [];
  }

  /** What was learnt is out of date. */
  forget(): void {
    this.#book = new LessonBook();
    this.#known = undefined;
    this.#states = [];
    this.#taughtAt = 0;
    this.#lookedAt = 0;
    this.take(undefined);
  }
}
