import type { Rng } from "@tradewind/core/values/rng.ts";
import type { TeacherState } from "../teacher-state.ts";

/** One step of an episode. Actions: {@link ACTIONS} for each deployment. */
export interface Transition {
  readonly state: TeacherState;
  readonly actions: Float32Array;
  readonly reward: number;
  readonly next: TeacherState;
  /** The episode ended because the application failed, not by its length. */
  readonly isEnd: boolean;
  /** What the planner did in this state; absent where it did not decide. */
  readonly planner?: Float32Array;
}

/** The newest transitions, drawn uniformly. */
export class Replay {
  private readonly capacity: number;
  private readonly kept: Transition[];
  private at = 0;

  constructor(capacity: number, kept: readonly Transition[] = []) {
    this.capacity = capacity;
    this.kept = kept.slice(-capacity);
    this.at = this.kept.length % capacity;
  }

  add(transition: Transition): void {
    this.kept[this.at] = transition;
    this.at = (this.at + 1) % this.capacity;
  }

  get size(): number {
    return this.kept.length;
  }

  draw(count: number, rng: Rng): Transition[] {
    const { at, kept } = this;
    // By age, so that a buffer that was kept in a file draws the same.
    return Array.from(
      { length: count },
      () => kept[(at + Math.floor(rng() * kept.length)) % kept.length] as Transition,
    );
  }

  /** The oldest first. */
  all(): readonly Transition[] {
    return [...this.kept.slice(this.at), ...this.kept.slice(0, this.at)];
  }
}
