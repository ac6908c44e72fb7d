interface Task {
  readonly periodMs: number;
  /** Place in the order in which tasks were added. */
  readonly place: number;
  readonly nextMs: number;
  readonly run: (nowMs: number) => void | Promise<void>;
}

/** Things to be done in virtual time. Tasks due at the same moment run in the order in which they were added. */
export class Schedule {
  /** In the order in which they run, the next one last. */
  private readonly tasks: Task[] = [];
  private added = 0;

  /** @param firstMs when it runs first; then every `periodMs` */
  every(periodMs: number, firstMs: number, run: Task["run"]): void {
    this.added += 1;
    this.put({ periodMs, place: this.added, nextMs: firstMs, run });
  }

  once(atMs: number, run: Task["run"]): void {
    this.every(Infinity, atMs, run);
  }

  /** Infinity when nothing is left to do. */
  get nextMs(): number {
    return this.tasks.at(-1)?.nextMs ?? Infinity;
  }

  /** Runs what is due at `nextMs`. */
  async runNext(): Promise<void> {
    const nowMs = this.nextMs;
    const due = this.tasks.splice(this.tasks.findLastIndex((task) => task.nextMs > nowMs) + 1).reverse();
    for (const task of due) {
      if (task.periodMs < Infinity) this.put({ ...task, nextMs: nowMs + task.periodMs });
      const running = task.run(nowMs);
      if (running !== undefined) await running;
    }
  }

  private put(task: Task): void {
    let [low, high] = [0, this.tasks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { nextMs, place } = this.tasks[middle] as Task;
      if (nextMs > task.nextMs || (nextMs === task.nextMs && place > task.place)) low = middle + 1;
      else high = middle;
    }
    this.tasks.splice(low, 0, task);
  }
}
