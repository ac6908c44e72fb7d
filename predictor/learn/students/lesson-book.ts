import { ACTIONS, INPUTS } from "@tradewind/core/students/student.ts";
import { isActing } from "@tradewind/core/students/train-student.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";

/** Lessons kept of moments in which the planner keeps what is: six hours at four lessons a window of 15 s would be 5,760. */
const MOST_KEEPING = 1_500;
/** Of those in which it acts, which are far fewer, so that these stay longer. */
const MOST_ACTING = 500;
const NUMBERS = INPUTS + ACTIONS;

/** A ring of lessons in two flat arrays: 40 bytes each. */
class Ring {
  readonly #values: Float32Array;
  readonly #order: Float64Array;
  readonly #most: number;
  #added = 0;

  constructor(most: number) {
    this.#most = most;
    this.#values = new Float32Array(most * NUMBERS);
    this.#order = new Float64Array(most);
  }

  get size(): number {
    return Math.min(this.#added, this.#most);
  }

  add({ actions, inputs }: Pair, order: number): void {
    const at = this.#added % this.#most;
    this.#values.set(inputs, at * NUMBERS);
    this.#values.set(actions, at * NUMBERS + INPUTS);
    this.#order[at] = order;
    this.#added += 1;
  }

  all(): { readonly pair: Pair; readonly order: number }[] {
    return Array.from({ length: this.size }, (_, at) => {
      const from = at * NUMBERS;
      const inputs = [...this.#values.subarray(from, from + INPUTS)];
      const [cpu = 0, memory = 0, replicas = 0] = this.#values.subarray(from + INPUTS, from + NUMBERS);
      return { pair: { inputs, actions: [cpu, memory, replicas] }, order: this.#order[at] ?? 0 };
    });
  }
}

/** The lessons of one service, bounded: 80 kB. */
export class LessonBook {
  readonly #keeping = new Ring(MOST_KEEPING);
  readonly #acting = new Ring(MOST_ACTING);
  #added = 0;

  add(pair: Pair): void {
    (isActing(pair) ? this.#acting : this.#keeping).add(pair, this.#added);
    this.#added += 1;
  }

  /** All that were ever added. */
  get added(): number {
    return this.#added;
  }

  get acting(): number {
    return this.#acting.size;
  }

  /** Those that are kept, the oldest first. */
  all(): Pair[] {
    return [...this.#keeping.all(), ...this.#acting.all()]
      .sort((a, b) => a.order - b.order)
      .map(({ pair }) => pair);
  }
}
